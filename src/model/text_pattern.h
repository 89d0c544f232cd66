// The patterns that texts of a model must match: regular expressions that mean the same here as where the
// model is exported to (JSON Schema, OpenAPI, TypeScript, Python), matched in time that grows with the text
// alone.
//
//   HF_TRY(TextPattern pattern, TextPattern::Compile("[A-Z]{3}"));
//   if (!pattern.Matches("LHR")) …
//
// The language is what ECMAScript (as with its flag u) and RE2 have in common, and a pattern is of the whole
// text. Lookaround and backreferences are refused, since no matcher of them is linear, and so are the
// spellings that only one of the two knows (docs/adr/0040).
//
// Thread-safe: a pattern does not change.
#pragma once

#include <memory>
#include <string_view>

#include "holdfast/result.h"

namespace re2 {
class RE2;
}

namespace holdfast::model {

class TextPattern {
 public:
  // Refused, with the place in the pattern and the reason, when it is no such pattern or its program is too
  // large.
  static Result<TextPattern> Compile(std::string_view pattern);

  // Whether all of the text, which is UTF-8, is what the pattern says.
  bool Matches(std::string_view text) const;

 private:
  explicit TextPattern(std::shared_ptr<const re2::RE2> program) : program_(std::move(program)) {}

  std::shared_ptr<const re2::RE2> program_;
};

}  // namespace holdfast::model
