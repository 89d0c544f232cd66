#include "ops/constraints.h"

#include <algorithm>

#include "expression/bind.h"
#include "value/flat.h"

namespace holdfast::ops {
namespace {

constexpr size_t kReportedMax = 10;

bool IsName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

constexpr std::string_view kPatternConstraint =
    "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+";

}  // namespace

size_t CharacterCount(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string JavaText(const Item& value) {
  std::string text = "{";
  value::MapView item(value);
  for (uint32_t i = 0; i < item.size(); ++i) {
    value::Attribute attribute = item.At(i);
    text.append(i > 0 ? ", " : "").append(attribute.name).append("=");
    text.append(expression::ValueText(attribute.value));
  }
  return text + "}";
}

void ConstraintChecker::CheckPattern(const std::string& text, const Rules& rules) {
  if (!rules.pattern.empty() && !IsName(text)) Add("'" + text + "'", rules, std::string(kPatternConstraint));
}

void CheckTableName(const FieldPath& path, const Rules& rules, const std::string& name,
                    Violations* violations) {
  auto add = [&](std::string_view constraint) {
    violations->list.push_back(path.NotKept("'" + name + "'", rules, constraint));
  };
  bool of_new_table = rules.table_name == TableNameRule::kOfNewTable;
  if (rules.table_name == TableNameRule::kOfTable && !name.starts_with("arn:") &&
      (name.size() < 3 || name.size() > 255)) {
    Violation violation = path.NotKept("", rules, "");
    violation.text = "TableName must be at least 3 characters long and at most 255 characters long";
    violation.plain = true;
    violations->list.push_back(std::move(violation));
    return;
  }
  if (name.starts_with("arn:") && !of_new_table) {
    if (name.size() > 1024) add("Member must have length less than or equal to 1024");
    return;
  }
  if (name.empty()) {
    add(of_new_table ? "Member must have length greater than or equal to 3"
                     : "Member must have length greater than or equal to 1");
    return;
  }
  if (!IsName(name)) add(kPatternConstraint);
  if (of_new_table && name.size() < 3) add("Member must have length greater than or equal to 3");
  if (name.size() > 255) add("Member must have length less than or equal to 255");
}

Status ToStatus(Violations violations) {
  if (!violations.refused.empty()) {
    return ValidationError("The parameter '" + std::string(violations.refused) +
                           "' is not supported by this version of holdfast");
  }
  if (violations.list.empty()) return Ok{};
  std::vector<Violation>& list = violations.list;
  bool any_alone = std::any_of(list.begin(), list.end(), [](const Violation& v) { return v.alone; });
  if (any_alone) std::erase_if(list, [](const Violation& v) { return !v.alone; });
  std::stable_sort(list.begin(), list.end(),
                   [](const Violation& a, const Violation& b) { return a.order < b.order; });
  if (list[0].plain) return ValidationError(list[0].text);
  if (list.size() > kReportedMax) list.resize(kReportedMax);
  std::string message = std::to_string(list.size()) +
                        (list.size() == 1 ? " validation error detected: " : " validation errors detected: ");
  for (const Violation& violation : list) {
    if (&violation != &list.front()) message += "; ";
    message += violation.text;
  }
  return ValidationError(std::move(message));
}

}  // namespace holdfast::ops
