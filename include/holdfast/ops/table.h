// How tables are described, on the way in and on the way out.
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

// Milliseconds since 1970; on the wire, seconds with a fraction.
struct Timestamp {
  int64_t millis = 0;
};

enum class KeyType : unsigned char { kHash, kRange };
template <>
struct EnumNames<KeyType> {
  static constexpr std::pair<KeyType, std::string_view> kAll[] = {{KeyType::kHash, "HASH"},
                                                                  {KeyType::kRange, "RANGE"}};
};

enum class ScalarAttributeType : unsigned char { kString, kNumber, kBinary };
template <>
struct EnumNames<ScalarAttributeType> {
  static constexpr std::pair<ScalarAttributeType, std::string_view> kAll[] = {
      {ScalarAttributeType::kBinary, "B"},
      {ScalarAttributeType::kNumber, "N"},
      {ScalarAttributeType::kString, "S"}};
};

enum class ProjectionType : unsigned char { kAll, kKeysOnly, kInclude };
template <>
struct EnumNames<ProjectionType> {
  static constexpr std::pair<ProjectionType, std::string_view> kAll[] = {
      {ProjectionType::kAll, "ALL"},
      {ProjectionType::kInclude, "INCLUDE"},
      {ProjectionType::kKeysOnly, "KEYS_ONLY"}};
};

enum class BillingMode : unsigned char { kProvisioned, kPayPerRequest };
template <>
struct EnumNames<BillingMode> {
  static constexpr std::pair<BillingMode, std::string_view> kAll[] = {
      {BillingMode::kProvisioned, "PROVISIONED"}, {BillingMode::kPayPerRequest, "PAY_PER_REQUEST"}};
};

enum class TableClass : unsigned char { kStandard, kInfrequentAccess };
template <>
struct EnumNames<TableClass> {
  static constexpr std::pair<TableClass, std::string_view> kAll[] = {
      {TableClass::kStandard, "STANDARD"}, {TableClass::kInfrequentAccess, "STANDARD_INFREQUENT_ACCESS"}};
};

enum class SseType : unsigned char { kAes256, kKms };
template <>
struct EnumNames<SseType> {
  static constexpr std::pair<SseType, std::string_view> kAll[] = {{SseType::kAes256, "AES256"},
                                                                  {SseType::kKms, "KMS"}};
};

enum class SseStatus : unsigned char { kEnabling, kEnabled, kDisabling, kDisabled, kUpdating };
template <>
struct EnumNames<SseStatus> {
  static constexpr std::pair<SseStatus, std::string_view> kAll[] = {{SseStatus::kEnabling, "ENABLING"},
                                                                    {SseStatus::kEnabled, "ENABLED"},
                                                                    {SseStatus::kDisabling, "DISABLING"},
                                                                    {SseStatus::kDisabled, "DISABLED"},
                                                                    {SseStatus::kUpdating, "UPDATING"}};
};

enum class TableStatus : unsigned char { kCreating, kUpdating, kDeleting, kActive };
template <>
struct EnumNames<TableStatus> {
  static constexpr std::pair<TableStatus, std::string_view> kAll[] = {{TableStatus::kCreating, "CREATING"},
                                                                      {TableStatus::kUpdating, "UPDATING"},
                                                                      {TableStatus::kDeleting, "DELETING"},
                                                                      {TableStatus::kActive, "ACTIVE"}};
};

enum class IndexStatus : unsigned char { kCreating, kUpdating, kDeleting, kActive };
template <>
struct EnumNames<IndexStatus> {
  static constexpr std::pair<IndexStatus, std::string_view> kAll[] = {{IndexStatus::kCreating, "CREATING"},
                                                                      {IndexStatus::kUpdating, "UPDATING"},
                                                                      {IndexStatus::kDeleting, "DELETING"},
                                                                      {IndexStatus::kActive, "ACTIVE"}};
};

