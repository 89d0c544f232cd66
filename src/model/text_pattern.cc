#include "model/text_pattern.h"

#include <re2/re2.h>

#include <string>

namespace holdfast::model {
namespace {

constexpr size_t kPatternBytesMax = 1024;
// What a program and the states remembered while matching may take, per pattern.
constexpr int64_t kProgramBytesMax = 1 << 20;

// ECMAScript's sets where RE2's shorthand means another one, as ranges for within [].
constexpr std::string_view kSpace =
    R"(\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff})";
constexpr std::string_view kNoSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e})"
    R"(\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff})";
constexpr std::string_view kAnyCharacter = R"([^\n\r\x{2028}\x{2029}])";

bool IsHex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// Rewrites a pattern from ECMAScript's spelling into RE2's, character by character.
class Translation {
 public:
  explicit Translation(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> Run() {
    while (at_ < pattern_.size()) {
      if (pattern_[at_] == '\\') {
        HF_CHECK_OK(Escape());
      } else if (in_class_) {
        ClassCharacter();
      } else if (pattern_[at_] == '[') {
        HF_CHECK_OK(BeginClass());
      } else if (pattern_.substr(at_).starts_with("(?") && !pattern_.substr(at_).starts_with("(?:")) {
        return Group();
      } else if (pattern_[at_] == '.') {
        Take(1, kAnyCharacter);
      } else {
        Take(1, pattern_.substr(at_, 1));
      }
    }
    return std::move(out_);
  }

 private:
  Error Refused(const std::string& why) const {
    return ValidationError("no regular expression: at character " + std::to_string(at_ + 1) + ": " + why);
  }

  void Take(size_t characters, std::string_view as) {
    at_ += characters;
    out_.append(as);
  }

  Status Escape() {
    if (at_ + 1 == pattern_.size()) return Refused("a \\ has nothing after it");
    char c = pattern_[at_ + 1];
    bool punctuation = std::string_view("^$\\.*+?()[]{}|/-").find(c) != std::string_view::npos;
    if (punctuation || std::string_view("dDwWtrnfv").find(c) != std::string_view::npos) {
      if (c == '/')
        Take(2, "/");
      else
        Take(2, pattern_.substr(at_, 2));
    } else if (c == 's' || c == 'S') {
      std::string ranges(c == 's' ? kSpace : kNoSpace);
      Take(2, in_class_ ? ranges : "[" + ranges + "]");
    } else if (c == 'b' || c == 'B') {
      if (in_class_ && c == 'B') return Refused("\\B stands within []");
      Take(2, in_class_ ? R"(\x{8})" : pattern_.substr(at_, 2));
    } else if (c == '0' && (at_ + 2 == pattern_.size() || !IsHex(pattern_.substr(at_ + 2, 1)))) {
      Take(2, R"(\x{0})");
    } else if (c >= '0' && c <= '9') {
      return Refused("backreferences are not supported, because no matcher of them takes a bounded time");
    } else if (c == 'x' && pattern_.size() - at_ >= 4 && IsHex(pattern_.substr(at_ + 2, 2))) {
      Take(4, "\\x{" + std::string(pattern_.substr(at_ + 2, 2)) + "}");
    } else if (c == 'u' && pattern_.size() - at_ >= 6 && IsHex(pattern_.substr(at_ + 2, 4))) {
      Take(6, "\\x{" + std::string(pattern_.substr(at_ + 2, 4)) + "}");
    } else {
      return Refused("\\" + std::string(1, c) + " is no escape that is known here");
    }
    return Ok{};
  }

  Status BeginClass() {
    size_t first = pattern_.substr(at_ + 1).starts_with('^') ? 2 : 1;
    if (pattern_.substr(at_ + first).starts_with(']')) return Refused("[] holds nothing");
    in_class_ = true;
    Take(first, pattern_.substr(at_, first));
    return Ok{};
  }

  void ClassCharacter() {
    char c = pattern_[at_];
    if (c == ']') in_class_ = false;
    Take(1, c == '[' ? R"(\[)" : pattern_.substr(at_, 1));  // RE2 reads [:alpha:] within []
  }

  Error Group() const {
    for (std::string_view lookaround : {"(?=", "(?!", "(?<=", "(?<!"}) {
      if (pattern_.substr(at_).starts_with(lookaround))
        return Refused(std::string(lookaround) +
                       ": lookaround is not supported, because no matcher of it takes a bounded time");
    }
    return Refused("of the groups that begin with (? only (?: is supported");
  }

  const std::string_view pattern_;
  size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
};

}  // namespace

Result<TextPattern> TextPattern::Compile(std::string_view pattern) {
  if (pattern.size() > kPatternBytesMax)
    return ValidationError("no regular expression: longer than " + std::to_string(kPatternBytesMax) +
                           " bytes");
  HF_TRY(std::string translated, Translation(pattern).Run());
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kProgramBytesMax);
  auto program = std::make_shared<const re2::RE2>(translated, options);
  if (program->ok()) return TextPattern(std::move(program));
  if (program->error_code() == re2::RE2::ErrorPatternTooLarge ||
      program->error_code() == re2::RE2::ErrorRepeatSize)
    return ValidationError(
        "no regular expression: it repeats too much, more than 1,000 times or in a program of more than 1 "
        "MB; "
        "min and max bound the length of a text");
  return ValidationError("no regular expression: " + program->error());
}

bool TextPattern::Matches(std::string_view text) const {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *program_);
}

}  // namespace holdfast::model
