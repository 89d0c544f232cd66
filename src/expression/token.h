// Splits an expression into tokens. Total: any input gives tokens, ending with kEnd; what no grammar knows
// comes out as kUnknown, one character each, and the parser reports it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace holdfast::expression {

struct Token {
  enum class Kind : uint8_t {
    kWord,   // attribute name, function name or keyword
    kName,   // #placeholder
    kValue,  // :placeholder
    kDigits,
    kSymbol,  // = <> < <= > >= + - ( ) [ ] , .
    kUnknown,
    kEnd,
  };

  Kind kind;
  uint32_t begin;  // byte positions in the text
  uint32_t end;
};

std::vector<Token> Tokenize(std::string_view text);

}  // namespace holdfast::expression
