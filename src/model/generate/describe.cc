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

}  // namespace holdfast::model::generate
