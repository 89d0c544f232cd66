#include "expression/path_tree.h"

#include <algorithm>

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

// Whether anything under `node` exists in `value`; parents are kept only for what they hold.
bool Touches(const PathNode& node, ValueView value) {
  if (node.leaf != PathNode::kInner) return true;
  if (value.type() == Type::kMap) {
    MapView map = value.map();
    return std::any_of(node.fields.begin(), node.fields.end(), [&](const auto& field) {
      auto found = map.Find(field.key);
      return found && Touches(field.node, *found);
    });
  }
  if (value.type() == Type::kList) {
    value::ContainerView list = value.entries();
    return std::any_of(node.elements.begin(), node.elements.end(), [&](const auto& element) {
      return element.key < list.size() &&
             Touches(element.node, ValueView(list.Entry(static_cast<uint32_t>(element.key))));
    });
  }
  return false;
}

void ProjectValue(const PathNode& node, ValueView value, FlatWriter* writer);

void ProjectFields(const PathNode& node, MapView map, FlatWriter* writer) {
  writer->BeginMap();
  for (const auto& [name, child] : node.fields) {
    auto found = map.Find(name);
    if (!found || !Touches(child, *found)) continue;
    writer->Name(name);
    ProjectValue(child, *found, writer);
  }
  writer->EndMap();
}

void ProjectValue(const PathNode& node, ValueView value, FlatWriter* writer) {
  if (node.leaf != PathNode::kInner) {
    writer->Copy(value);
  } else if (value.type() == Type::kMap) {
    ProjectFields(node, value.map(), writer);
  } else {
    value::ContainerView list = value.entries();
    writer->BeginList();
    for (const auto& [position, child] : node.elements) {
      if (position >= list.size()) break;
      ValueView element(list.Entry(static_cast<uint32_t>(position)));
      if (Touches(child, element)) ProjectValue(child, element, writer);
    }
    writer->EndList();
  }
}

}  // namespace

Result<PathTree> PathTree::Build(std::string_view what, std::vector<Path> paths) {
  PathTree tree;
  tree.paths_ = std::move(paths);
  // An overlap anywhere is reported before a conflict anywhere.
  std::optional<Error> conflict;
  for (size_t i = 0; i < tree.paths_.size(); ++i) {
    Clash clash = tree.Insert(static_cast<int>(i));
    if (clash.kind == Clash::Kind::kNone) continue;
    bool overlap = clash.kind == Clash::Kind::kOverlap;
    Error error = InvalidExpression(
        what, "Two document paths " + std::string(overlap ? "overlap" : "conflict") +
                  " with each other; must remove or rewrite one of these paths; path one: " +
                  PathText(tree.paths_[static_cast<size_t>(clash.other)]) +
                  ", path two: " + PathText(tree.paths_[i]));
    if (overlap) return error;
    if (!conflict) conflict = std::move(error);
  }
  if (conflict) return *std::move(conflict);
  return tree;
}

PathTree::Clash PathTree::Insert(int number) {
  const Path& path = paths_[static_cast<size_t>(number)];
  is_flat_ = is_flat_ && path.size() == 1;
  PathNode* node = &root_;
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

void PathTree::Project(MapView item, FlatWriter* writer) const {
  ProjectFields(root_, item, writer);
}

}  // namespace holdfast::expression
