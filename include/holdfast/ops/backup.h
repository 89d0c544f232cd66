// How backups of tables are described.
#pragma once

#include "holdfast/ops/describe_time_to_live.h"
#include "holdfast/ops/table.h"

namespace holdfast {

inline constexpr Rules kBackupNameRules{
    .required = true, .length_min = 3, .length_max = 255, .pattern = kNamePattern};
inline constexpr Rules kBackupArnRules{.required = true, .length_min = 37, .length_max = 1024};

enum class BackupStatus : unsigned char { kCreating, kDeleted, kAvailable };
template <>
struct EnumNames<BackupStatus> {
  static constexpr std::pair<BackupStatus, std::string_view> kAll[] = {
      {BackupStatus::kCreating, "CREATING"},
      {BackupStatus::kDeleted, "DELETED"},
      {BackupStatus::kAvailable, "AVAILABLE"}};
};

// Who made it: somebody who asked for it, or the database when a table with point-in-time recovery was
// deleted. kAwsBackup never occurs here.
enum class BackupType : unsigned char { kUser, kSystem, kAwsBackup };
template <>
struct EnumNames<BackupType> {
  static constexpr std::pair<BackupType, std::string_view> kAll[] = {
      {BackupType::kUser, "USER"}, {BackupType::kSystem, "SYSTEM"}, {BackupType::kAwsBackup, "AWS_BACKUP"}};
};

struct BackupDetails {
  std::string backup_arn;
  std::string backup_name;
  int64_t backup_size_bytes = 0;
  BackupStatus backup_status = BackupStatus::kCreating;
  BackupType backup_type = BackupType::kUser;
  Timestamp backup_creation_date_time;
  std::optional<Timestamp> backup_expiry_date_time;  // of a system backup

  static constexpr std::string_view kTypeName = "BackupDetails";
  static constexpr auto Fields() {
    using S = BackupDetails;
    return FieldList(Field("BackupArn", &S::backup_arn), Field("BackupName", &S::backup_name),
                     Field("BackupSizeBytes", &S::backup_size_bytes),
                     Field("BackupStatus", &S::backup_status), Field("BackupType", &S::backup_type),
                     Field("BackupCreationDateTime", &S::backup_creation_date_time),
                     Field("BackupExpiryDateTime", &S::backup_expiry_date_time));
  }
};

// The table as it was when the backup was made.
struct SourceTableDetails {
  std::string table_name;
  std::string table_id;
  std::string table_arn;
  int64_t table_size_bytes = 0;
  std::vector<KeySchemaElement> key_schema;
  Timestamp table_creation_date_time;
  ProvisionedThroughput provisioned_throughput;
  int64_t item_count = 0;
  BillingMode billing_mode = BillingMode::kProvisioned;
  std::optional<OnDemandThroughput> on_demand_throughput;

  static constexpr std::string_view kTypeName = "SourceTableDetails";
  static constexpr auto Fields() {
    using S = SourceTableDetails;
    return FieldList(
        Field("TableName", &S::table_name), Field("TableId", &S::table_id), Field("TableArn", &S::table_arn),
        Field("TableSizeBytes", &S::table_size_bytes), Field("KeySchema", &S::key_schema),
        Field("TableCreationDateTime", &S::table_creation_date_time),
        Field("ProvisionedThroughput", &S::provisioned_throughput), Field("ItemCount", &S::item_count),
        Field("BillingMode", &S::billing_mode), Field("OnDemandThroughput", &S::on_demand_throughput));
  }
};

struct SourceTableFeatureDetails {
  std::optional<std::vector<LocalSecondaryIndex>> local_secondary_indexes;
  std::optional<std::vector<GlobalSecondaryIndex>> global_secondary_indexes;
  std::optional<std::vector<VectorIndex>> vector_indexes;
  std::optional<TimeToLiveDescription> time_to_live_description;
  std::optional<StreamSpecification> stream_description;
  std::optional<SseDescription> sse_description;

  static constexpr std::string_view kTypeName = "SourceTableFeatureDetails";
  static constexpr auto Fields() {
    using S = SourceTableFeatureDetails;
    return FieldList(Field("LocalSecondaryIndexes", &S::local_secondary_indexes),
                     Field("GlobalSecondaryIndexes", &S::global_secondary_indexes),
                     Field("VectorIndexes", &S::vector_indexes),
                     Field("TimeToLiveDescription", &S::time_to_live_description),
                     Field("StreamDescription", &S::stream_description),
                     Field("SSEDescription", &S::sse_description));
  }
};

struct BackupDescription {
  BackupDetails backup_details;
  SourceTableDetails source_table_details;
  SourceTableFeatureDetails source_table_feature_details;

  static constexpr std::string_view kTypeName = "BackupDescription";
  static constexpr auto Fields() {
    using S = BackupDescription;
    return FieldList(Field("BackupDetails", &S::backup_details),
                     Field("SourceTableDetails", &S::source_table_details),
                     Field("SourceTableFeatureDetails", &S::source_table_feature_details));
  }
};

// What a restored table has otherwise than its source. Indexes that are given must be among the source's; an
// empty list leaves all of that kind out.
struct RestoreOverrides {
  std::optional<BillingMode> billing_mode_override;
  std::optional<std::vector<GlobalSecondaryIndex>> global_secondary_index_override;
  std::optional<std::vector<LocalSecondaryIndex>> local_secondary_index_override;
  std::optional<std::vector<VectorIndex>> vector_index_override;
  std::optional<ProvisionedThroughput> provisioned_throughput_override;
  std::optional<OnDemandThroughput> on_demand_throughput_override;
  std::optional<SseSpecification> sse_specification_override;

  static constexpr auto Fields() {
    using S = RestoreOverrides;
    return FieldList(Field("BillingModeOverride", &S::billing_mode_override),
                     Field("GlobalSecondaryIndexOverride", &S::global_secondary_index_override),
                     Field("LocalSecondaryIndexOverride", &S::local_secondary_index_override),
                     Field("VectorIndexOverride", &S::vector_index_override),
                     Field("ProvisionedThroughputOverride", &S::provisioned_throughput_override),
                     Field("OnDemandThroughputOverride", &S::on_demand_throughput_override),
                     Field("SSESpecificationOverride", &S::sse_specification_override));
  }
};

}  // namespace holdfast
