#include "expression/path_tree.h"

#include <algorithm>
#include <numeric>

#include "expression/parse.h"

namespace holdfast::expression {
namespace {

using value::FlatWriter;
using value::MapView;
using value::Type;
using value::ValueView;

template <class Key>
PathNode* FindOrAdd(std::vector<PathNode::Child<Key>>* children, const Key& key) {
  auto at = std::lower_bound(children->begin(), children->end(), key,
                             [](const auto& child, const Key& k) { return child.key < k; });
  if (at == children->end() || at->key != key) at = children->insert(at, {key, PathNode{}});
  return &at->node;
}

// Any path that ends at or below `node`.
int AnyLeaf(const PathNode& node) {
  const PathNode* at = &node;
  while (at->leaf == PathNode::kInner) at = at->fields.empty() ? &at->elements[0].node : &at->fields[0].node;
  return at->leaf;
}

struct Clash {
  enum class Kind : uint8_t { kNone, kOverlap, kConflict };
  Kind kind = Kind::kNone;
  int other = 0;  // the path it clashes with
};

Clash Insert(PathNode* root, const Path& path, int number) {
  PathNode* node = root;
  for (const PathStep& step : path) {
    if (node->leaf != PathNode::kInner) return {Clash::Kind::kOverlap, node->leaf};
    bool other_kind = step.is_position() ? !node->fields.empty() : !node->elements.empty();
    if (other_kind) return {Clash::Kind::kConflict, AnyLeaf(*node)};
    node =
        step.is_position() ? FindOrAdd(&node->elements, step.position) : FindOrAdd(&node->fields, step.name);
  }
  bool taken = node->leaf != PathNode::kInner || !node->fields.empty() || !node->elements.empty();
  if (taken) return {Clash::Kind::kOverlap, AnyLeaf(*node)};
  node->leaf = number;
  return {};
}

// Requires: two of them clash. DynamoDB names the first that does with one before it, in the order of the
// expression: the tree is built in that order.
Error WhyClashing(std::string_view what, const std::vector<Path>& paths) {
  PathNode root;
  // An overlap anywhere is reported before a conflict anywhere.
  std::optional<Error> conflict;
  for (size_t i = 0; i < paths.size(); ++i) {
    Clash clash = Insert(&root, paths[i], static_cast<int>(i));
    if (clash.kind == Clash::Kind::kNone) continue;
    bool overlap = clash.kind == Clash::Kind::kOverlap;
    Error error = InvalidExpression(
        what, "Two document paths " + std::string(overlap ? "overlap" : "conflict") +
                  " with each other; must remove or rewrite one of these paths; path one: " +
                  PathText(paths[static_cast<size_t>(clash.other)]) + ", path two: " + PathText(paths[i]));
    if (overlap) return error;
    if (!conflict) conflict = std::move(error);
  }
  HF_ASSERT(conflict.has_value());
  return *std::move(conflict);
}

// Positions before names; the order of the tree otherwise.
int Order(const PathStep& a, const PathStep& b) {
  if (a.is_position() != b.is_position()) return a.is_position() ? -1 : 1;
  if (a.is_position()) return a.position < b.position ? -1 : a.position > b.position;
  return a.name.compare(b.name);
}

bool IsBefore(const Path& a, const Path& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (int order = Order(a[i], b[i]); order != 0) return order < 0;
  }
  return a.size() < b.size();
}

// Whether neither contains the other, and where they part they take the same kind of step. Of a sorted list
// it is enough to ask neighbours.
bool AreCompatible(const Path& a, const Path& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] != b[i]) return a[i].is_position() == b[i].is_position();
  }
  return false;
}

// The last child, or a new one after it.
template <class Key>
PathNode* LastOrAdd(std::vector<PathNode::Child<Key>>* children, const Key& key) {
  if (children->empty() || children->back().key != key) children->push_back({key, PathNode{}});
  return &children->back().node;
}

// Whether anything under `node` exists in `value`; parents are kept only for what they hold.
bool Touches(const PathNode& node, ValueView value, base::WorkMeter* work) {
  if (node.leaf != PathNode::kInner) return true;
  if (value.type() == Type::kMap) {
    MapView map = value.map();
    return std::any_of(node.fields.begin(), node.fields.end(), [&](const auto& field) {
      work->Spend(FindCost(field.key, map.size()));
      auto found = map.Find(field.key);
      return found && Touches(field.node, *found, work);
    });
  }
  if (value.type() == Type::kList) {
    value::ContainerView list = value.entries();
    return std::any_of(node.elements.begin(), node.elements.end(), [&](const auto& element) {
      work->Spend(base::WorkMeter::kStepBytes);
      return element.key < list.size() &&
             Touches(element.node, ValueView(list.Entry(static_cast<uint32_t>(element.key))), work);
    });
  }
  return false;
}

void ProjectValue(const PathNode& node, ValueView value, FlatWriter* writer, base::WorkMeter* work);

void ProjectFields(const PathNode& node, MapView map, FlatWriter* writer, base::WorkMeter* work) {
  writer->BeginMap();
  for (const auto& [name, child] : node.fields) {
    work->Spend(FindCost(name, map.size()));
    auto found = map.Find(name);
    if (!found || !Touches(child, *found, work)) continue;
    writer->Name(name);
    ProjectValue(child, *found, writer, work);
  }
  writer->EndMap();
}

void ProjectValue(const PathNode& node, ValueView value, FlatWriter* writer, base::WorkMeter* work) {
  if (node.leaf != PathNode::kInner) {
    work->Spend(value.bytes().size());
    writer->Copy(value);
  } else if (value.type() == Type::kMap) {
    ProjectFields(node, value.map(), writer, work);
  } else {
    value::ContainerView list = value.entries();
    writer->BeginList();
    for (const auto& [position, child] : node.elements) {
      if (position >= list.size()) break;
      ValueView element(list.Entry(static_cast<uint32_t>(position)));
      work->Spend(base::WorkMeter::kStepBytes);
      if (Touches(child, element, work)) ProjectValue(child, element, writer, work);
    }
    writer->EndList();
  }
}

}  // namespace

Result<PathTree> PathTree::Build(std::string_view what, std::vector<Path> paths) {
  std::vector<int> order(paths.size());
  std::iota(order.begin(), order.end(), 0);
  auto path = [&](int number) -> const Path& { return paths[static_cast<size_t>(number)]; };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return IsBefore(path(a), path(b)); });
  for (size_t i = 1; i < order.size(); ++i) {
    if (!AreCompatible(path(order[i - 1]), path(order[i]))) return WhyClashing(what, paths);
  }
  PathTree tree;
  tree.paths_ = std::move(paths);
  for (int number : order) tree.Append(number);
  return tree;
}

void PathTree::Append(int number) {
  const Path& path = paths_[static_cast<size_t>(number)];
  is_flat_ = is_flat_ && path.size() == 1;
  PathNode* node = &root_;
  for (const PathStep& step : path) {
    node =
        step.is_position() ? LastOrAdd(&node->elements, step.position) : LastOrAdd(&node->fields, step.name);
  }
  node->leaf = number;
}

void PathTree::Project(MapView item, FlatWriter* writer, base::WorkMeter* work) const {
  ProjectFields(root_, item, writer, work);
}

}  // namespace holdfast::expression
