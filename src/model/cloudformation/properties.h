// The properties of a table as CloudFormation and SAM spell them, by field lists (holdfast/fields.h): reading
// a template, writing one and refusing what is not supported all go by these lists. What CloudFormation
// spells as the API does is the API's own struct.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/ops/create_table.h"
#include "holdfast/ops/update_continuous_backups.h"
#include "holdfast/ops/update_time_to_live.h"

namespace holdfast::model::cloudformation {

using holdfast::VectorIndex;  // rather than a model's

struct SseProperties {
  bool enabled = false;
  std::optional<SseType> sse_type;
  std::optional<std::string> kms_master_key_id;

  static constexpr std::string_view kTypeName = "SSESpecification";
  static constexpr auto Fields() {
    using S = SseProperties;
    return FieldList(Field("SSEEnabled", &S::enabled, {.required = true}), Field("SSEType", &S::sse_type),
                     Field("KMSMasterKeyId", &S::kms_master_key_id));
  }
};

// A stream is wanted where this stands.
struct StreamProperties {
  StreamViewType view_type = StreamViewType::kNewAndOldImages;

  static constexpr std::string_view kTypeName = "StreamSpecification";
  static constexpr auto Fields() {
    return FieldList(Field("StreamViewType", &StreamProperties::view_type, {.required = true}),
                     Refused{"ResourcePolicy"});
  }
};

// Of these CloudFormation lets more be left out than the API does, whose structs they are read into.
struct TimeToLiveProperties {
  bool enabled = false;
  std::optional<std::string> attribute_name;  // needed where it is enabled

  static constexpr std::string_view kTypeName = TimeToLiveSpecification::kTypeName;
  static constexpr auto Fields() {
    using S = TimeToLiveProperties;
    return FieldList(Field("Enabled", &S::enabled, {.required = true}),
                     Field("AttributeName", &S::attribute_name, {.length_min = 1, .length_max = 255}));
  }
};
struct PointInTimeRecoveryProperties {
  bool enabled = false;
  std::optional<int64_t> recovery_period_in_days;

  static constexpr std::string_view kTypeName = PointInTimeRecoverySpecification::kTypeName;
  static constexpr auto Fields() {
    using S = PointInTimeRecoveryProperties;
    return FieldList(
        Field("PointInTimeRecoveryEnabled", &S::enabled),
        Field("RecoveryPeriodInDays", &S::recovery_period_in_days, {.value_min = 1, .value_max = 35}));
  }
};

// Accepted where it is off, as some write out.
struct ContributorInsightsProperties {
  bool enabled = false;
  std::optional<std::string> mode;

  static constexpr std::string_view kTypeName = "ContributorInsightsSpecification";
  static constexpr auto Fields() {
    using S = ContributorInsightsProperties;
    return FieldList(Field("Enabled", &S::enabled, {.required = true, .value_max = 0}),
                     Field("Mode", &S::mode));
  }
};
struct IndexProperties : GlobalSecondaryIndex {
  std::optional<ContributorInsightsProperties> contributor_insights;

  static constexpr auto Fields() {
    return GlobalSecondaryIndex::Fields() +
           FieldList(Field("ContributorInsightsSpecification", &IndexProperties::contributor_insights));
  }
};

// AWS::DynamoDB::Table; what the other kinds of resources become.
struct TableProperties {
  std::optional<std::string> table_name;
  std::optional<BillingMode> billing_mode;
  std::optional<ProvisionedThroughput> provisioned_throughput;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<WarmThroughput> warm_throughput;
  std::vector<AttributeDefinition> attribute_definitions;
  std::vector<KeySchemaElement> key_schema;
  std::optional<std::vector<LocalSecondaryIndex>> local_secondary_indexes;
  std::optional<std::vector<GlobalSecondaryIndex>> global_secondary_indexes;
  std::optional<std::vector<VectorIndex>> vector_indexes;
  std::optional<TableClass> table_class;
  std::optional<bool> deletion_protection;
  std::optional<StreamProperties> stream;
  std::optional<TimeToLiveSpecification> time_to_live;
  std::optional<PointInTimeRecoverySpecification> point_in_time_recovery;
  std::optional<SseProperties> encryption;
  std::optional<std::vector<Tag>> tags;
  std::optional<ContributorInsightsProperties> contributor_insights;

