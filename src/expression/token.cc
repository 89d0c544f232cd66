#include "expression/token.h"

namespace holdfast::expression {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool IsWordPart(char c) {
  return IsWordStart(c) || IsDigit(c) || c == '_';
}
bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

size_t Utf8Length(char lead) {
  auto byte = static_cast<unsigned char>(lead);
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

}  // namespace

std::vector<Token> Tokenize(std::string_view text) {
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 3 + 2);
  size_t at = 0;
  auto add = [&](Token::Kind kind, size_t end) {
    end = end < text.size() ? end : text.size();
    tokens.push_back({kind, static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
    at = end;
  };
  auto word_end = [&](size_t from) {
    while (from < text.size() && IsWordPart(text[from])) ++from;
    return from;
  };
  while (at < text.size()) {
    char c = text[at];
    char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (IsBlank(c)) {
      ++at;
    } else if (IsWordStart(c)) {
      add(Token::Kind::kWord, word_end(at));
    } else if (IsDigit(c)) {
      size_t end = at;
      while (end < text.size() && IsDigit(text[end])) ++end;
      add(Token::Kind::kDigits, end);
    } else if ((c == '#' || c == ':') && IsWordPart(next)) {
      add(c == '#' ? Token::Kind::kName : Token::Kind::kValue, word_end(at + 1));
    } else if ((c == '<' && (next == '>' || next == '=')) || (c == '>' && next == '=')) {
      add(Token::Kind::kSymbol, at + 2);
    } else if (std::string_view("=<>+-()[],.").find(c) != std::string_view::npos) {
      add(Token::Kind::kSymbol, at + 1);
    } else {
      add(Token::Kind::kUnknown, at + Utf8Length(c));
    }
  }
  add(Token::Kind::kEnd, text.size());
  return tokens;
}

}  // namespace holdfast::expression
