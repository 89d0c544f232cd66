#include "ops/backup_access.h"
#include "ops/operations.h"

namespace holdfast::ops {

Result<DescribeBackupResponse> Perform(Context& context, const DescribeBackupRequest& request) {
  HF_TRY(std::string id, BackupIdOf(context, request.backup_arn));
  Result<engine::Backup> backup = context.engine->backups().Find(id);
  if (!backup) return InWordsOfArn(backup.error(), id, request.backup_arn);
  return DescribeBackupResponse{Describe(context, *backup)};
}

}  // namespace holdfast::ops
