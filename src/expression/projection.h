// ProjectionExpression: which parts of an item to return.
//
// Immutable; refers to the text and the names of its request, which must outlive it. Thread-safe.
#pragma once

#include <string_view>

#include "expression/bind.h"
#include "expression/path_tree.h"

namespace holdfast::expression {

class Projection {
 public:
  static Result<Projection> Parse(std::string_view text, Scope* scope);
  // Whole top-level attributes, by name. Requires: distinct names, which outlive it.
  static Projection OfAttributes(const std::vector<std::string>& names);

  // The projected item; may be empty.
  Item Apply(value::MapView item, base::WorkMeter* work) const;
  const PathTree& tree() const { return tree_; }

 private:
  explicit Projection(PathTree tree) : tree_(std::move(tree)) {}
  PathTree tree_;
};

}  // namespace holdfast::expression
