// UpdateContinuousBackups: switches point-in-time recovery on or off, or changes how many days it goes back
// (1 to 35, which is the default). From when on it is on, every change is kept that long; switching it off
// throws that away. A large table is copied in the background first: see DescribeContinuousBackups.
//
// kTableNotFound; kContinuousBackupsUnavailable (the table is being created, or restored from just now).
#pragma once

#include "holdfast/ops/describe_continuous_backups.h"

namespace holdfast {

struct PointInTimeRecoverySpecification {
  bool point_in_time_recovery_enabled = false;
  std::optional<int64_t> recovery_period_in_days;

  static constexpr std::string_view kTypeName = "PointInTimeRecoverySpecification";
  static constexpr auto Fields() {
    using S = PointInTimeRecoverySpecification;
    return FieldList(
        Field("PointInTimeRecoveryEnabled", &S::point_in_time_recovery_enabled, {.required = true}),
        Field("RecoveryPeriodInDays", &S::recovery_period_in_days, {.value_min = 1, .value_max = 35}));
  }
};

struct UpdateContinuousBackupsRequest {
  std::string table_name;
  PointInTimeRecoverySpecification point_in_time_recovery_specification;

  static constexpr std::string_view kTypeName = "UpdateContinuousBackupsInput";
  static constexpr auto Fields() {
    using S = UpdateContinuousBackupsRequest;
    return FieldList(Field("TableName", &S::table_name, kTableRules),
                     Field("PointInTimeRecoverySpecification", &S::point_in_time_recovery_specification,
                           {.required = true}));
  }
};

struct UpdateContinuousBackupsResponse {
  ContinuousBackupsDescription continuous_backups_description;

  static constexpr std::string_view kTypeName = "UpdateContinuousBackupsOutput";
  static constexpr auto Fields() {
    return FieldList(Field("ContinuousBackupsDescription",
                           &UpdateContinuousBackupsResponse::continuous_backups_description));
  }
};

}  // namespace holdfast
