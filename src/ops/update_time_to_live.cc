#include "ops/operations.h"
#include "ops/table_access.h"

namespace holdfast::ops {

Result<UpdateTimeToLiveResponse> Perform(Context& context, const UpdateTimeToLiveRequest& request) {
  HF_TRY(TableRef ref, OpenForTable(context, request.table_name));
  HF_CHECK_OK(CheckSettled(*ref.schema));
  const TimeToLiveSpecification& wanted = request.time_to_live_specification;
  context.await_durability = true;
  HF_CHECK_OK(context.engine->ChangeSchema(ref.table, [&](engine::TableSchema* schema) -> Status {
    if (wanted.enabled) {
      if (schema->ttl_enabled()) return ValidationError("TimeToLive is already enabled");
      schema->ttl_attribute = wanted.attribute_name;
      // Items that are there already get their expiry entries in the background.
      schema->ttl_status = TimeToLiveStatus::kEnabling;
    } else {
      if (!schema->ttl_enabled()) return ValidationError("TimeToLive is already disabled");
      if (schema->ttl_attribute != wanted.attribute_name) {
        return ValidationError(
            "TimeToLive is active on a different AttributeName: current AttributeName is " +
            schema->ttl_attribute);
      }
      schema->ttl_status = TimeToLiveStatus::kDisabled;
      schema->ttl_attribute.clear();
    }
    schema->ttl_changed_millis = context.engine->clock().NowMillis();
    return Ok{};
  }));
  // On an empty table there is nothing to fill.
  if (wanted.enabled && ref.table->tally.count == 0) context.engine->WaitForBackfills();
  return UpdateTimeToLiveResponse{wanted};
}

}  // namespace holdfast::ops
