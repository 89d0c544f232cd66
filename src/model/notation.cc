#include "model/notation.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "value/number.h"

namespace holdfast::model {
namespace {

constexpr std::array<std::pair<std::string_view, Kind>, 16> kKinds{{
    {"S", Kind::kString},
    {"N", Kind::kNumber},
    {"BOOL", Kind::kBool},
    {"B", Kind::kBinary},
    {"M", Kind::kMap},
    {"L", Kind::kList},
    {"SS", Kind::kStringSet},
    {"NS", Kind::kNumberSet},
    {"Any", Kind::kAny},
    {"uuid", Kind::kUuid},
    {"ulid", Kind::kUlid},
    {"ts", Kind::kInstant},
    {"date", Kind::kDate},
    {"epoch", Kind::kEpoch},
    {"vector", Kind::kVector},
    {"encrypted", Kind::kEncrypted},
}};

Status ParseType(std::string_view text, Attribute* attribute) {
  std::string_view name = text.substr(0, text.find_first_of("[("));
  const auto* known =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& kind) { return kind.first == name; });
  if (known == kKinds.end()) return ValidationError("unknown type: " + std::string(text));
  attribute->kind = known->second;
  std::string_view rest = text.substr(name.size());
  if (attribute->kind == Kind::kVector) {
    int dimensions = 0;
    auto [end, failed] = std::from_chars(rest.data() + std::min<size_t>(1, rest.size()),
                                         rest.data() + rest.size(), dimensions);
    if (!rest.starts_with('(') || failed != std::errc() || dimensions < 1 ||
        std::string_view(end, rest.data() + rest.size()) != ")")
      return ValidationError("a vector says its dimensions, as in vector(1024): " + std::string(text));
    attribute->dimensions = dimensions;
    return Ok{};
  }
  if (rest.empty()) return Ok{};
  if (attribute->kind != Kind::kList || !rest.starts_with('[') || !rest.ends_with(']'))
    return ValidationError("unknown type: " + std::string(text));
  auto items = std::make_shared<Attribute>();
  HF_CHECK_OK(ParseType(rest.substr(1, rest.size() - 2), items.get()));
  attribute->items = std::move(items);
  return Ok{};
}

Status ParseChoices(std::string_view text, Attribute* attribute) {
  if (!text.starts_with('{') || !text.ends_with('}'))
    return ValidationError("not understood: " + std::string(text));
  text = text.substr(1, text.size() - 2);
  while (true) {
    size_t bar = text.find('|');
    std::string choice(Trim(text.substr(0, bar)));
    if (choice == "…" || choice == "...") {
      attribute->open_choices = true;
    } else if (choice.empty()) {
      return ValidationError("an empty choice");
    } else {
      attribute->choices.push_back(std::move(choice));
    }
    if (bar == std::string_view::npos) return Ok{};
    text.remove_prefix(bar + 1);
  }
}

constexpr bool IsFunction(std::string_view text) {
  return text == "now()" || text == "uuid()" || text == "ulid()";
}

}  // namespace

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Result<int64_t> ParseDuration(std::string_view text) {
  int64_t count = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
  std::string_view unit(end, text.data() + text.size());
  static constexpr std::array<std::pair<std::string_view, int64_t>, 4> kUnits{
      {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}}};
  for (const auto& [name, seconds] : kUnits) {
    if (failed == std::errc() && unit == name && count >= 0 && count <= 1'000'000'000) return count * seconds;
  }
  return ValidationError("no duration like 30d, 24h, 15m or 60s: " + std::string(text));
}

std::string_view KindName(Kind kind) {
  return std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& known) { return known.second == kind; })
      ->first;
}

AttributeValue ParsePlainScalar(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (text == "null" || text == "~" || text.empty()) return nullptr;
  // 0123 and 1e5 are more likely meant as texts.
  bool digits = text.find_first_not_of("-0123456789.") == std::string::npos;
  bool padded = text.size() > 1 && text[0] == '0' && text[1] != '.';
  if (digits && !padded && value::Number::Parse(text)) return AttributeValue::Number(text);
  return text;
}

