#include "json/strict_reader.h"

#include <algorithm>
#include <limits>

#include "json/writer.h"

namespace holdfast::json {
namespace {

using simdjson::dom::element_type;

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Walks JSON that is known to be sound.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  size_t position() const { return at_; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipBlanks() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  }
  void SkipOne() { at_ = std::min(at_ + 1, text_.size()); }
  // One value, or one member's name.
  void SkipValue() {
    if (peek() == '"') return SkipString();
    size_t depth = 0;
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '"') {
        SkipString();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      bool closes = c == '}' || c == ']';
      if (depth == 0 && (closes || c == ',' || IsBlank(c))) return;
      ++at_;
      if (closes && --depth == 0) return;
    }
  }

 private:
  void SkipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    SkipOne();
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string PlaceText(std::string_view text, size_t consumed) {
  std::string_view before = text.substr(0, std::min(consumed, text.size()));
  auto lines = std::count(before.begin(), before.end(), '\n');
  size_t column = before.size() - (before.find_last_of('\n') + 1);  // npos + 1 is 0
  return " at line " + std::to_string(lines + 1) + " column " + std::to_string(column);
}

// How the decoder calls what it found.
std::string Found(const Element& value) {
  std::string text;
  switch (value.type()) {
    case element_type::NULL_VALUE: return "null";
    case element_type::BOOL: return value.get_bool().value_unsafe() ? "boolean `true`" : "boolean `false`";
    case element_type::INT64: return "integer `" + std::to_string(value.get_int64().value_unsafe()) + "`";
    case element_type::UINT64: return "integer `" + std::to_string(value.get_uint64().value_unsafe()) + "`";
    case element_type::DOUBLE:
      AppendDouble(value.get_double().value_unsafe(), &text);
      return "floating point `" + text + "`";
    case element_type::STRING:
      AppendString(value.get_string().value_unsafe(), &text);
      return "string " + text;
    case element_type::ARRAY: return "sequence";
    case element_type::OBJECT: return "map";
  }
  return "null";
}

// Empty: it is what was expected.
std::string Fault(const Element& value, std::string_view expected) {
  if (expected == "a string" && value.is_string()) return {};
  if (expected == "a sequence" && value.is_array()) return {};
  std::string_view kind = "type";
  if (expected == "i32" && (value.type() == element_type::INT64 || value.type() == element_type::UINT64)) {
    int64_t number = 0;
    bool fits = value.get(number) == simdjson::SUCCESS && number >= std::numeric_limits<int32_t>::min() &&
                number <= std::numeric_limits<int32_t>::max();
    if (fits) return {};
    kind = "value";
  }
  return "invalid " + std::string(kind) + ": " + Found(value) + ", expected " + std::string(expected);
}

// Whether there is nothing to refuse. Bodies are large and mostly right: only a wrong one is walked, to say
// where.
bool IsSound(const simdjson::dom::object& object, const StrictMember* members, size_t count) {
  uint64_t seen = 0;
  for (auto [name, value] : object) {
    for (size_t i = 0; i < count; ++i) {
      if (members[i].name != name) continue;
      if (!Fault(value, members[i].expected).empty()) return false;
      seen |= uint64_t{1} << i;
    }
  }
  return seen == (uint64_t{1} << count) - 1;
}

}  // namespace

Status CheckStrictMembers(const Element& element, std::string_view text, const StrictMember* members,
                          size_t count) {
  simdjson::dom::object object;
  if (element.get(object) != simdjson::SUCCESS) return Ok{};  // refused as for every operation
  if (IsSound(object, members, count)) return Ok{};
  Walker walker(text);
  walker.SkipBlanks();
  walker.SkipOne();  // {
  uint64_t seen = 0;
  for (auto [name, value] : object) {
    walker.SkipBlanks();
    walker.SkipValue();  // the name
    walker.SkipBlanks();
    walker.SkipOne();  // :
    walker.SkipBlanks();
    size_t begin = walker.position();
    walker.SkipValue();
    for (size_t i = 0; i < count; ++i) {
      if (members[i].name != name) continue;
      seen |= uint64_t{1} << i;
      std::string fault = Fault(value, members[i].expected);
      if (fault.empty()) continue;
      // The decoder has read a scalar when it finds it wrong, and not yet entered a collection.
      bool scalar = !value.is_array() && !value.is_object();
      return SerializationError(fault + PlaceText(text, scalar ? walker.position() : begin));
    }
    walker.SkipBlanks();
    if (walker.peek() == ',') walker.SkipOne();
  }
  walker.SkipBlanks();
  walker.SkipOne();  // }
  for (size_t i = 0; i < count; ++i) {
    if ((seen >> i & 1) != 0) continue;
    return ValidationError("missing field `" + std::string(members[i].name) + "`" +
                           PlaceText(text, walker.position()));
  }
  return Ok{};
}

}  // namespace holdfast::json
