#include "model/generate/describe.h"

#include <algorithm>
#include <cstdlib>

#include "model/generate/text.h"

namespace holdfast::model::generate {
std::string Unmarked(std::string_view text) {
  return std::string(text);
}

std::string TemplatesText(const Templates& templates, Mark mark) {
  return JoinAll(templates, " or ", [&](const Template& one) { return mark(one.ToText()); });
}

std::string PartsText(const std::vector<KeyPart>& parts, Mark mark) {
  return JoinAll(parts, ", ", [&](const KeyPart& part) {
    return Cat(mark(part.attribute.name), " = ", TemplatesText(part.templates, mark));
  });
}

std::string KeysText(const std::vector<KeyAttribute>& keys, Mark mark) {
  return JoinAll(keys, ", ",
                 [&](const KeyAttribute& key) { return Cat(mark(key.name), " ", std::string(1, key.type)); });
}

std::string ComputedText(const Computed& computed) {
  static constexpr std::string_view kFunctions[] = {"now()", "uuid()", "ulid()"};
  bool function = computed.source != Computed::Source::kAttribute;
  std::string text(function ? kFunctions[static_cast<size_t>(computed.source)]
                            : std::string_view(computed.attribute));
  if (computed.shift_seconds == 0) return text;
  static constexpr std::pair<int64_t, std::string_view> kUnits[] = {
      {86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
  int64_t shift = std::abs(computed.shift_seconds);
  const auto* unit =
      std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& u) { return shift % u.first == 0; });
  return Cat(text, computed.shift_seconds < 0 ? " - " : " + ", std::to_string(shift / unit->first),
             unit->second);
}

std::string TypeText(const Attribute& attribute) {
  std::string type(KindName(attribute.kind));
  if (attribute.kind == Kind::kVector) type += Cat("(", std::to_string(attribute.dimensions), ")");
  if (attribute.kind == Kind::kList && attribute.items) type += Cat("[", TypeText(*attribute.items), "]");
  if (!attribute.schema.empty()) type += " " + attribute.schema;
  if (!attribute.schema_by.empty()) type += Cat(" by ", attribute.schema_by);
  return type;
}

std::vector<std::string> Remarks(const Attribute& attribute) {
  std::vector<std::string> remarks;
  if (!attribute.choices.empty()) {
    remarks.push_back(
        Cat("one of ", Join(attribute.choices, ", "), attribute.open_choices ? " or another" : ""));
  }
  if (attribute.default_value)
    remarks.push_back(Cat("default ", Node(*attribute.default_value).Spell(Node::Style::kJson)));
  if (attribute.default_from) remarks.push_back(Cat("default ", ComputedText(*attribute.default_from)));
  if (attribute.always) remarks.push_back(Cat("always ", ComputedText(*attribute.always)));
  if (attribute.min) remarks.push_back(Cat("at least ", NumberText(*attribute.min)));
  if (attribute.max) remarks.push_back(Cat("at most ", NumberText(*attribute.max)));
  if (!attribute.pattern.empty()) remarks.push_back(Cat("like ", attribute.pattern));
  if (!attribute.stored) remarks.emplace_back("in the key only");
  if (attribute.immutable) remarks.emplace_back("fixed once set");
  if (!attribute.description.empty()) remarks.push_back(attribute.description);
  return remarks;
}

}  // namespace holdfast::model::generate
