#include "ops/capacity.h"
#include "ops/legacy.h"
#include "ops/mutations.h"
#include "ops/operations.h"
#include "ops/single_write.h"

namespace holdfast::ops {
namespace {

Result<std::optional<expression::Condition>> Validate(const DeleteItemRequest& request) {
  if (request.return_values && *request.return_values != ReturnValue::kNone &&
      *request.return_values != ReturnValue::kAllOld) {
    return ValidationError(
        "1 validation error detected: Value '" + std::string(NameOf(*request.return_values)) +
        "' at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set: "
        "[ALL_OLD, NONE]");
  }
  bool has_expression = request.condition_expression.has_value();
  HF_CHECK_OK(CheckNotMixed({{"Expected", request.expected.has_value()},
                             {"ConditionalOperator", request.conditional_operator.has_value()}},
                            {{"ConditionExpression", has_expression}}));
  expression::Scope scope = ScopeOf(request);
  HF_CHECK_OK(scope.CheckUsable(has_expression, has_expression, "ConditionExpression is null"));
  if (const Error* defect = request.key.defect()) return *defect;
  if (!has_expression) return ConditionFromExpected(request.expected, request.conditional_operator);
  HF_CHECK_OK(scope.CheckMaps());
  HF_TRY(auto condition, ParseOptional("ConditionExpression", request.condition_expression, &scope));
  HF_CHECK_OK(scope.CheckAllUsed());
  return condition;
}

}  // namespace

Result<DeleteItemResponse> Perform(Context& context, const DeleteItemRequest& request) {
  HF_TRY(auto condition, Validate(request));
  HF_TRY(TableRef ref, OpenForItems(context, request.table_name));
  HF_CHECK_OK(CheckCollectionMetrics(context, request.return_item_collection_metrics, *ref.schema));
  HF_TRY(std::string item_key, KeyFromParameter(*ref.schema, request.key));
  HF_CHECK_OK(CheckConditionPaths(*ref.schema, PointerTo(condition)));

  DeleteMutation mutation(PointerTo(condition), &context.work);
  HF_TRY(engine::WriteOutcome outcome, WriteOne(context, ref, std::move(item_key), mutation,
                                                request.return_values_on_condition_check_failure));

  DeleteItemResponse response;
  TableUsage usage(ref.table.get(), outcome.schema, TableUsage::Kind::kWrite);
  usage.AddWrite(outcome);
  response.consumed_capacity = usage.Report(request.return_consumed_capacity);
  response.item_collection_metrics =
      CollectionMetrics(context, request.return_item_collection_metrics, *ref.schema, request.key);
  if (request.return_values == ReturnValue::kAllOld) response.attributes = std::move(outcome.old);
  return response;
}

}  // namespace holdfast::ops
