#include "ops/backup_access.h"
#include "ops/operations.h"

namespace holdfast::ops {

Result<RestoreTableFromBackupResponse> Perform(Context& context,
                                               const RestoreTableFromBackupRequest& request) {
  HF_TRY(std::string id, BackupIdOf(context, request.backup_arn));
  engine::Backups& backups = context.engine->backups();
  Result<engine::Backup> backup = backups.Hold(id);
  if (!backup) return InWordsOfArn(backup.error(), id, request.backup_arn);
  auto start = [&]() -> Result<TableDescription> {
    HF_CHECK_OK(CheckTarget(context, request.target_table_name));
    HF_TRY(engine::TableSchema schema,
           RestoredSchema(context, *backup->table, request.target_table_name, request));
    schema.restored_from = engine::RestoredFrom{request.backup_arn, TableArn(context, backup->table->name),
                                                backup->created_millis, /*in_progress=*/true};
    engine::RestorePlan plan{.file = backup->file, .items = backup->counts.items, .backup_id = id};
    return DescribeStarted(context, context.engine->restorer().Start(std::move(schema), plan));
  };
  Result<TableDescription> started = start();
  if (!started) {
    backups.Release(id);
    return started.error();
  }
  return RestoreTableFromBackupResponse{*std::move(started)};
}

}  // namespace holdfast::ops
