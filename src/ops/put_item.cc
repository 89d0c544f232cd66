#include "base/limits.h"
#include "ops/capacity.h"
#include "ops/legacy.h"
#include "ops/mutations.h"
#include "ops/operations.h"
#include "ops/single_write.h"

namespace holdfast::ops {
namespace {

// In DynamoDB's order: what can be said without the table comes first.
Result<std::optional<expression::Condition>> Validate(const PutItemRequest& request) {
  bool has_expression = request.condition_expression.has_value();
  HF_CHECK_OK(CheckNotMixed({{"Expected", request.expected.has_value()},
                             {"ConditionalOperator", request.conditional_operator.has_value()}},
                            {{"ConditionExpression", has_expression}}));
  expression::Scope scope = ScopeOf(request);
  HF_CHECK_OK(scope.CheckUsable(has_expression, has_expression, "ConditionExpression is null"));
  if (const Error* defect = request.item.defect()) return *defect;
  if (request.return_values && *request.return_values != ReturnValue::kNone &&
      *request.return_values != ReturnValue::kAllOld) {
    return RequestError("ReturnValues can only be ALL_OLD or NONE");
  }
  if (request.item.SizeBytes() > limits::kItemSizeBytesMax) return value::ItemTooLarge();
  if (!has_expression) return ConditionFromExpected(request.expected, request.conditional_operator);
  HF_CHECK_OK(scope.CheckMaps());
  HF_TRY(auto condition, ParseOptional("ConditionExpression", request.condition_expression, &scope));
  HF_CHECK_OK(scope.CheckAllUsed());
  return condition;
}

}  // namespace

Result<PutItemResponse> Perform(Context& context, const PutItemRequest& request) {
  HF_TRY(auto condition, Validate(request));
  HF_TRY(TableRef ref, OpenForItems(context, request.table_name));
  HF_CHECK_OK(CheckCollectionMetrics(context, request.return_item_collection_metrics, *ref.schema));
  HF_TRY(std::string item_key, KeyFromItem(*ref.schema, request.item));
  HF_CHECK_OK(CheckIndexKeys(*ref.schema, value::MapView(request.item), IndexKeyCheck::kPut));
  HF_CHECK_OK(CheckConditionPaths(*ref.schema, PointerTo(condition)));

  PutMutation mutation(&request.item, PointerTo(condition), &context.work);
  HF_TRY(engine::WriteOutcome outcome, WriteOne(context, ref, std::move(item_key), mutation,
                                                request.return_values_on_condition_check_failure));

  PutItemResponse response;
  TableUsage usage(ref.table.get(), outcome.schema, TableUsage::Kind::kWrite);
  usage.AddWrite(outcome);
  response.consumed_capacity = usage.Report(request.return_consumed_capacity);
  response.item_collection_metrics =
      CollectionMetrics(context, request.return_item_collection_metrics, *ref.schema, request.item);
  if (request.return_values == ReturnValue::kAllOld) response.attributes = std::move(outcome.old);
  return response;
}

}  // namespace holdfast::ops
