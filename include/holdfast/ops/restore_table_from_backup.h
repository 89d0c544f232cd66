// RestoreTableFromBackup: a new table with the items and settings of a backup. Answers at once; the table is
// CREATING, and cannot be read, until all of it is there, which TableDescription::restore_summary tells too.
// Tags, time to live, streams, deletion protection and point-in-time recovery are to be set anew.
//
// kBackupNotFound, kBackupInUse, kTableAlreadyExists, kTableInUse, kLimitExceeded (50 restores at once).
#pragma once

#include "holdfast/ops/backup.h"

namespace holdfast {

struct RestoreTableFromBackupRequest : RestoreOverrides {
  std::string target_table_name;
  std::string backup_arn;

  static constexpr std::string_view kTypeName = "RestoreTableFromBackupInput";
  static constexpr auto Fields() {
    using S = RestoreTableFromBackupRequest;
    return FieldList(Field("TargetTableName", &S::target_table_name,
                           {.required = true, .table_name = TableNameRule::kOfNewTable}),
                     Field("BackupArn", &S::backup_arn, kBackupArnRules)) +
           RestoreOverrides::Fields();
  }
};

struct RestoreTableFromBackupResponse {
  TableDescription table_description;

  static constexpr std::string_view kTypeName = "RestoreTableFromBackupOutput";
  static constexpr auto Fields() {
    return FieldList(Field("TableDescription", &RestoreTableFromBackupResponse::table_description));
  }
};

}  // namespace holdfast
