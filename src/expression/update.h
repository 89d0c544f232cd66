// UpdateExpression: an item into its successor.
//
//   HF_TRY(Update update, Update::Parse(text, &scope));
//   HF_TRY(Item changed, update.Apply(item));
//
// Every right-hand side reads the item as it was; the new item is written once, in one pass over the old.
// Immutable; refers to the text and the values of its request, which must outlive it. Thread-safe.
#pragma once

#include <string_view>

#include "expression/bind.h"
#include "expression/path_tree.h"

namespace holdfast::expression {

Error UpdatedItemTooLarge();

class Update {
 public:
  static Result<Update> Parse(std::string_view text, Scope* scope);
  // One that was made by hand from AttributeUpdates, which word a type mismatch differently and let ADD
  // append to lists. Requires: bound, distinct top-level paths.
  static Update FromLegacy(ParsedUpdate update);

  // Fails, as DynamoDB does, where a path or an operand does not fit the item, and as soon as the new item is
  // larger than any may be. (Up to limits::kFlatItemBytesMax it may still be too large: the caller measures
  // it.) Also fails when `work` is exhausted.
  Result<Item> Apply(value::MapView old, base::WorkMeter* work) const;

  // The paths it touches, numbered like its clauses.
  const PathTree& paths() const { return paths_; }
  const std::vector<UpdateClause>& clauses() const { return parsed_.clauses; }
  // Calls `visit(const Path&)` for each document path, on either side.
  template <class Visit>
  void ForEachPath(const Visit& visit) const {
    for (const Node& node : parsed_.tree.nodes) {
      if (node.op == Op::kPath) visit(node.path);
    }
  }
  // True when it can only take away: on an item that does not exist it then does nothing.
  bool only_removes() const;
  // The type a SET clause's right-hand side is known to have before any item is seen; empty when it depends.
  std::optional<value::Type> ConstantType(size_t clause) const;

 private:
  Update(ParsedUpdate parsed, PathTree paths, bool legacy)
      : parsed_(std::move(parsed)), paths_(std::move(paths)), legacy_(legacy) {}

  ParsedUpdate parsed_;
  PathTree paths_;
  bool legacy_;
};

}  // namespace holdfast::expression
