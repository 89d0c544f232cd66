#include "agent/policy.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "model/refusal.h"

namespace holdfast::agent {
namespace {

constexpr std::pair<OnRefusal, std::string_view> kOnRefusal[] = {
    {OnRefusal::kSuppress, "suppress"}, {OnRefusal::kHold, "hold"}, {OnRefusal::kReject, "reject"}};
constexpr std::pair<Interrupt, std::string_view> kInterrupt[] = {
    {Interrupt::kEnqueue, "enqueue"}, {Interrupt::kInterrupt, "interrupt"}, {Interrupt::kMerge, "merge"}};
constexpr std::pair<bool, std::string_view> kOnPoison[] = {{false, "block"}, {true, "skip"}};

template <class Names, class Value>
std::string_view NameOf(const Names& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return {};
}

// Takes fields off a map and notes what is wrong with them.
class Fields {
 public:
  explicit Fields(AttributeMap fields) : fields_(std::move(fields)) {}

  void Number(std::string_view name, int64_t min, int64_t max, int64_t* value) {
    auto given = Take(name);
    if (!given) return;
    std::optional<int64_t> number = given->AsInt64();
    if (!number || *number < min || *number > max) {
      Wrong(name, "should be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
      return;
    }
    *value = *number;
  }
  void Flag(std::string_view name, bool* value) {
    auto given = Take(name);
    if (!given) return;
    bool is = given->type() == AttributeValue::Type::kTrue || given->type() == AttributeValue::Type::kFalse;
    if (!is) return Wrong(name, "should be true or false");
    *value = given->AsBool();
  }
  void Text(std::string_view name, size_t length_max, std::string* value) {
    auto given = Take(name);
    if (!given) return;
    if (given->type() != AttributeValue::Type::kString || given->AsText().size() > length_max)
      return Wrong(name, "should be a text of at most " + std::to_string(length_max) + " bytes");
    *value = given->AsText();
  }
  template <class Names, class Value>
  void Choice(std::string_view name, const Names& names, Value* value) {
    auto given = Take(name);
    if (!given) return;
    std::string choices;
    for (const auto& [known, text] : names) {
      if (given->type() == AttributeValue::Type::kString && given->AsText() == text) {
        *value = known;
        return;
      }
      choices.append(choices.empty() ? "" : ", ").append(text);
    }
    Wrong(name, "should be one of " + choices);
  }
  Status Finish() {
    for (const auto& [name, value] : fields_) Wrong(name, "is no field of a policy");
    if (wrong_.empty()) return Ok{};
    return model::RefuseInput(wrong_);
  }

 private:
  std::optional<AttributeValue> Take(std::string_view name) {
    auto found = fields_.find(name);
    if (found == fields_.end()) return std::nullopt;
    AttributeValue value = std::move(found->second);
    fields_.erase(found);
    return value;
  }
  void Wrong(std::string_view name, std::string rule) {
    wrong_.push_back({std::string(name), std::move(rule), {}});
  }

  AttributeMap fields_;
  std::vector<model::Violation> wrong_;
};

}  // namespace

Result<Policy> ReadPolicy(const Item& item) {
  constexpr int64_t kDayMillis = 86'400'000;
  Policy policy;
  Fields fields(item.ToMap());
  fields.Number("cap", 0, 1000, &policy.cap);
  fields.Number("cooldown_ms", 0, 30 * kDayMillis, &policy.cooldown_millis);
  fields.Choice("on_cap", kOnRefusal, &policy.on_cap);
  fields.Choice("on_cooldown", kOnRefusal, &policy.on_cooldown);
  fields.Choice("on_superseded", kOnRefusal, &policy.on_superseded);
  fields.Flag("allow_equal", &policy.allow_equal);
  fields.Number("debounce_ms", 0, 600'000, &policy.debounce_millis);
  fields.Choice("interrupt", kInterrupt, &policy.interrupt);
  fields.Number("turn_max_ms", 1'000, kDayMillis, &policy.turn_max_millis);
  fields.Choice("on_poison", kOnPoison, &policy.skip_poison);
  fields.Text("schema", 256, &policy.schema);
  HF_CHECK_OK(fields.Finish());
  return policy;
}

Item PolicyItem(const Policy& policy) {
  return Item{{"cap", policy.cap},
              {"cooldown_ms", policy.cooldown_millis},
              {"on_cap", NameOf(kOnRefusal, policy.on_cap)},
              {"on_cooldown", NameOf(kOnRefusal, policy.on_cooldown)},
              {"on_superseded", NameOf(kOnRefusal, policy.on_superseded)},
              {"allow_equal", policy.allow_equal},
              {"debounce_ms", policy.debounce_millis},
              {"interrupt", NameOf(kInterrupt, policy.interrupt)},
              {"turn_max_ms", policy.turn_max_millis},
              {"on_poison", NameOf(kOnPoison, policy.skip_poison)},
              {"schema", policy.schema}};
}

}  // namespace holdfast::agent