// How near two vectors are. Cosine and Euclidean are distances: the lower the nearer. A dot product is the
// nearer the higher.
enum class DistanceFunction : unsigned char { kCosine, kEuclidean, kDotProduct };
template <>
struct EnumNames<DistanceFunction> {
  static constexpr std::pair<DistanceFunction, std::string_view> kAll[] = {
      {DistanceFunction::kDotProduct, "DOT_PRODUCT"},
      {DistanceFunction::kEuclidean, "EUCLIDEAN"},
      {DistanceFunction::kCosine, "COSINE"}};
};

// What a search may name in its condition: the partition it is confined to, or values that results must have.
enum class SearchSchemaElementType : unsigned char { kHash, kInlineFilter };
template <>
struct EnumNames<SearchSchemaElementType> {
  static constexpr std::pair<SearchSchemaElementType, std::string_view> kAll[] = {
      {SearchSchemaElementType::kInlineFilter, "INLINE_FILTER"}, {SearchSchemaElementType::kHash, "HASH"}};
};

// What a stream tells of a change, beside the key: nothing, the item after it, before it, or both.
enum class StreamViewType : unsigned char { kKeysOnly, kNewImage, kOldImage, kNewAndOldImages };
template <>
struct EnumNames<StreamViewType> {
  static constexpr std::pair<StreamViewType, std::string_view> kAll[] = {
      {StreamViewType::kOldImage, "OLD_IMAGE"},
      {StreamViewType::kKeysOnly, "KEYS_ONLY"},
      {StreamViewType::kNewAndOldImages, "NEW_AND_OLD_IMAGES"},
      {StreamViewType::kNewImage, "NEW_IMAGE"}};
};

struct KeySchemaElement {
  std::string attribute_name;
  KeyType key_type = KeyType::kHash;

  static constexpr std::string_view kTypeName = "KeySchemaElement";
  static constexpr auto Fields() {
    using S = KeySchemaElement;
    return FieldList(
        Field("AttributeName", &S::attribute_name, {.required = true, .length_min = 1, .length_max = 255}),
        Field("KeyType", &S::key_type, {.required = true}));
  }
  friend bool operator==(const KeySchemaElement&, const KeySchemaElement&) = default;
};

struct AttributeDefinition {
  std::string attribute_name;
  ScalarAttributeType attribute_type = ScalarAttributeType::kString;

  static constexpr std::string_view kTypeName = "AttributeDefinition";
  static constexpr auto Fields() {
    using S = AttributeDefinition;
    return FieldList(
        Field("AttributeName", &S::attribute_name, {.required = true, .length_min = 1, .length_max = 255}),
        Field("AttributeType", &S::attribute_type, {.required = true}));
  }
  friend bool operator==(const AttributeDefinition&, const AttributeDefinition&) = default;
};

struct Projection {
  std::optional<ProjectionType> projection_type;
  std::optional<std::vector<std::string>> non_key_attributes;

  static constexpr std::string_view kTypeName = "Projection";
  static constexpr auto Fields() {
    using S = Projection;
    return FieldList(Field("ProjectionType", &S::projection_type),
                     Field("NonKeyAttributes", &S::non_key_attributes, {.length_min = 1, .length_max = 20}));
  }
};

struct ProvisionedThroughput {
  int64_t read_capacity_units = 0;
  int64_t write_capacity_units = 0;

  static constexpr std::string_view kTypeName = "ProvisionedThroughput";
  static constexpr auto Fields() {
    using S = ProvisionedThroughput;
    return FieldList(Field("ReadCapacityUnits", &S::read_capacity_units,
                           {.required = true, .value_min = 1, .is_long = true}),
                     Field("WriteCapacityUnits", &S::write_capacity_units,
                           {.required = true, .value_min = 1, .is_long = true}));
  }
  friend bool operator==(const ProvisionedThroughput&, const ProvisionedThroughput&) = default;
};

// The most request units a second that are used on demand. Without a value: as many as are asked for. -1, in
// UpdateTable, takes a maximum away.
struct OnDemandThroughput {
  std::optional<int64_t> max_read_request_units;
  std::optional<int64_t> max_write_request_units;