  static constexpr std::string_view kTypeName = "AWS::DynamoDB::Table";
  static constexpr auto Fields() {
    using S = TableProperties;
    return FieldList(
        Field("TableName", &S::table_name), Field("BillingMode", &S::billing_mode),
        Field("ProvisionedThroughput", &S::provisioned_throughput),
        Field("OnDemandThroughput", &S::on_demand_throughput), Field("WarmThroughput", &S::warm_throughput),
        Field("AttributeDefinitions", &S::attribute_definitions, {.required = true}),
        Field("KeySchema", &S::key_schema, {.required = true, .length_min = 1, .length_max = 2}),
        Field("LocalSecondaryIndexes", &S::local_secondary_indexes),
        Field("GlobalSecondaryIndexes", &S::global_secondary_indexes),
        Field("VectorIndexes", &S::vector_indexes), Field("TableClass", &S::table_class),
        Field("DeletionProtectionEnabled", &S::deletion_protection), Field("StreamSpecification", &S::stream),
        Field("TimeToLiveSpecification", &S::time_to_live),
        Field("PointInTimeRecoverySpecification", &S::point_in_time_recovery),
        Field("SSESpecification", &S::encryption), Field("Tags", &S::tags),
        Field("ContributorInsightsSpecification", &S::contributor_insights),
        Refused{"KinesisStreamSpecification"}, Refused{"ImportSourceSpecification"},
        Refused{"ResourcePolicy"});
  }
};

// AWS::Serverless::SimpleTable
struct PrimaryKeyProperties {
  std::optional<std::string> name;
  std::string type;  // String, Number or Binary

  static constexpr std::string_view kTypeName = "PrimaryKey";
  static constexpr auto Fields() {
    using S = PrimaryKeyProperties;
    return FieldList(Field("Name", &S::name), Field("Type", &S::type, {.required = true}));
  }
};
struct SimpleTableProperties {
  std::optional<std::string> table_name;
  std::optional<PrimaryKeyProperties> primary_key;
  std::optional<ProvisionedThroughput> provisioned_throughput;
  std::optional<SseProperties> encryption;
  std::optional<PointInTimeRecoverySpecification> point_in_time_recovery;
  std::optional<std::map<std::string, std::string>> tags;

  static constexpr std::string_view kTypeName = "AWS::Serverless::SimpleTable";
  static constexpr auto Fields() {
    using S = SimpleTableProperties;
    return FieldList(
        Field("TableName", &S::table_name), Field("PrimaryKey", &S::primary_key),
        Field("ProvisionedThroughput", &S::provisioned_throughput), Field("SSESpecification", &S::encryption),
        Field("PointInTimeRecoverySpecification", &S::point_in_time_recovery), Field("Tags", &S::tags));
  }
};

// AWS::DynamoDB::GlobalTable. Its maxima on demand stand in several places; its provisioned throughput comes
// with a policy of scaling, which is AWS's alone.
struct ReadOnDemandProperties {
  std::optional<int64_t> max_read_request_units;

  static constexpr std::string_view kTypeName = "ReadOnDemandThroughputSettings";
  static constexpr auto Fields() {
    return FieldList(Field("MaxReadRequestUnits", &ReadOnDemandProperties::max_read_request_units));
  }
};
struct WriteOnDemandProperties {
  std::optional<int64_t> max_write_request_units;

  static constexpr std::string_view kTypeName = "WriteOnDemandThroughputSettings";
  static constexpr auto Fields() {
    return FieldList(Field("MaxWriteRequestUnits", &WriteOnDemandProperties::max_write_request_units));
  }
};
struct GlobalTableIndexProperties {
  std::string index_name;
  std::vector<KeySchemaElement> key_schema;
  Projection projection;
  std::optional<ReadOnDemandProperties> read_on_demand;
  std::optional<WriteOnDemandProperties> write_on_demand;
  std::optional<WarmThroughput> warm_throughput;

  static constexpr std::string_view kTypeName = "GlobalSecondaryIndex";
  static constexpr auto Fields() {
    using S = GlobalTableIndexProperties;
    return FieldList(Field("IndexName", &S::index_name,
                           {.required = true, .length_min = 3, .length_max = 255, .pattern = kNamePattern}),
                     Field("KeySchema", &S::key_schema, {.required = true, .length_min = 1}),
                     Field("Projection", &S::projection, {.required = true}),
                     Field("ReadOnDemandThroughputSettings", &S::read_on_demand),
                     Field("WriteOnDemandThroughputSettings", &S::write_on_demand),
                     Field("WarmThroughput", &S::warm_throughput),
                     Refused{"ReadProvisionedThroughputSettings"},
                     Refused{"WriteProvisionedThroughputSettings"});
  }
};
// What a replica says of an index of the table.
struct ReplicaIndexProperties {
  std::string index_name;
  std::optional<ReadOnDemandProperties> read_on_demand;
  std::optional<ContributorInsightsProperties> contributor_insights;

