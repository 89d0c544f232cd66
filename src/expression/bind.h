// Gives a parsed tree its meaning: placeholders become names and values, and what can be refused without
// looking at an item is refused, in DynamoDB's order and words.
//
//   Scope scope(&request.expression_attribute_names, &request.expression_attribute_values);
//   HF_TRY(Condition condition, Condition::Parse("ConditionExpression", text, &scope));
//   HF_CHECK_OK(scope.CheckAllUsed());
//
// Thread safety: a Scope belongs to one request.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "expression/parse.h"
#include "expression/tree.h"
#include "holdfast/result.h"
#include "holdfast/value.h"

namespace holdfast::expression {

using NameMap = std::map<std::string, std::string>;

// The ExpressionAttributeNames and ExpressionAttributeValues of one request, and which of them were used.
class Scope {
 public:
  // Either may be null: the request has none. Both must outlive everything bound through this scope.
  Scope(const NameMap* names, const Item* values);

  // That there are expressions to use the maps. `missing_expressions` says which parameters could have used
  // the values: "ConditionExpression is null".
  Status CheckUsable(bool any_expression, bool any_value_expression,
                     std::string_view missing_expressions) const;
  // The maps themselves: not empty, keys well-formed, values sound.
  Status CheckMaps() const;
  Status CheckAllUsed() const;

  // Empty when not defined.
  std::optional<std::string_view> Name(std::string_view placeholder);
  std::optional<value::ValueView> Value(std::string_view placeholder);

 private:
  Status CheckNames() const;
  Status CheckValues() const;

  const NameMap* names_;
  const Item* values_;
  std::vector<const std::string*> names_used_;  // keys of *names_, as often as they were looked up
  std::vector<bool> values_used_;
};

// "AttributeValue: {S:x}": how a value looks inside a message.
std::string ValueText(value::ValueView value);

Status BindCondition(std::string_view what, Scope* scope, Tree* tree);
// Names and values first; operands are checked after the paths have been compared with one another.
Status BindUpdate(Scope* scope, ParsedUpdate* update);
Status CheckUpdateOperands(ParsedUpdate* update);
Status BindProjection(Scope* scope, ParsedProjection* projection);

}  // namespace holdfast::expression
