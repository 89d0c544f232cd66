// RestoreTableToPointInTime: a new table with the items that a table had at the end of a second, and the
// settings it has now. Answers at once, as RestoreTableFromBackup does.
//
// kTableNotFound, kPointInTimeRecoveryUnavailable (it is not switched on), kInvalidRestoreTime (before or
// after what DescribeContinuousBackups tells), kTableAlreadyExists, kTableInUse, kLimitExceeded.
#pragma once

#include "holdfast/ops/backup.h"

namespace holdfast {

struct RestoreTableToPointInTimeRequest : RestoreOverrides {
  std::optional<std::string> source_table_arn;
  std::optional<std::string> source_table_name;
  std::string target_table_name;
  std::optional<bool> use_latest_restorable_time;
  std::optional<Timestamp> restore_date_time;  // a fraction of a second is cut off

  static constexpr std::string_view kTypeName = "RestoreTableToPointInTimeInput";
  static constexpr auto Fields() {
    using S = RestoreTableToPointInTimeRequest;
    return FieldList(
               Field("SourceTableArn", &S::source_table_arn, {.length_min = 1, .length_max = 1024}),
               Field("SourceTableName", &S::source_table_name, {.table_name = TableNameRule::kOfNewTable}),
               Field("TargetTableName", &S::target_table_name,
                     {.required = true, .table_name = TableNameRule::kOfNewTable}),
               Field("UseLatestRestorableTime", &S::use_latest_restorable_time),
               Field("RestoreDateTime", &S::restore_date_time)) +
           RestoreOverrides::Fields();
  }
};

struct RestoreTableToPointInTimeResponse {
  TableDescription table_description;

  static constexpr std::string_view kTypeName = "RestoreTableToPointInTimeOutput";
  static constexpr auto Fields() {
    return FieldList(Field("TableDescription", &RestoreTableToPointInTimeResponse::table_description));
  }
};

}  // namespace holdfast
