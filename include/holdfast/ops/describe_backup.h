// DescribeBackup: a backup, and the table it was made of. kBackupNotFound.
#pragma once

#include "holdfast/ops/backup.h"

namespace holdfast {

struct DescribeBackupRequest {
  std::string backup_arn;

  static constexpr std::string_view kTypeName = "DescribeBackupInput";
  static constexpr auto Fields() {
    return FieldList(Field("BackupArn", &DescribeBackupRequest::backup_arn, kBackupArnRules));
  }
};

struct DescribeBackupResponse {
  BackupDescription backup_description;

  static constexpr std::string_view kTypeName = "DescribeBackupOutput";
  static constexpr auto Fields() {
    return FieldList(Field("BackupDescription", &DescribeBackupResponse::backup_description));
  }
};

}  // namespace holdfast
