// CreateTable: a name, one or two key attributes, and the indexes. The table is usable when the call returns.
//
//   using holdfast::KeyType, holdfast::ScalarAttributeType;
//   auto created = db->CreateTable({.table_name = "Music",
//                                   .key_schema = {{"Artist", KeyType::kHash}, {"Song", KeyType::kRange}},
//                                   .attribute_definitions = {{"Artist", ScalarAttributeType::kString},
//                                                             {"Song", ScalarAttributeType::kString}},
//                                   .billing_mode = holdfast::BillingMode::kPayPerRequest});
//
// kResourceInUse: a table of that name is there already.
#pragma once

#include "holdfast/ops/table.h"

namespace holdfast {

struct CreateTableRequest {
  std::string table_name;
  std::vector<KeySchemaElement> key_schema;
  // The types of the attributes in the keys of the table and its indexes and in the search schemas of its
  // vector indexes, and of no others.
  std::vector<AttributeDefinition> attribute_definitions;
  std::optional<BillingMode> billing_mode;
  // With BillingMode::kProvisioned, which is the default: more is answered by kProvisionedThroughputExceeded.
  std::optional<ProvisionedThroughput> provisioned_throughput;
  // With BillingMode::kPayPerRequest: more is answered by kThrottling.
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<WarmThroughput> warm_throughput;
  std::optional<std::vector<LocalSecondaryIndex>> local_secondary_indexes;
  std::optional<std::vector<GlobalSecondaryIndex>> global_secondary_indexes;
  // With BillingMode::kPayPerRequest only; at most five.
  std::optional<std::vector<VectorIndex>> vector_indexes;
  std::optional<TableClass> table_class;
  std::optional<bool> deletion_protection_enabled;
  std::optional<std::vector<Tag>> tags;
  std::optional<StreamSpecification> stream_specification;
  std::optional<SseSpecification> sse_specification;

  static constexpr std::string_view kTypeName = "CreateTableInput";
  static constexpr auto Fields() {
    using S = CreateTableRequest;
    return FieldList(
        Field("AttributeDefinitions", &S::attribute_definitions, {.required = true}),
        Field("TableName", &S::table_name, {.required = true, .table_name = TableNameRule::kOfNewTable}),
        Field("KeySchema", &S::key_schema, {.required = true, .length_min = 1, .length_max = 2}),
        Field("LocalSecondaryIndexes", &S::local_secondary_indexes),
        Field("GlobalSecondaryIndexes", &S::global_secondary_indexes), Field("BillingMode", &S::billing_mode),
        Field("ProvisionedThroughput", &S::provisioned_throughput),
        Field("StreamSpecification", &S::stream_specification),
        Field("SSESpecification", &S::sse_specification), Field("Tags", &S::tags),
        Field("TableClass", &S::table_class),
        Field("DeletionProtectionEnabled", &S::deletion_protection_enabled),
        Field("VectorIndexes", &S::vector_indexes), Field("OnDemandThroughput", &S::on_demand_throughput),
        Field("WarmThroughput", &S::warm_throughput), Refused{"ResourcePolicy"},
        Refused{"GlobalTableSettingsReplicationMode"}, Refused{"GlobalTableSourceArn"});
  }
};

struct CreateTableResponse {
  TableDescription table_description;

  static constexpr std::string_view kTypeName = "CreateTableOutput";
  static constexpr auto Fields() {
    return FieldList(Field("TableDescription", &CreateTableResponse::table_description));
  }
};

}  // namespace holdfast
