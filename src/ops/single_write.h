// What PutItem, UpdateItem and DeleteItem share once each has its mutation.
#pragma once

#include <optional>
#include <string>

#include "engine/item/write.h"
#include "expression/bind.h"
#include "expression/condition.h"
#include "holdfast/ops/common.h"
#include "ops/context.h"
#include "ops/table_access.h"

namespace holdfast::ops {

// Writes one item. A failed condition is an error here, with the stored item when `on_failure` asks for it,
// and so is a lack of write capacity.
Result<engine::WriteOutcome> WriteOne(Context& context, const TableRef& ref, std::string item_key,
                                      const engine::ItemMutation& mutation,
                                      std::optional<ReturnValuesOnConditionCheckFailure> on_failure);

// The names and values of a request as a Scope.
template <class Request>
expression::Scope ScopeOf(const Request& request) {
  const ExpressionNames* names =
      request.expression_attribute_names ? &*request.expression_attribute_names : nullptr;
  const Item* values = nullptr;
  if constexpr (requires { request.expression_attribute_values; }) {
    if (request.expression_attribute_values) values = &*request.expression_attribute_values;
  }
  return expression::Scope(names, values);
}

// A ConditionExpression or FilterExpression, when there is one.
Result<std::optional<expression::Condition>> ParseOptional(std::string_view what,
                                                           const std::optional<std::string>& text,
                                                           expression::Scope* scope);

// Expressions may not reach into key attributes.
Status CheckConditionPaths(const engine::TableSchema& schema, const expression::Condition* condition);

template <class T>
const T* PointerTo(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

}  // namespace holdfast::ops
