#include "ops/capacity.h"
#include "ops/legacy.h"
#include "ops/mutations.h"
#include "ops/operations.h"
#include "ops/single_write.h"

namespace holdfast::ops {
namespace {

struct ParsedUpdate {
  std::optional<expression::Update> update;
  std::optional<expression::Condition> condition;
};

Result<ParsedUpdate> Validate(const UpdateItemRequest& request) {
  HF_CHECK_OK(CheckNotMixed({{"AttributeUpdates", request.attribute_updates.has_value()},
                             {"Expected", request.expected.has_value()},
                             {"ConditionalOperator", request.conditional_operator.has_value()}},
                            {{"UpdateExpression", request.update_expression.has_value()},
                             {"ConditionExpression", request.condition_expression.has_value()}}));
  expression::Scope scope = ScopeOf(request);
  bool any = request.update_expression || request.condition_expression;
  HF_CHECK_OK(scope.CheckUsable(any, any, "UpdateExpression and ConditionExpression are null"));
  if (const Error* defect = request.key.defect()) return *defect;
  ParsedUpdate parsed;
  if (!any) {
    HF_TRY(parsed.update, UpdateFromAttributes(request.attribute_updates));
    HF_TRY(parsed.condition, ConditionFromExpected(request.expected, request.conditional_operator));
    return parsed;
  }
  HF_CHECK_OK(scope.CheckMaps());
  if (request.update_expression) {
    HF_TRY(expression::Update update, expression::Update::Parse(*request.update_expression, &scope));
    parsed.update = std::move(update);
  }
  HF_TRY(parsed.condition, ParseOptional("ConditionExpression", request.condition_expression, &scope));
  HF_CHECK_OK(scope.CheckAllUsed());
  return parsed;
}

// The parts of `item` that the update named; nothing when there are none.
std::optional<Item> Touched(const ParsedUpdate& parsed, const Item& item) {
  if (!parsed.update) return std::nullopt;
  value::FlatWriter writer;
  // The write has been made: nothing can send it away any more, and it is bounded by the item.
  base::WorkMeter after(base::WorkMeter::Bound::kRequest);
  parsed.update->paths().Project(value::MapView(item), &writer, &after);
  Item touched = Item::FromFlat(writer.TakeMap());
  if (touched.empty()) return std::nullopt;
  return touched;
}

std::optional<Item> ReturnedAttributes(ReturnValue asked, const ParsedUpdate& parsed,
                                       engine::WriteOutcome outcome) {
  // A write that changed nothing left the old item in place.
  bool unchanged = outcome.kind == engine::Change::Kind::kNone;
  switch (asked) {
    case ReturnValue::kNone: return std::nullopt;
    case ReturnValue::kAllOld: return std::move(outcome.old);
    case ReturnValue::kUpdatedOld: return outcome.old ? Touched(parsed, *outcome.old) : std::nullopt;
    case ReturnValue::kAllNew:
      return unchanged ? std::move(outcome.old) : std::optional(std::move(outcome.now));
    case ReturnValue::kUpdatedNew:
      if (unchanged) return outcome.old ? Touched(parsed, *outcome.old) : std::nullopt;
      return Touched(parsed, outcome.now);
  }
  return std::nullopt;
}

}  // namespace

Result<UpdateItemResponse> Perform(Context& context, const UpdateItemRequest& request) {
  HF_TRY(ParsedUpdate parsed, Validate(request));
  HF_TRY(TableRef ref, OpenForItems(context, request.table_name));
  HF_CHECK_OK(CheckCollectionMetrics(context, request.return_item_collection_metrics, *ref.schema));
  HF_TRY(std::string item_key, KeyFromParameter(*ref.schema, request.key));
  if (parsed.update) HF_CHECK_OK(CheckUpdatePaths(*ref.schema, *parsed.update));
  HF_CHECK_OK(CheckConditionPaths(*ref.schema, PointerTo(parsed.condition)));

  UpdateMutation mutation(ref.schema.get(), &request.key, PointerTo(parsed.update),
                          PointerTo(parsed.condition), UpdateMutation::SizeRule::kUpdateItem, &context.work);
  HF_TRY(engine::WriteOutcome outcome, WriteOne(context, ref, std::move(item_key), mutation,
                                                request.return_values_on_condition_check_failure));

  UpdateItemResponse response;
  TableUsage usage(ref.table.get(), outcome.schema, TableUsage::Kind::kWrite);
  usage.AddWrite(outcome);
  response.consumed_capacity = usage.Report(request.return_consumed_capacity);
  response.item_collection_metrics =
      CollectionMetrics(context, request.return_item_collection_metrics, *ref.schema, request.key);
  response.attributes =
      ReturnedAttributes(request.return_values.value_or(ReturnValue::kNone), parsed, std::move(outcome));
  return response;
}

}  // namespace holdfast::ops
