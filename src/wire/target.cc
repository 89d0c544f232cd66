#include "wire/target.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>

#include "model/refusal.h"

namespace holdfast::wire {
namespace {

using model::RefuseField;

constexpr size_t kParametersMax = 256;

enum class Plus : uint8_t { kItself, kBlank };

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

Result<std::string> Decode(std::string_view text, Plus plus, std::string_view where) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i] == '+' && plus == Plus::kBlank ? ' ' : text[i]);
      continue;
    }
    int high = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
    int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return RefuseField(std::string(where), "has a % without two hexadecimal digits");
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  if (!simdjson::validate_utf8(decoded)) return RefuseField(std::string(where), "should be UTF-8");
  return decoded;
}

// The part before `separator`, taken off the front of `*text`; false when nothing is left.
bool TakePart(std::string_view* text, char separator, std::string_view* part) {
  if (text->data() == nullptr) return false;
  size_t end = text->find(separator);
  *part = text->substr(0, end);
  *text = end == std::string_view::npos ? std::string_view() : text->substr(end + 1);
  return true;
}

}  // namespace

Result<std::vector<std::string>> SplitPath(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  std::vector<std::string> segments;
  std::string_view part;
  while (TakePart(&path, '/', &part)) {
    HF_TRY(std::string segment, Decode(part, Plus::kItself, "path"));
    segments.push_back(std::move(segment));
  }
  return segments;
}

Result<Query> Query::Parse(std::string_view text) {
  Query query;
  std::string_view part;
  while (TakePart(&text, '&', &part)) {
    if (part.empty()) continue;
    size_t equals = part.find('=');
    HF_TRY(std::string name, Decode(part.substr(0, equals), Plus::kBlank, "query"));
    std::string_view given = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    HF_TRY(std::string value, Decode(given, Plus::kBlank, name));
    bool twice = std::any_of(query.parameters_.begin(), query.parameters_.end(),
                             [&](const auto& parameter) { return parameter.first == name; });
    if (twice) return RefuseField(name, "stands twice");
    if (query.parameters_.size() == kParametersMax) return RefuseField("query", "has too many parameters");
    query.parameters_.emplace_back(std::move(name), std::move(value));
  }
  return query;
}

std::optional<std::string> Query::Take(std::string_view name) {
  auto at = std::find_if(parameters_.begin(), parameters_.end(),
                         [&](const auto& parameter) { return parameter.first == name; });
  if (at == parameters_.end()) return std::nullopt;
  std::string value = std::move(at->second);
  parameters_.erase(at);
  return value;
}

Result<bool> Query::TakeFlag(std::string_view name) {
  std::string value = Take(name).value_or("false");
  if (value != "true" && value != "false")
    return RefuseField(std::string(name), "should be true or false", value);
  return value == "true";
}

Result<std::optional<int64_t>> Query::TakeNumber(std::string_view name) {
  std::optional<std::string> text = Take(name);
  if (!text) return std::optional<int64_t>();
  int64_t number = 0;
  const char* end = text->data() + text->size();
  auto [stopped, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stopped != end || text->empty())
    return RefuseField(std::string(name), "should be a whole number", *text);
  return std::optional<int64_t>(number);
}

}  // namespace holdfast::wire
