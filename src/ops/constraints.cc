#include "ops/constraints.h"

#include <algorithm>

#include "base/limits.h"
#include "expression/bind.h"
#include "value/flat.h"

namespace holdfast::ops {
namespace {

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

void AppendJavaText(std::string_view value, std::string* out) {
  out->append(value.substr(0, limits::kShownBytesMax + 1));
}

void AppendJavaText(const Item& value, std::string* out) {
  out->push_back('{');
  value::MapView item(value);
  for (uint32_t i = 0; i < item.size() && !HasEnough(*out); ++i) {
    value::Attribute attribute = item.At(i);
    if (i > 0) out->append(", ");
    AppendJavaText(attribute.name, out);
    out->append("=").append(expression::ValueText(attribute.value));
  }
  out->push_back('}');
}

void ConstraintChecker::CheckPattern(const std::string& text, const Rules& rules) {
  if (!rules.pattern.empty() && !IsName(text)) {
    Add([&] { return Quoted(text); }, rules, kPatternConstraint);
  }
}

void ConstraintChecker::CheckTableName(const std::string& name, const Rules& rules) {
  auto add = [&](std::string_view constraint) { Add([&] { return Quoted(name); }, rules, constraint); };
  bool of_new_table = rules.table_name == TableNameRule::kOfNewTable;
  if (rules.table_name == TableNameRule::kOfTable && !name.starts_with("arn:") &&
      (name.size() < 3 || name.size() > 255)) {
    if (IsMissing(path_.Place())) return;
    violations_->Add({path_.Place(),
                      "TableName must be at least 3 characters long and at most 255 characters long",
                      /*alone=*/true, /*plain=*/true});
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
  if (list.size() > limits::kViolationsReportedMax) list.resize(limits::kViolationsReportedMax);
  std::string message = std::to_string(list.size()) +
                        (list.size() == 1 ? " validation error detected: " : " validation errors detected: ");
  for (const Violation& violation : list) {
    if (&violation != &list.front()) message += "; ";
    message += violation.text;
  }
  return ValidationError(std::move(message));
}

}  // namespace holdfast::ops
