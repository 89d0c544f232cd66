// A set of document paths merged into a tree, each with the number it was added under. Projections keep the
// attributes under it, updates change them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expression/tree.h"
#include "holdfast/result.h"
#include "value/flat.h"

namespace holdfast::expression {

struct PathNode {
  static constexpr int kInner = -1;

  template <class Key>
  struct Child;

  int leaf = kInner;                            // the path's number, when one ends here
  std::vector<Child<std::string_view>> fields;  // in order of name
  std::vector<Child<int64_t>> elements;         // in order of position
};

template <class Key>
struct PathNode::Child {
  Key key;
  PathNode node;
};

class PathTree {
 public:
  // Fails as DynamoDB does when one path contains another ("overlap") or two disagree on whether a parent is
  // a map or a list ("conflict"). `what` names the expression in the message.
  static Result<PathTree> Build(std::string_view what, std::vector<Path> paths);

  const PathNode& root() const { return root_; }
  const std::vector<Path>& paths() const { return paths_; }
  // True when no path goes below a top-level attribute.
  bool is_flat() const { return is_flat_; }

  // Writes the parts of `item` under the tree as a map: nested parents kept, list elements closed up. Spends
  // what it looks at and copies; it does not stop, as it is bounded by the item and the tree.
  void Project(value::MapView item, value::FlatWriter* writer, base::WorkMeter* work) const;

 private:
  void Append(int number);

  PathNode root_;
  std::vector<Path> paths_;
  bool is_flat_ = true;
};

}  // namespace holdfast::expression