  static constexpr std::string_view kTypeName = "ReplicaGlobalSecondaryIndexSpecification";
  static constexpr auto Fields() {
    using S = ReplicaIndexProperties;
    return FieldList(Field("IndexName", &S::index_name, {.required = true}),
                     Field("ReadOnDemandThroughputSettings", &S::read_on_demand),
                     Field("ContributorInsightsSpecification", &S::contributor_insights),
                     Refused{"ReadProvisionedThroughputSettings"});
  }
};
// Which key; whether it is encrypted says the table.
struct ReplicaSseProperties {
  std::optional<std::string> kms_master_key_id;

  static constexpr std::string_view kTypeName = "ReplicaSSESpecification";
  static constexpr auto Fields() {
    return FieldList(Field("KMSMasterKeyId", &ReplicaSseProperties::kms_master_key_id));
  }
};
struct ReplicaProperties {
  std::string region;
  std::optional<TableClass> table_class;
  std::optional<bool> deletion_protection;
  std::optional<PointInTimeRecoverySpecification> point_in_time_recovery;
  std::optional<ReadOnDemandProperties> read_on_demand;
  std::optional<std::vector<ReplicaIndexProperties>> global_secondary_indexes;
  std::optional<ContributorInsightsProperties> contributor_insights;
  std::optional<ReplicaSseProperties> encryption;
  std::optional<std::vector<Tag>> tags;

  static constexpr std::string_view kTypeName = "ReplicaSpecification";
  static constexpr auto Fields() {
    using S = ReplicaProperties;
    return FieldList(Field("Region", &S::region, {.required = true}), Field("TableClass", &S::table_class),
                     Field("DeletionProtectionEnabled", &S::deletion_protection),
                     Field("PointInTimeRecoverySpecification", &S::point_in_time_recovery),
                     Field("ReadOnDemandThroughputSettings", &S::read_on_demand),
                     Field("GlobalSecondaryIndexes", &S::global_secondary_indexes),
                     Field("ContributorInsightsSpecification", &S::contributor_insights),
                     Field("SSESpecification", &S::encryption), Field("Tags", &S::tags),
                     Refused{"GlobalTableSettingsReplicationMode"}, Refused{"KinesisStreamSpecification"},
                     Refused{"ReadProvisionedThroughputSettings"}, Refused{"ReplicaStreamSpecification"},
                     Refused{"ResourcePolicy"});
  }
};
struct GlobalTableProperties {
  std::optional<std::string> table_name;
  std::optional<BillingMode> billing_mode;
  std::vector<AttributeDefinition> attribute_definitions;
  std::vector<KeySchemaElement> key_schema;
  std::optional<std::vector<LocalSecondaryIndex>> local_secondary_indexes;
  std::optional<std::vector<GlobalTableIndexProperties>> global_secondary_indexes;
  std::optional<StreamProperties> stream;
  std::optional<TimeToLiveSpecification> time_to_live;
  std::optional<SseProperties> encryption;
  std::optional<ReadOnDemandProperties> read_on_demand;
  std::optional<WriteOnDemandProperties> write_on_demand;
  std::optional<WarmThroughput> warm_throughput;
  std::vector<ReplicaProperties> replicas;

  static constexpr std::string_view kTypeName = "AWS::DynamoDB::GlobalTable";
  static constexpr auto Fields() {
    using S = GlobalTableProperties;
    return FieldList(
        Field("TableName", &S::table_name), Field("BillingMode", &S::billing_mode),
        Field("AttributeDefinitions", &S::attribute_definitions, {.required = true}),
        Field("KeySchema", &S::key_schema, {.required = true, .length_min = 1, .length_max = 2}),
        Field("LocalSecondaryIndexes", &S::local_secondary_indexes),
        Field("GlobalSecondaryIndexes", &S::global_secondary_indexes),
        Field("StreamSpecification", &S::stream), Field("TimeToLiveSpecification", &S::time_to_live),
        Field("SSESpecification", &S::encryption),
        Field("Replicas", &S::replicas, {.required = true, .length_min = 1}), Refused{"GlobalTableSourceArn"},
        Refused{"GlobalTableWitnesses"}, Refused{"MultiRegionConsistency"},
        Field("WarmThroughput", &S::warm_throughput),
        Field("ReadOnDemandThroughputSettings", &S::read_on_demand),
        Field("WriteOnDemandThroughputSettings", &S::write_on_demand),
        Refused{"ReadProvisionedThroughputSettings"}, Refused{"WriteProvisionedThroughputSettings"});
  }
};

}  // namespace holdfast::model::cloudformation
