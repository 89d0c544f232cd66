#include "ops/single_write.h"

#include "ops/capacity.h"
#include "ops/throughput.h"

namespace holdfast::ops {

Result<engine::WriteOutcome> WriteOne(Context& context, const TableRef& ref, std::string item_key,
                                      const engine::ItemMutation& mutation,
                                      std::optional<ReturnValuesOnConditionCheckFailure> on_failure) {
  std::vector<engine::WriteAction> actions;
  actions.push_back({ref.table.get(), std::move(item_key), &mutation});
  context.await_durability = true;  // also for what the newest state makes us refuse
  HF_TRY(engine::ItemWriter::Written written,
         context.engine->writer().Write(actions, {.wait = context.wait, .throttles = true}));
  engine::WriteOutcome outcome = std::move(written.outcomes[0]);
  if (outcome.throttled) return Throttle(context, ref, outcome);
  if (outcome.kind != engine::Change::Kind::kConditionFailed) return outcome;
  // DynamoDB charges for the item that the condition was held against.
  TableUsage(ref.table.get(), outcome.schema, TableUsage::Kind::kWrite)
      .AddTable(WriteUnits(outcome.old_billed, 0));
  auto detail = std::make_shared<ErrorDetail>();
  if (on_failure == ReturnValuesOnConditionCheckFailure::kAllOld) detail->item = std::move(outcome.old);
  return Error(ErrorCode::kConditionalCheckFailed, "The conditional request failed", std::move(detail));
}

Result<std::optional<expression::Condition>> ParseOptional(std::string_view what,
                                                           const std::optional<std::string>& text,
                                                           expression::Scope* scope) {
  if (!text) return std::optional<expression::Condition>();
  HF_TRY(expression::Condition condition, expression::Condition::Parse(what, *text, scope));
  return std::optional<expression::Condition>(std::move(condition));
}

Status CheckConditionPaths(const engine::TableSchema& schema, const expression::Condition* condition) {
  if (condition == nullptr) return Ok{};
  Status status = Ok{};
  condition->ForEachPath([&](const expression::Path& path) {
    if (status) status = CheckKeyPath(schema, path[0].name, path.size() > 1);
  });
  return status;
}

}  // namespace holdfast::ops