  static constexpr std::string_view kTypeName = "OnDemandThroughput";
  static constexpr auto Fields() {
    using S = OnDemandThroughput;
    return FieldList(Field("MaxReadRequestUnits", &S::max_read_request_units, {.is_long = true}),
                     Field("MaxWriteRequestUnits", &S::max_write_request_units, {.is_long = true}));
  }
  friend bool operator==(const OnDemandThroughput&, const OnDemandThroughput&) = default;
};

// Units a second that a table is asked to be ready for. Described as given; it can only be raised.
struct WarmThroughput {
  std::optional<int64_t> read_units_per_second;
  std::optional<int64_t> write_units_per_second;

  static constexpr std::string_view kTypeName = "WarmThroughput";
  static constexpr auto Fields() {
    using S = WarmThroughput;
    return FieldList(Field("ReadUnitsPerSecond", &S::read_units_per_second, {.is_long = true}),
                     Field("WriteUnitsPerSecond", &S::write_units_per_second, {.is_long = true}));
  }
};

struct LocalSecondaryIndex {
  std::string index_name;
  std::vector<KeySchemaElement> key_schema;
  Projection projection;

  static constexpr std::string_view kTypeName = "LocalSecondaryIndex";
  static constexpr auto Fields() {
    using S = LocalSecondaryIndex;
    return FieldList(Field("IndexName", &S::index_name,
                           {.required = true, .length_min = 3, .length_max = 255, .pattern = kNamePattern}),
                     Field("KeySchema", &S::key_schema, {.required = true, .length_min = 1, .length_max = 2}),
                     Field("Projection", &S::projection, {.required = true}));
  }
};

struct GlobalSecondaryIndex {
  std::string index_name;
  std::vector<KeySchemaElement> key_schema;  // up to four HASH elements, then up to four RANGE elements
  Projection projection;
  std::optional<ProvisionedThroughput> provisioned_throughput;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<WarmThroughput> warm_throughput;

  static constexpr std::string_view kTypeName = "GlobalSecondaryIndex";
  static constexpr auto Fields() {
    using S = GlobalSecondaryIndex;
    return FieldList(Field("IndexName", &S::index_name,
                           {.required = true, .length_min = 3, .length_max = 255, .pattern = kNamePattern}),
                     Field("KeySchema", &S::key_schema, {.required = true, .length_min = 1}),
                     Field("Projection", &S::projection, {.required = true}),
                     Field("ProvisionedThroughput", &S::provisioned_throughput),
                     Field("OnDemandThroughput", &S::on_demand_throughput),
                     Field("WarmThroughput", &S::warm_throughput));
  }
};

struct VectorAttribute {
  std::string attribute_name;

  static constexpr std::string_view kTypeName = "VectorAttribute";
  static constexpr auto Fields() {
    return FieldList(Field("AttributeName", &VectorAttribute::attribute_name,
                           {.required = true, .length_min = 1, .length_max = 255}));
  }
};

struct SearchSchemaElement {
  std::string attribute_name;
  SearchSchemaElementType element_type = SearchSchemaElementType::kInlineFilter;

  static constexpr std::string_view kTypeName = "SearchSchemaElement";
  static constexpr auto Fields() {
    using S = SearchSchemaElement;
    return FieldList(
        Field("AttributeName", &S::attribute_name, {.required = true, .length_min = 1, .length_max = 255}),
        Field("SearchSchemaElementType", &S::element_type, {.required = true}));
  }
  friend bool operator==(const SearchSchemaElement&, const SearchSchemaElement&) = default;
};

// The items whose vector_attribute is a list of `dimensions` numbers, to be searched by nearness.
struct VectorIndex {
  std::string index_name;
  VectorAttribute vector_attribute;
  int64_t dimensions = 0;  // 1 to 4096
  DistanceFunction distance_function = DistanceFunction::kCosine;
  Projection projection;
  // At most one HASH attribute and 18 INLINE_FILTER attributes, each defined in attribute_definitions.
  std::optional<std::vector<SearchSchemaElement>> search_schema;

