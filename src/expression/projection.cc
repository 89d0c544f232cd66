#include "expression/projection.h"

namespace holdfast::expression {

Result<Projection> Projection::Parse(std::string_view text, Scope* scope) {
  HF_TRY(ParsedProjection parsed, ParseProjectionText(text));
  HF_CHECK_OK(BindProjection(scope, &parsed));
  std::vector<Path> paths;
  for (NodeId id : parsed.paths) paths.push_back(std::move(parsed.tree.nodes[id].path));
  HF_TRY(PathTree tree, PathTree::Build("ProjectionExpression", std::move(paths)));
  return Projection(std::move(tree));
}

Projection Projection::OfAttributes(const std::vector<std::string>& names) {
  std::vector<Path> paths;
  for (const std::string& name : names) paths.push_back({{.name = name}});
  auto tree = PathTree::Build("AttributesToGet", std::move(paths));
  HF_ASSERT(tree.has_value());
  return Projection(*std::move(tree));
}

Item Projection::Apply(value::MapView item, base::WorkMeter* work) const {
  value::FlatWriter writer;
  tree_.Project(item, &writer, work);
  return Item::FromFlat(writer.TakeMap());
}

}  // namespace holdfast::expression