Status ParseAttributeLine(std::string_view line, Attribute* attribute) {
  line = Trim(line);
  size_t end = line.find_first_of(" =");
  std::string_view type = line.substr(0, end);
  std::string_view rest = end == std::string_view::npos ? std::string_view() : Trim(line.substr(end));
  if (type.ends_with('!')) {
    attribute->required = true;
    type.remove_suffix(1);
  } else if (type.ends_with('?')) {
    type.remove_suffix(1);
  }
  HF_CHECK_OK(ParseType(type, attribute));
  if (rest.starts_with('=')) {
    rest = Trim(rest.substr(1));
    // The default ends where the choices begin. {} and [] are defaults themselves.
    size_t choices = rest.find(" {");
    std::string word(Trim(rest.substr(0, choices)));
    rest = choices == std::string_view::npos ? std::string_view() : Trim(rest.substr(choices));
    if (IsFunction(word)) {
      HF_TRY(attribute->default_from, ParseComputed(word));
    } else if (word == "{}") {
      attribute->default_value = AttributeValue::Map({});
    } else if (word == "[]") {
      attribute->default_value = AttributeValue::List({});
    } else if (std::string_view stored = StoredType(attribute->kind); stored == "S") {
      attribute->default_value = AttributeValue(word);
    } else {
      attribute->default_value = ParsePlainScalar(word);
    }
  }
  if (rest.empty()) return Ok{};
  return ParseChoices(rest, attribute);
}

Result<Computed> ParseComputed(std::string_view text) {
  Computed computed;
  text = Trim(text);
  if (text.ends_with(" as date")) {
    computed.as_date = true;
    text = Trim(text.substr(0, text.size() - 8));
  }
  size_t sign = text.find(" + ");
  if (sign == std::string_view::npos) sign = text.find(" - ");
  if (sign != std::string_view::npos) {
    HF_TRY(computed.shift_seconds, ParseDuration(Trim(text.substr(sign + 3))));
    if (text[sign + 1] == '-') computed.shift_seconds = -computed.shift_seconds;
    text = Trim(text.substr(0, sign));
  }
  if (text == "now()") return computed;
  if (text == "uuid()" || text == "ulid()") {
    if (sign != std::string_view::npos) return ValidationError("an id cannot be shifted");
    computed.source = text == "uuid()" ? Computed::Source::kUuid : Computed::Source::kUlid;
    return computed;
  }
  if (text.empty() || text.find_first_of("() ") != std::string_view::npos)
    return ValidationError("not understood: " + std::string(text) +
                           "; known are now(), uuid(), ulid() and attributes");
  computed.source = Computed::Source::kAttribute;
  computed.attribute = text;
  return computed;
}

Result<SortCondition> ParseSortCondition(std::string_view text) {
  using Op = SortCondition::Op;
  static constexpr std::array<std::pair<std::string_view, Op>, 5> kPrefixes{
      {{"begins_with ", Op::kBeginsWith},
       {"<= ", Op::kLessEqual},
       {">= ", Op::kGreaterEqual},
       {"< ", Op::kLess},
       {"> ", Op::kGreater}}};
  SortCondition condition;
  text = Trim(text);
  constexpr std::string_view kBetween = "between ";
  if (text.starts_with(kBetween)) {
    size_t middle = text.find(" and ");
    if (middle == std::string_view::npos) return ValidationError("between needs two bounds: between A and B");
    condition.op = Op::kBetween;
    HF_TRY(condition.low, ParseTemplate(Trim(text.substr(kBetween.size(), middle - kBetween.size()))));
    HF_TRY(condition.high, ParseTemplate(Trim(text.substr(middle + 5))));
    return condition;
  }
  condition.op = Op::kEqual;
  for (const auto& [prefix, op] : kPrefixes) {
    if (!text.starts_with(prefix)) continue;
    condition.op = op;
    text.remove_prefix(prefix.size());
    break;
  }
  HF_TRY(condition.low, ParseTemplate(Trim(text)));
  return condition;
}

}  // namespace holdfast::model