  static constexpr std::string_view kTypeName = "VectorIndex";
  static constexpr auto Fields() {
    using S = VectorIndex;
    return FieldList(Field("IndexName", &S::index_name,
                           {.required = true, .length_min = 3, .length_max = 255, .pattern = kNamePattern}),
                     Field("VectorAttribute", &S::vector_attribute, {.required = true}),
                     Field("Dimensions", &S::dimensions, {.required = true, .value_min = 1, .is_long = true}),
                     Field("DistanceFunction", &S::distance_function, {.required = true}),
                     Field("Projection", &S::projection, {.required = true}),
                     Field("SearchSchema", &S::search_schema, {.length_min = 1}));
  }
};

// Whether the table has a stream of its changes, to be read by the operations of DynamoDB Streams.
struct StreamSpecification {
  bool stream_enabled = false;
  std::optional<StreamViewType> stream_view_type;  // of one that is enabled

  static constexpr std::string_view kTypeName = "StreamSpecification";
  static constexpr auto Fields() {
    using S = StreamSpecification;
    return FieldList(Field("StreamEnabled", &S::stream_enabled, {.required = true}),
                     Field("StreamViewType", &S::stream_view_type));
  }
};

// Encryption at rest, which is of the whole store (docs/encryption.md).
struct SseSpecification {
  std::optional<bool> enabled;
  std::optional<SseType> sse_type;
  std::optional<std::string> kms_master_key_id;

  static constexpr std::string_view kTypeName = "SSESpecification";
  static constexpr auto Fields() {
    using S = SseSpecification;
    return FieldList(Field("Enabled", &S::enabled), Field("SSEType", &S::sse_type),
                     Field("KMSMasterKeyId", &S::kms_master_key_id));
  }
};

struct Tag {
  std::string key;
  std::string value;

  static constexpr std::string_view kTypeName = "Tag";
  static constexpr auto Fields() {
    using S = Tag;
    return FieldList(Field("Key", &S::key, {.required = true, .length_min = 1, .length_max = 128}),
                     Field("Value", &S::value, {.required = true, .length_min = 0, .length_max = 256}));
  }
};

// --- descriptions ---

struct ProvisionedThroughputDescription {
  std::optional<Timestamp> last_increase_date_time;
  std::optional<Timestamp> last_decrease_date_time;
  int64_t number_of_decreases_today = 0;
  int64_t read_capacity_units = 0;
  int64_t write_capacity_units = 0;

  static constexpr std::string_view kTypeName = "ProvisionedThroughputDescription";
  static constexpr auto Fields() {
    using S = ProvisionedThroughputDescription;
    return FieldList(Field("LastIncreaseDateTime", &S::last_increase_date_time),
                     Field("LastDecreaseDateTime", &S::last_decrease_date_time),
                     Field("NumberOfDecreasesToday", &S::number_of_decreases_today),
                     Field("ReadCapacityUnits", &S::read_capacity_units),
                     Field("WriteCapacityUnits", &S::write_capacity_units));
  }
};

struct TableWarmThroughputDescription {
  int64_t read_units_per_second = 0;
  int64_t write_units_per_second = 0;
  TableStatus status = TableStatus::kActive;

  static constexpr std::string_view kTypeName = "TableWarmThroughputDescription";
  static constexpr auto Fields() {
    using S = TableWarmThroughputDescription;
    return FieldList(Field("ReadUnitsPerSecond", &S::read_units_per_second),
                     Field("WriteUnitsPerSecond", &S::write_units_per_second), Field("Status", &S::status));
  }
};

struct GlobalSecondaryIndexWarmThroughputDescription {
  int64_t read_units_per_second = 0;
  int64_t write_units_per_second = 0;
  IndexStatus status = IndexStatus::kActive;

  static constexpr std::string_view kTypeName = "GlobalSecondaryIndexWarmThroughputDescription";
  static constexpr auto Fields() {
    using S = GlobalSecondaryIndexWarmThroughputDescription;
    return FieldList(Field("ReadUnitsPerSecond", &S::read_units_per_second),
                     Field("WriteUnitsPerSecond", &S::write_units_per_second), Field("Status", &S::status));
  }
};

