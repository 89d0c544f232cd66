// CreateBackup: the items of a table as they are now, and what is needed to make the table again. Answers at
// once; the backup is AVAILABLE when DescribeBackup says so. It is kept until it is deleted, whatever becomes
// of the table.
//
// kTableNotFound, kTableInUse (the table is being created or deleted), kLimitExceeded (too many at once).
#pragma once

#include "holdfast/ops/backup.h"

namespace holdfast {

struct CreateBackupRequest {
  std::string table_name;
  std::string backup_name;

  static constexpr std::string_view kTypeName = "CreateBackupInput";
  static constexpr auto Fields() {
    using S = CreateBackupRequest;
    return FieldList(Field("TableName", &S::table_name, kTableRules),
                     Field("BackupName", &S::backup_name, kBackupNameRules));
  }
};

struct CreateBackupResponse {
  BackupDetails backup_details;

  static constexpr std::string_view kTypeName = "CreateBackupOutput";
  static constexpr auto Fields() {
    return FieldList(Field("BackupDetails", &CreateBackupResponse::backup_details));
  }
};

}  // namespace holdfast
