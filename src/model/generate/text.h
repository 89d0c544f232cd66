// What every generator writes with: lines that are indented, and trees of values that JSON, YAML, TypeScript
// and Python each spell in their own way.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/value.h"

namespace holdfast::model::generate {

template <class... Part>
std::string Cat(const Part&... parts) {
  std::string text;
  (text.append(parts), ...);
  return text;
}

std::string Join(const std::vector<std::string>& parts, std::string_view between);
// What `text` makes of each.
template <class All, class Text>
std::string JoinAll(const All& all, std::string_view between, Text text) {
  std::vector<std::string> texts;
  texts.reserve(all.size());
  for (const auto& one : all) texts.push_back(text(one));
  return Join(texts, between);
}
bool Contains(const std::vector<std::string>& all, std::string_view one);
// Each in quotes.
std::string JoinQuoted(const std::vector<std::string>& texts, std::string_view between);
// `all` with `from` replaced by `to`.
std::string Replace(std::string_view all, std::string_view from, std::string_view to);
// 1, 0.5: the shortest that reads back.
std::string NumberText(double value);
// "text" with JSON's escapes, which TypeScript, Python and C++ read too.
std::string Quote(std::string_view text);
// Letters, digits and '_', not beginning with a digit.
bool IsIdentifier(std::string_view name);
// TASK_DEPENDENCY, delivery_state, employeeId → TaskDependency, DeliveryState, EmployeeId.
std::string PascalName(std::string_view name);
// GlobalEventRef, TASK_DEPENDENCY → global_event_ref, task_dependency.
std::string SnakeName(std::string_view name);

class Lines {
 public:
  explicit Lines(int step = 2) : step_(step) {}

  // A line at the present depth; texts of several lines are indented as a whole.
  Lines& Add(std::string_view text = {});
  // A line, and what follows one step deeper until Close writes its own line.
  Lines& Open(std::string_view text);
  Lines& Close(std::string_view text);
  // One step back without a line.
  Lines& Back();

  int indent() const { return depth_ * step_; }
  std::string Take() { return std::move(text_); }

 private:
  int step_;
  int depth_ = 0;
  std::string text_;
};

// A value to be written down. Maps keep the order in which they were filled.
class Node {
 public:
  Node(std::string_view text) : kind_(Kind::kText), text_(text) {}                             // NOLINT
  Node(const std::string& text) : Node(std::string_view(text)) {}                              // NOLINT
  Node(const char* text) : Node(std::string_view(text)) {}                                     // NOLINT
  Node(std::same_as<bool> auto truth) : kind_(truth ? Kind::kTrue : Kind::kFalse) {}           // NOLINT
  Node(NumberLike auto number) : kind_(Kind::kNumber), text_(std::to_string(number)) {}        // NOLINT
  Node(std::same_as<double> auto number) : kind_(Kind::kNumber), text_(NumberText(number)) {}  // NOLINT
  // Sets become lists.
  explicit Node(const AttributeValue& value);
  static Node Map() { return Node(Kind::kMap); }
  static Node List() { return Node(Kind::kList); }
  static Node List(const std::vector<std::string>& texts);
  // Written as it stands, as in !GetAtt Table.Arn.
  static Node Raw(std::string_view text);

  Node& Set(std::string_view key, Node value);
  Node& Add(Node value);
  bool empty() const { return children_.empty(); }

  // How a language spells what is not a text. Lines are broken where they would be longer than 110 columns.
  enum class Style : unsigned char { kJson, kTypeScript, kPython };
  std::string Spell(Style style, int indent = 0) const;
  std::string ToYaml() const;

 private:
  enum class Kind : unsigned char { kNull, kFalse, kTrue, kNumber, kText, kRaw, kList, kMap };
  explicit Node(Kind kind) : kind_(kind) {}

  std::string Leaf(Style style) const;
  std::string OneLine(Style style) const;
  void AppendYaml(int indent, std::string* out) const;

  Kind kind_ = Kind::kNull;
  std::string text_;
  std::vector<std::pair<std::string, Node>> children_;  // keys are empty in a list
};

}  // namespace holdfast::model::generate
