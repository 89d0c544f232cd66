// UpdateTable: billing, throughput, class, deletion protection, and indexes, one index created or deleted at
// a time. A new index is filled while the table stays in use; DescribeTable tells when it is ACTIVE.
#pragma once

#include "holdfast/ops/table.h"

namespace holdfast {

struct UpdateGlobalSecondaryIndexAction {
  std::string index_name;
  std::optional<ProvisionedThroughput> provisioned_throughput;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<WarmThroughput> warm_throughput;

  static constexpr std::string_view kTypeName = "UpdateGlobalSecondaryIndexAction";
  static constexpr auto Fields() {
    using S = UpdateGlobalSecondaryIndexAction;
    return FieldList(Field("IndexName", &S::index_name,
                           {.required = true, .length_min = 3, .length_max = 255, .pattern = kNamePattern}),
                     Field("ProvisionedThroughput", &S::provisioned_throughput),
                     Field("OnDemandThroughput", &S::on_demand_throughput),
                     Field("WarmThroughput", &S::warm_throughput));
  }
};

struct CreateGlobalSecondaryIndexAction : GlobalSecondaryIndex {
  static constexpr std::string_view kTypeName = "CreateGlobalSecondaryIndexAction";
};

struct DeleteGlobalSecondaryIndexAction {
  std::string index_name;

  static constexpr std::string_view kTypeName = "DeleteGlobalSecondaryIndexAction";
  static constexpr auto Fields() {
    return FieldList(Field("IndexName", &DeleteGlobalSecondaryIndexAction::index_name,
                           {.required = true, .length_min = 3, .length_max = 255, .pattern = kNamePattern}));
  }
};

// Exactly one of the three.
struct GlobalSecondaryIndexUpdate {
  std::optional<UpdateGlobalSecondaryIndexAction> update;
  std::optional<CreateGlobalSecondaryIndexAction> create;
  std::optional<DeleteGlobalSecondaryIndexAction> delete_action;

  static constexpr std::string_view kTypeName = "GlobalSecondaryIndexUpdate";
  static constexpr auto Fields() {
    using S = GlobalSecondaryIndexUpdate;
    return FieldList(Field("Update", &S::update), Field("Create", &S::create),
                     Field("Delete", &S::delete_action));
  }
};

struct CreateVectorIndexAction : VectorIndex {
  static constexpr std::string_view kTypeName = "CreateVectorIndexAction";
};

struct DeleteVectorIndexAction : DeleteGlobalSecondaryIndexAction {
  static constexpr std::string_view kTypeName = "DeleteVectorIndexAction";
};

// Exactly one of the two.
struct VectorIndexUpdate {
  std::optional<CreateVectorIndexAction> create;
  std::optional<DeleteVectorIndexAction> delete_action;

  static constexpr std::string_view kTypeName = "VectorIndexUpdate";
  static constexpr auto Fields() {
    using S = VectorIndexUpdate;
    return FieldList(Field("Create", &S::create), Field("Delete", &S::delete_action));
  }
};

struct UpdateTableRequest {
  std::string table_name;
  std::optional<std::vector<AttributeDefinition>> attribute_definitions;
  std::optional<BillingMode> billing_mode;
  std::optional<ProvisionedThroughput> provisioned_throughput;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<WarmThroughput> warm_throughput;
  std::optional<std::vector<GlobalSecondaryIndexUpdate>> global_secondary_index_updates;
  std::optional<std::vector<VectorIndexUpdate>> vector_index_updates;
  std::optional<TableClass> table_class;
  std::optional<bool> deletion_protection_enabled;
  std::optional<StreamSpecification> stream_specification;
  std::optional<SseSpecification> sse_specification;

  static constexpr std::string_view kTypeName = "UpdateTableInput";
  static constexpr auto Fields() {
    using S = UpdateTableRequest;
    return FieldList(Field("AttributeDefinitions", &S::attribute_definitions),
                     Field("TableName", &S::table_name, kTableRules), Field("BillingMode", &S::billing_mode),
                     Field("ProvisionedThroughput", &S::provisioned_throughput),
                     Field("GlobalSecondaryIndexUpdates", &S::global_secondary_index_updates),
                     Field("StreamSpecification", &S::stream_specification),
                     Field("SSESpecification", &S::sse_specification), Field("TableClass", &S::table_class),
                     Field("DeletionProtectionEnabled", &S::deletion_protection_enabled),
                     Field("VectorIndexUpdates", &S::vector_index_updates), Refused{"ReplicaUpdates"},
                     Field("OnDemandThroughput", &S::on_demand_throughput),
                     Field("WarmThroughput", &S::warm_throughput), Refused{"MultiRegionConsistency"},
                     Refused{"GlobalTableWitnessUpdates"}, Refused{"GlobalTableSettingsReplicationMode"});
  }
};

struct UpdateTableResponse {
  TableDescription table_description;

  static constexpr std::string_view kTypeName = "UpdateTableOutput";
  static constexpr auto Fields() {
    return FieldList(Field("TableDescription", &UpdateTableResponse::table_description));
  }
};

}  // namespace holdfast
