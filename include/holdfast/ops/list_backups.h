// ListBackups: oldest first, 100 at a time. The next page starts after last_evaluated_backup_arn. Without a
// backup_type those that somebody asked for.
#pragma once

#include "holdfast/ops/backup.h"

namespace holdfast {

enum class BackupTypeFilter : unsigned char { kUser, kSystem, kAwsBackup, kAll };
template <>
struct EnumNames<BackupTypeFilter> {
  static constexpr std::pair<BackupTypeFilter, std::string_view> kAll[] = {
      {BackupTypeFilter::kUser, "USER"},
      {BackupTypeFilter::kSystem, "SYSTEM"},
      {BackupTypeFilter::kAwsBackup, "AWS_BACKUP"},
      {BackupTypeFilter::kAll, "ALL"}};
};

struct ListBackupsRequest {
  std::optional<std::string> table_name;
  std::optional<int64_t> limit;
  std::optional<Timestamp> time_range_lower_bound;  // made then or later
  std::optional<Timestamp> time_range_upper_bound;  // made before
  std::optional<std::string> exclusive_start_backup_arn;
  std::optional<BackupTypeFilter> backup_type;

  static constexpr std::string_view kTypeName = "ListBackupsInput";
  static constexpr auto Fields() {
    using S = ListBackupsRequest;
    return FieldList(Field("TableName", &S::table_name, {.table_name = TableNameRule::kOfTable}),
                     Field("Limit", &S::limit, {.value_min = 1, .value_max = 100}),
                     Field("TimeRangeLowerBound", &S::time_range_lower_bound),
                     Field("TimeRangeUpperBound", &S::time_range_upper_bound),
                     Field("ExclusiveStartBackupArn", &S::exclusive_start_backup_arn,
                           {.length_min = 37, .length_max = 1024}),
                     Field("BackupType", &S::backup_type));
  }
};

struct BackupSummary {
  std::string table_name;
  std::string table_id;
  std::string table_arn;
  std::string backup_arn;
  std::string backup_name;
  Timestamp backup_creation_date_time;
  std::optional<Timestamp> backup_expiry_date_time;
  BackupStatus backup_status = BackupStatus::kCreating;
  BackupType backup_type = BackupType::kUser;
  int64_t backup_size_bytes = 0;

  static constexpr std::string_view kTypeName = "BackupSummary";
  static constexpr auto Fields() {
    using S = BackupSummary;
    return FieldList(
        Field("TableName", &S::table_name), Field("TableId", &S::table_id), Field("TableArn", &S::table_arn),
        Field("BackupArn", &S::backup_arn), Field("BackupName", &S::backup_name),
        Field("BackupCreationDateTime", &S::backup_creation_date_time),
        Field("BackupExpiryDateTime", &S::backup_expiry_date_time), Field("BackupStatus", &S::backup_status),
        Field("BackupType", &S::backup_type), Field("BackupSizeBytes", &S::backup_size_bytes));
  }
};

struct ListBackupsResponse {
  std::vector<BackupSummary> backup_summaries;
  std::optional<std::string> last_evaluated_backup_arn;

  static constexpr std::string_view kTypeName = "ListBackupsOutput";
  static constexpr auto Fields() {
    using S = ListBackupsResponse;
    return FieldList(Field("BackupSummaries", &S::backup_summaries),
                     Field("LastEvaluatedBackupArn", &S::last_evaluated_backup_arn));
  }
};

}  // namespace holdfast