struct BillingModeSummary {
  BillingMode billing_mode = BillingMode::kPayPerRequest;
  std::optional<Timestamp> last_update_to_pay_per_request_date_time;

  static constexpr std::string_view kTypeName = "BillingModeSummary";
  static constexpr auto Fields() {
    using S = BillingModeSummary;
    return FieldList(
        Field("BillingMode", &S::billing_mode),
        Field("LastUpdateToPayPerRequestDateTime", &S::last_update_to_pay_per_request_date_time));
  }
};

struct TableClassSummary {
  TableClass table_class = TableClass::kStandard;
  std::optional<Timestamp> last_update_date_time;

  static constexpr std::string_view kTypeName = "TableClassSummary";
  static constexpr auto Fields() {
    using S = TableClassSummary;
    return FieldList(Field("TableClass", &S::table_class),
                     Field("LastUpdateDateTime", &S::last_update_date_time));
  }
};

struct SseDescription {
  SseStatus status = SseStatus::kEnabled;
  std::optional<SseType> sse_type;
  std::optional<std::string> kms_master_key_arn;

  static constexpr std::string_view kTypeName = "SSEDescription";
  static constexpr auto Fields() {
    using S = SseDescription;
    return FieldList(Field("Status", &S::status), Field("SSEType", &S::sse_type),
                     Field("KMSMasterKeyArn", &S::kms_master_key_arn));
  }
};

struct LocalSecondaryIndexDescription {
  std::string index_name;
  std::vector<KeySchemaElement> key_schema;
  Projection projection;
  int64_t index_size_bytes = 0;
  int64_t item_count = 0;
  std::string index_arn;

  static constexpr std::string_view kTypeName = "LocalSecondaryIndexDescription";
  static constexpr auto Fields() {
    using S = LocalSecondaryIndexDescription;
    return FieldList(Field("IndexName", &S::index_name), Field("KeySchema", &S::key_schema),
                     Field("Projection", &S::projection), Field("IndexSizeBytes", &S::index_size_bytes),
                     Field("ItemCount", &S::item_count), Field("IndexArn", &S::index_arn));
  }
};

struct GlobalSecondaryIndexDescription {
  std::string index_name;
  std::vector<KeySchemaElement> key_schema;
  Projection projection;
  IndexStatus index_status = IndexStatus::kActive;
  std::optional<bool> backfilling;
  std::optional<ProvisionedThroughputDescription> provisioned_throughput;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<GlobalSecondaryIndexWarmThroughputDescription> warm_throughput;
  int64_t index_size_bytes = 0;
  int64_t item_count = 0;
  std::string index_arn;

  static constexpr std::string_view kTypeName = "GlobalSecondaryIndexDescription";
  static constexpr auto Fields() {
    using S = GlobalSecondaryIndexDescription;
    return FieldList(Field("IndexName", &S::index_name), Field("KeySchema", &S::key_schema),
                     Field("Projection", &S::projection), Field("IndexStatus", &S::index_status),
                     Field("Backfilling", &S::backfilling),
                     Field("ProvisionedThroughput", &S::provisioned_throughput),
                     Field("IndexSizeBytes", &S::index_size_bytes), Field("ItemCount", &S::item_count),
                     Field("IndexArn", &S::index_arn), Field("OnDemandThroughput", &S::on_demand_throughput),
                     Field("WarmThroughput", &S::warm_throughput));
  }
};

// A vector index as it was defined, and its state.
struct VectorIndexDescription : VectorIndex {
  IndexStatus index_status = IndexStatus::kActive;
  // Of an index added to a table that was there: false until its filling begins, then true; absent when done.
  std::optional<bool> backfilling;
  int64_t index_size_bytes = 0;
  int64_t item_count = 0;
  std::string index_arn;
  // holdfast's own: items of the table that an active index leaves out, because they have no sound vector or
  // no HASH attribute.
  std::optional<int64_t> skipped_item_count;

