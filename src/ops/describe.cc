#include "ops/describe.h"

#include <algorithm>

#include "ops/encryption.h"
#include "ops/streams.h"
#include "ops/table_access.h"

namespace holdfast::ops {
namespace {

using engine::IndexSchema;
using engine::KeyAttribute;
using engine::TableSchema;

void AddKeys(const std::vector<KeyAttribute>& attributes, KeyType type, std::vector<KeySchemaElement>* keys) {
  for (const KeyAttribute& attribute : attributes) keys->push_back({attribute.name, type});
}

std::optional<Timestamp> TimeOrNone(int64_t millis) {
  if (millis == 0) return std::nullopt;
  return Timestamp{millis};
}

ProvisionedThroughputDescription ThroughputOf(const ProvisionedThroughput& throughput,
                                              const engine::ThroughputChanges& changes, int64_t now_millis) {
  ProvisionedThroughputDescription description;
  description.last_increase_date_time = TimeOrNone(changes.increased_millis);
  description.last_decrease_date_time = TimeOrNone(changes.decreased_millis);
  description.number_of_decreases_today = changes.DecreasesOn(now_millis);
  description.read_capacity_units = throughput.read_capacity_units;
  description.write_capacity_units = throughput.write_capacity_units;
  return description;
}

VectorIndexDescription DescribeVectorIndex(const IndexSchema& index, const TableSchema& table) {
  VectorIndexDescription description;
  description.index_name = index.name;
  description.vector_attribute.attribute_name = index.vector->attribute;
  description.dimensions = index.vector->dimensions;
  description.distance_function = index.vector->distance;
  description.projection = ProjectionOf(index);
  if (!index.vector->search_schema.empty()) description.search_schema = index.vector->search_schema;
  // While the table is not settled the index is not either, whatever the filling has come to.
  bool unsettled = index.allocating || table.status == TableStatus::kCreating;
  description.index_status = unsettled ? IndexStatus::kCreating : index.status;
  if (index.allocating || index.status == IndexStatus::kCreating) description.backfilling = !index.allocating;
  return description;
}

void AddIndex(const IndexSchema& index, engine::Table& table, const std::string& arn, int64_t now_millis,
              TableDescription* out) {
  const engine::Tally& tally = *table.IndexTally(index.id);
  if (index.is_global()) {
    GlobalSecondaryIndexDescription description;
    description.index_name = index.name;
    description.key_schema = KeysOf(index);
    description.projection = ProjectionOf(index);
    description.index_status = table.schema()->restoring() ? IndexStatus::kCreating : index.status;
    if (index.status == IndexStatus::kCreating) description.backfilling = true;
    description.provisioned_throughput = ThroughputOf(index.throughput.value_or(ProvisionedThroughput{}),
                                                      index.throughput_changes, now_millis);
    description.on_demand_throughput = MaximaOf(index.on_demand);
    description.warm_throughput = {index.warm.read_capacity_units, index.warm.write_capacity_units};
    description.index_size_bytes = tally.bytes;
    description.item_count = tally.count;
    description.index_arn = arn;
    if (!out->global_secondary_indexes) out->global_secondary_indexes.emplace();
    out->global_secondary_indexes->push_back(std::move(description));
  } else if (index.is_vector()) {
    VectorIndexDescription description = DescribeVectorIndex(index, *table.schema());
    description.index_size_bytes = tally.bytes;
    description.item_count = tally.count;
    description.index_arn = arn;
    if (description.index_status == IndexStatus::kActive) {
      description.skipped_item_count = std::max<int64_t>(0, table.tally.count - tally.count);
    }
    if (!out->vector_indexes) out->vector_indexes.emplace();
    out->vector_indexes->push_back(std::move(description));
  } else {
    LocalSecondaryIndexDescription description;
    description.index_name = index.name;
    description.key_schema = KeysOf(index);
    description.projection = ProjectionOf(index);
    description.index_size_bytes = tally.bytes;
    description.item_count = tally.count;
    description.index_arn = arn;
    if (!out->local_secondary_indexes) out->local_secondary_indexes.emplace();
    out->local_secondary_indexes->push_back(std::move(description));
  }
}

}  // namespace

std::vector<KeySchemaElement> KeysOf(const TableSchema& table) {
  std::vector<KeySchemaElement> keys;
  AddKeys({table.partition}, KeyType::kHash, &keys);
  if (table.sort) AddKeys({*table.sort}, KeyType::kRange, &keys);
  return keys;
}

std::vector<KeySchemaElement> KeysOf(const IndexSchema& index) {
  std::vector<KeySchemaElement> keys;
  AddKeys(index.partition, KeyType::kHash, &keys);
  AddKeys(index.sort, KeyType::kRange, &keys);
  return keys;
}

Projection ProjectionOf(const IndexSchema& index) {
  Projection projection;
  projection.projection_type = index.projection;
  if (index.projection == ProjectionType::kInclude) projection.non_key_attributes = index.included;
  return projection;
}

std::optional<OnDemandThroughput> MaximaOf(const OnDemandThroughput& maxima) {
  return maxima == OnDemandThroughput{} ? std::nullopt : std::optional(maxima);
}

TableDescription Describe(Context& context, engine::Table& table) {
  engine::SchemaPtr schema = table.schema();
  TableDescription description;
  description.table_name = schema->name;
  description.table_id = schema->uuid;
  description.table_arn = TableArn(context, schema->name);
  description.attribute_definitions = schema->attributes;
  description.key_schema = KeysOf(*schema);
  description.creation_date_time = Timestamp{schema->created_millis};
  description.table_status = schema->status;
  description.item_count = table.tally.count;
  description.table_size_bytes = table.tally.bytes;
  description.deletion_protection_enabled = schema->deletion_protection;
  int64_t now_millis = context.engine->clock().NowMillis();
  description.provisioned_throughput =
      ThroughputOf(schema->throughput, schema->throughput_changes, now_millis);
  description.on_demand_throughput = MaximaOf(schema->on_demand);
  description.warm_throughput = {schema->warm.read_capacity_units, schema->warm.write_capacity_units};
  if (schema->billing_mode_given) {
    BillingModeSummary summary;
    summary.billing_mode = schema->billing;
    summary.last_update_to_pay_per_request_date_time = TimeOrNone(
        schema->on_demand_since_millis != 0 ? schema->on_demand_since_millis : schema->created_millis);
    description.billing_mode_summary = summary;
  }
  if (schema->table_class) {
    description.table_class_summary =
        TableClassSummary{*schema->table_class, TimeOrNone(schema->table_class_millis)};
  }
  if (const auto& from = schema->restored_from) {
    RestoreSummary summary;
    if (!from->backup_arn.empty()) summary.source_backup_arn = from->backup_arn;
    summary.source_table_arn = from->table_arn;
    summary.restore_date_time = Timestamp{from->time_millis};
    summary.restore_in_progress = from->in_progress;
    description.restore_summary = std::move(summary);
  }
  description.sse_description = DescribeEncryption(context, *schema);
  if (!schema->streams.empty()) {
    const engine::StreamSchema& stream = schema->streams.back();
    if (stream.enabled()) description.stream_specification = StreamSpecification{true, stream.view_type};
    description.latest_stream_label = StreamLabel(stream);
    description.latest_stream_arn = StreamArn(context, *schema, stream);
  }
  for (const IndexSchema& index : schema->indexes) {
    AddIndex(index, table, description.table_arn + "/index/" + index.name, now_millis, &description);
    // A table is in full use, and shown so, while a vector index is filled.
    if (index.is_vector()) continue;
    if (index.status != IndexStatus::kActive && schema->status == TableStatus::kActive) {
      description.table_status = TableStatus::kUpdating;
    }
  }
  return description;
}

}  // namespace holdfast::ops
