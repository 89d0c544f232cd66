#include "engine/backup/recovery.h"
#include "ops/backup_access.h"
#include "ops/operations.h"
#include "ops/table_schema.h"

namespace holdfast::ops {
namespace {

Status Validate(const RestoreTableToPointInTimeRequest& request) {
  const auto& name = request.source_table_name;
  const auto& arn = request.source_table_arn;
  if (!name && !arn) return Invalid("Either SourceTableName or SourceTableArn must be specified");
  if (arn && !arn->starts_with("arn:")) return ValidationError("Invalid SourceTableArn: " + *arn);
  if (name && arn && TableNameOf(*arn) != *name)
    return Invalid("SourceTableName and SourceTableArn name different tables");
  bool latest = request.use_latest_restorable_time.value_or(false);
  if (latest && request.restore_date_time)
    return Invalid("Only one of RestoreDateTime and UseLatestRestorableTime may be specified");
  if (!latest && !request.restore_date_time)
    return Invalid("Either RestoreDateTime or UseLatestRestorableTime must be specified");
  return Ok{};
}

// The second that a time is in.
int64_t SecondOf(const Timestamp& time) {
  return time.millis / 1000 - (time.millis % 1000 < 0 ? 1 : 0);
}

}  // namespace

Result<RestoreTableToPointInTimeResponse> Perform(Context& context,
                                                  const RestoreTableToPointInTimeRequest& request) {
  HF_CHECK_OK(Validate(request));
  HF_TRY(TableRef source, OpenForBackup(context, request.source_table_name ? *request.source_table_name
                                                                           : *request.source_table_arn));
  if (source.schema->status == TableStatus::kDeleting) {
    return Error(ErrorCode::kTableInUse, "Table is being deleted: " + source.schema->name);
  }
  HF_CHECK_OK(CheckTarget(context, request.target_table_name));
  HF_TRY(engine::TableSchema target,
         RestoredSchema(context, *source.schema, request.target_table_name, request));
  engine::RestoredFrom from{.backup_arn = {}, .table_arn = TableArn(context, source.schema->name)};
  std::optional<int64_t> second;
  if (request.restore_date_time) second = SecondOf(*request.restore_date_time);
  HF_TRY(TableDescription description,
         DescribeStarted(context, context.engine->recovery().Restore(source.table, second, std::move(target),
                                                                     std::move(from))));
  return RestoreTableToPointInTimeResponse{std::move(description)};
}

}  // namespace holdfast::ops
