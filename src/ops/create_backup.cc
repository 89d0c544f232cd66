#include "ops/backup_access.h"
#include "ops/operations.h"

namespace holdfast::ops {

Result<CreateBackupResponse> Perform(Context& context, const CreateBackupRequest& request) {
  HF_TRY(TableRef ref, OpenForBackup(context, request.table_name));
  if (ref.schema->status == TableStatus::kCreating || ref.schema->status == TableStatus::kDeleting) {
    return Error(ErrorCode::kTableInUse,
                 "Table is being " +
                     std::string(ref.schema->status == TableStatus::kCreating ? "created: " : "deleted: ") +
                     ref.schema->name);
  }
  context.await_durability = true;
  HF_TRY(engine::Backup backup, context.engine->backups().Create(ref.table, request.backup_name));
  return CreateBackupResponse{DetailsOf(context, backup)};
}

}  // namespace holdfast::ops
