// DescribeContinuousBackups: whether a table can be restored to any second, and to which. kTableNotFound.
#pragma once

#include "holdfast/ops/table.h"

namespace holdfast {

enum class ContinuousBackupsStatus : unsigned char { kEnabled, kDisabled };
template <>
struct EnumNames<ContinuousBackupsStatus> {
  static constexpr std::pair<ContinuousBackupsStatus, std::string_view> kAll[] = {
      {ContinuousBackupsStatus::kEnabled, "ENABLED"}, {ContinuousBackupsStatus::kDisabled, "DISABLED"}};
};

struct PointInTimeRecoveryDescription {
  ContinuousBackupsStatus point_in_time_recovery_status = ContinuousBackupsStatus::kDisabled;
  std::optional<int64_t> recovery_period_in_days;
  // Absent for as long as it takes to copy the table when recovery was switched on.
  std::optional<Timestamp> earliest_restorable_date_time;
  std::optional<Timestamp> latest_restorable_date_time;

  static constexpr std::string_view kTypeName = "PointInTimeRecoveryDescription";
  static constexpr auto Fields() {
    using S = PointInTimeRecoveryDescription;
    return FieldList(Field("PointInTimeRecoveryStatus", &S::point_in_time_recovery_status),
                     Field("RecoveryPeriodInDays", &S::recovery_period_in_days),
                     Field("EarliestRestorableDateTime", &S::earliest_restorable_date_time),
                     Field("LatestRestorableDateTime", &S::latest_restorable_date_time));
  }
};

struct ContinuousBackupsDescription {
  // As on AWS always enabled; what can be switched is point-in-time recovery.
  ContinuousBackupsStatus continuous_backups_status = ContinuousBackupsStatus::kEnabled;
  PointInTimeRecoveryDescription point_in_time_recovery_description;

  static constexpr std::string_view kTypeName = "ContinuousBackupsDescription";
  static constexpr auto Fields() {
    using S = ContinuousBackupsDescription;
    return FieldList(Field("ContinuousBackupsStatus", &S::continuous_backups_status),
                     Field("PointInTimeRecoveryDescription", &S::point_in_time_recovery_description));
  }
};

struct DescribeContinuousBackupsRequest {
  std::string table_name;

  static constexpr std::string_view kTypeName = "DescribeContinuousBackupsInput";
  static constexpr auto Fields() {
    return FieldList(Field("TableName", &DescribeContinuousBackupsRequest::table_name, kTableRules));
  }
};

struct DescribeContinuousBackupsResponse {
  ContinuousBackupsDescription continuous_backups_description;

  static constexpr std::string_view kTypeName = "DescribeContinuousBackupsOutput";
  static constexpr auto Fields() {
    return FieldList(Field("ContinuousBackupsDescription",
                           &DescribeContinuousBackupsResponse::continuous_backups_description));
  }
};

}  // namespace holdfast
