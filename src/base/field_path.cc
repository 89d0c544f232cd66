#include "base/field_path.h"

namespace holdfast {

std::string FieldPath::Text(Case letter_case) const {
  std::string text;
  for (const Step& step : steps_) {
    if (!text.empty()) text += '.';
    if (step.is_member) {
      text.append(step.name.empty() ? std::to_string(step.position + 1) : std::string(step.name))
          .append(".member");
      continue;
    }
    size_t first = text.size();
    text.append(step.name);
    bool upper = text[first] >= 'A' && text[first] <= 'Z';
    if (letter_case == Case::kCamel && upper) text[first] = static_cast<char>(text[first] - 'A' + 'a');
  }
  return text;
}

std::vector<int> FieldPath::Order() const {
  std::vector<int> order;
  for (const Step& step : steps_) order.push_back(step.position);
  return order;
}

Violation FieldPath::NotKept(std::string_view value, const Rules& rules, std::string_view constraint) const {
  std::string text = "Value ";
  if (rules.terse) {
    text.append("at '").append(Text(Case::kWire));
  } else {
    text.append(value).append(" at '").append(Text(Case::kCamel));
  }
  text.append("' failed to satisfy constraint: ").append(constraint);
  return {Order(), std::move(text), rules.table_name != TableNameRule::kNone, false};
}

Violation FieldPath::Missing(const Rules& rules) const {
  if (rules.table_name == TableNameRule::kArn) return {Order(), "Invalid TableArn", true, true};
  bool of_table =
      rules.table_name == TableNameRule::kOfTable || rules.table_name == TableNameRule::kOfNewTable;
  if (of_table) {
    return {Order(),
            "The parameter '" + Text(Case::kWire) + "' is required but was not present in the request", true,
            true};
  }
  Rules verbose = rules;
  verbose.terse = false;
  return NotKept("null", verbose, "Member must not be null");
}

}  // namespace holdfast
