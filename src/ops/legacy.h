// The parameters from before expressions, turned into what expressions are turned into: from here on there is
// one evaluator for both.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "expression/condition.h"
#include "expression/key_condition.h"
#include "expression/projection.h"
#include "expression/update.h"
#include "holdfast/ops/legacy.h"

namespace holdfast::ops {

struct Parameter {
  std::string_view name;
  bool given;
};

// "Can not use both expression and non-expression parameters in the same request: …".
Status CheckNotMixed(std::initializer_list<Parameter> legacy, std::initializer_list<Parameter> expressions);

// Each refers to the request. `conditional_operator` needs something to combine.
Result<std::optional<expression::Condition>> ConditionFromExpected(
    const std::optional<ExpectedAttributes>& expected,
    std::optional<ConditionalOperator> conditional_operator);
Result<std::optional<expression::Condition>> ConditionFromFilter(
    const std::optional<LegacyConditions>& filter, std::optional<ConditionalOperator> conditional_operator);
Result<std::optional<expression::Update>> UpdateFromAttributes(
    const std::optional<AttributeUpdates>& updates);
Result<std::vector<expression::KeyCondition>> KeyConditionsFrom(const LegacyConditions& conditions);
Result<std::optional<expression::Projection>> ProjectionFromNames(
    const std::optional<AttributesToGet>& names);

}  // namespace holdfast::ops
