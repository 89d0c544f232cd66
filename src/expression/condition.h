// ConditionExpression and FilterExpression: a yes or no about an item.
//
//   HF_TRY(Condition condition, Condition::Parse("ConditionExpression", text, &scope));
//   bool holds = condition.Holds(item, &work);
//   HF_CHECK_OK(work.Check());
//
// Immutable; refers to the text and the values of its request, which must outlive it. Thread-safe.
#pragma once

#include <string_view>

#include "expression/bind.h"
#include "expression/tree.h"

namespace holdfast::expression {

class Condition {
 public:
  static Result<Condition> Parse(std::string_view what, std::string_view text, Scope* scope);
  // A tree made by hand. Requires: bound and well-typed.
  static Condition FromTree(Tree tree) { return Condition(std::move(tree)); }

  // Null is an item that does not exist: it has no attributes. When it has exhausted `work` the answer means
  // nothing.
  bool Holds(const value::MapView* item, base::WorkMeter* work) const;
  bool Holds(value::MapView item, base::WorkMeter* work) const { return Holds(&item, work); }

  const Tree& tree() const { return tree_; }
  // Calls `visit(const Path&)` for each document path.
  template <class Visit>
  void ForEachPath(const Visit& visit) const {
    for (const Node& node : tree_.nodes) {
      if (node.op == Op::kPath) visit(node.path);
    }
  }

 private:
  explicit Condition(Tree tree) : tree_(std::move(tree)) {}
  Tree tree_;
};

// a < b, a = b, … as DynamoDB compares: only values of one type, only S, N and B have an order.
bool Compare(Op op, value::ValueView a, value::ValueView b);

}  // namespace holdfast::expression
