#include "ops/backup_access.h"
#include "ops/operations.h"

namespace holdfast::ops {

Result<DeleteBackupResponse> Perform(Context& context, const DeleteBackupRequest& request) {
  HF_TRY(std::string id, BackupIdOf(context, request.backup_arn));
  Result<engine::Backup> backup = context.engine->backups().Delete(id);
  if (!backup) return InWordsOfArn(backup.error(), id, request.backup_arn);
  return DeleteBackupResponse{Describe(context, *backup)};
}

}  // namespace holdfast::ops
