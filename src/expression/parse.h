// The grammars: text to tree. Syntax only; meaning is bind.h's.
//
// Strangers write expressions, so all of this is bounded: 4096 bytes of text, a fixed nesting depth, 300
// operators, linear time.
#pragma once

#include <string_view>
#include <vector>

#include "expression/tree.h"
#include "holdfast/result.h"

namespace holdfast::expression {

struct UpdateClause {
  enum class Kind : uint8_t { kSet, kRemove, kAdd, kDelete };
  Kind kind;
  NodeId path;
  NodeId value;  // unused by kRemove
};

struct ParsedUpdate {
  Tree tree;
  std::vector<UpdateClause> clauses;
  std::string_view repeated_section;  // "SET"; empty: none came twice
};

struct ParsedProjection {
  Tree tree;
  std::vector<NodeId> paths;
};

// `what` names the parameter in messages: "ConditionExpression", "FilterExpression", ….
// The results refer to `text`.
Result<Tree> ParseConditionText(std::string_view what, std::string_view text);
Result<ParsedUpdate> ParseUpdateText(std::string_view text);
Result<ParsedProjection> ParseProjectionText(std::string_view text);

// "Invalid ConditionExpression: …".
Error InvalidExpression(std::string_view what, const std::string& why);

}  // namespace holdfast::expression
