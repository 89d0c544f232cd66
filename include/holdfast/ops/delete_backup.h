// DeleteBackup: for good. kBackupNotFound; kBackupInUse while it is being made or restored from.
#pragma once

#include "holdfast/ops/backup.h"

namespace holdfast {

struct DeleteBackupRequest {
  std::string backup_arn;

  static constexpr std::string_view kTypeName = "DeleteBackupInput";
  static constexpr auto Fields() {
    return FieldList(Field("BackupArn", &DeleteBackupRequest::backup_arn, kBackupArnRules));
  }
};

struct DeleteBackupResponse {
  BackupDescription backup_description;

  static constexpr std::string_view kTypeName = "DeleteBackupOutput";
  static constexpr auto Fields() {
    return FieldList(Field("BackupDescription", &DeleteBackupResponse::backup_description));
  }
};

}  // namespace holdfast
