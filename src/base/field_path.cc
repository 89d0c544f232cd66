#include "base/field_path.h"

#include <algorithm>

#include "base/limits.h"
#include "base/shown.h"

namespace holdfast {

size_t Violations::CountOf(bool alone) const {
  return static_cast<size_t>(
      std::count_if(list.begin(), list.end(), [&](const Violation& v) { return v.alone == alone; }));
}

bool Violations::Reports(const std::vector<int>& place, bool alone) const {
  if (CountOf(alone) < limits::kViolationsReportedMax) return true;
  return std::any_of(list.begin(), list.end(),
                     [&](const Violation& v) { return v.alone == alone && place < v.order; });
}

void Violations::Add(Violation violation) {
  bool alone = violation.alone;
  list.push_back(std::move(violation));
  if (CountOf(alone) <= limits::kViolationsReportedMax) return;
  // The latest of the faults at one place.
  auto last = list.end();
  for (auto it = list.begin(); it != list.end(); ++it) {
    if (it->alone == alone && (last == list.end() || !(it->order < last->order))) last = it;
  }
  list.erase(last);
}

std::string FieldPath::Text(Case letter_case) const {
  std::string text;
  for (const Step& step : steps_) {
    if (!text.empty()) text += '.';
    if (step.is_member) {
      text.append(step.name.empty() ? std::to_string(step.position + 1) : base::Shown(step.name))
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

std::vector<int> FieldPath::Place() const {
  std::vector<int> order;
  for (const Step& step : steps_) order.push_back(step.position);
  return order;
}

Violation FieldPath::NotKept(std::string_view value, const Rules& rules, std::string_view constraint) const {
  std::string text = "Value ";
  if (rules.terse) {
    text.append("at '").append(Text(Case::kWire));
  } else {
    text.append(base::Shown(value)).append(" at '").append(Text(Case::kCamel));
  }
  text.append("' failed to satisfy constraint: ").append(constraint);
  return {Place(), std::move(text), rules.table_name != TableNameRule::kNone, false};
}

Violation FieldPath::Missing(const Rules& rules) const {
  if (rules.table_name == TableNameRule::kArn) return {Place(), "Invalid TableArn", true, true};
  bool of_table =
      rules.table_name == TableNameRule::kOfTable || rules.table_name == TableNameRule::kOfNewTable;
  if (of_table) {
    return {Place(),
            "The parameter '" + Text(Case::kWire) + "' is required but was not present in the request", true,
            true};
  }
  Rules verbose = rules;
  verbose.terse = false;
  return NotKept("null", verbose, "Member must not be null");
}

}  // namespace holdfast