  static constexpr std::string_view kTypeName = "VectorIndexDescription";
  static constexpr auto Fields() {
    using S = VectorIndexDescription;
    return VectorIndex::Fields() +
           FieldList(Field("IndexStatus", &S::index_status), Field("Backfilling", &S::backfilling),
                     Field("IndexSizeBytes", &S::index_size_bytes), Field("ItemCount", &S::item_count),
                     Field("IndexArn", &S::index_arn), Field("SkippedItemCount", &S::skipped_item_count));
  }
};

// Where a restored table came from. It stays with the table.
struct RestoreSummary {
  std::optional<std::string> source_backup_arn;
  std::optional<std::string> source_table_arn;
  Timestamp restore_date_time;  // as of when its items are
  bool restore_in_progress = false;

  static constexpr std::string_view kTypeName = "RestoreSummary";
  static constexpr auto Fields() {
    using S = RestoreSummary;
    return FieldList(
        Field("SourceBackupArn", &S::source_backup_arn), Field("SourceTableArn", &S::source_table_arn),
        Field("RestoreDateTime", &S::restore_date_time), Field("RestoreInProgress", &S::restore_in_progress));
  }
};

struct TableDescription {
  std::optional<std::vector<AttributeDefinition>> attribute_definitions;
  std::string table_name;
  std::optional<std::vector<KeySchemaElement>> key_schema;
  TableStatus table_status = TableStatus::kActive;
  std::optional<Timestamp> creation_date_time;
  ProvisionedThroughputDescription provisioned_throughput;
  int64_t table_size_bytes = 0;
  int64_t item_count = 0;
  std::string table_arn;
  std::string table_id;
  std::optional<BillingModeSummary> billing_mode_summary;
  std::optional<std::vector<LocalSecondaryIndexDescription>> local_secondary_indexes;
  std::optional<std::vector<GlobalSecondaryIndexDescription>> global_secondary_indexes;
  std::optional<std::vector<VectorIndexDescription>> vector_indexes;
  std::optional<RestoreSummary> restore_summary;
  std::optional<StreamSpecification> stream_specification;
  std::optional<std::string> latest_stream_label;  // of the last stream, be it enabled or not
  std::optional<std::string> latest_stream_arn;
  std::optional<TableClassSummary> table_class_summary;
  bool deletion_protection_enabled = false;
  std::optional<SseDescription> sse_description;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<TableWarmThroughputDescription> warm_throughput;

  static constexpr std::string_view kTypeName = "TableDescription";
  static constexpr auto Fields() {
    using S = TableDescription;
    return FieldList(
        Field("AttributeDefinitions", &S::attribute_definitions), Field("TableName", &S::table_name),
        Field("KeySchema", &S::key_schema), Field("TableStatus", &S::table_status),
        Field("CreationDateTime", &S::creation_date_time),
        Field("ProvisionedThroughput", &S::provisioned_throughput),
        Field("TableSizeBytes", &S::table_size_bytes), Field("ItemCount", &S::item_count),
        Field("TableArn", &S::table_arn), Field("TableId", &S::table_id),
        Field("BillingModeSummary", &S::billing_mode_summary),
        Field("LocalSecondaryIndexes", &S::local_secondary_indexes),
        Field("GlobalSecondaryIndexes", &S::global_secondary_indexes),
        Field("VectorIndexes", &S::vector_indexes), Field("StreamSpecification", &S::stream_specification),
        Field("LatestStreamLabel", &S::latest_stream_label), Field("LatestStreamArn", &S::latest_stream_arn),
        Field("TableClassSummary", &S::table_class_summary), Field("RestoreSummary", &S::restore_summary),
        Field("DeletionProtectionEnabled", &S::deletion_protection_enabled),
        Field("SSEDescription", &S::sse_description), Field("OnDemandThroughput", &S::on_demand_throughput),
        Field("WarmThroughput", &S::warm_throughput));
  }
};

}  // namespace holdfast
