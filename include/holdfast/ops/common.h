// What several operations share: expressions, return options, capacity figures, and what errors carry.
//
// The requests in this folder are plain structs with the members of the DynamoDB request of the same name, in
// snake_case. What the API makes optional is a std::optional here: leave it out and the API's default holds.
// Designated initializers read best:
//
//   auto done = db->UpdateItem({.table_name = "Jobs",
//                               .key = {{"Id", "7"}},
//                               .update_expression = "SET #s = :s",
//                               .condition_expression = "attribute_exists(Id)",
//                               .expression_attribute_names = {{{"#s", "Status"}}},
//                               .expression_attribute_values = {{{":s", "done"}}}});
//
// (With -Wextra, GCC 12 warns about the members left out; -Wno-missing-field-initializers silences it.)
//
// kTypeName and Fields() describe a struct to the library itself; a caller does not need them. A struct owns
// all it holds. Thread safety: as for any struct; operations only read the request they are given.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/fields.h"
#include "holdfast/value.h"

namespace holdfast {

inline constexpr std::string_view kNamePattern = "[a-zA-Z0-9_.-]+";
inline constexpr Rules kItemTableRules{.required = true, .table_name = TableNameRule::kOfItems};
inline constexpr Rules kTableRules{.required = true, .table_name = TableNameRule::kOfTable};
inline constexpr Rules kArnRules{.required = true, .length_max = 1283, .table_name = TableNameRule::kArn};
inline constexpr Rules kIndexNameRules{.length_min = 3, .length_max = 255, .pattern = kNamePattern};

// Whether the answer tells what the operation would cost on AWS: in total, or also by table and index.
enum class ReturnConsumedCapacity : unsigned char { kNone, kTotal, kIndexes };
template <>
struct EnumNames<ReturnConsumedCapacity> {
  static constexpr std::pair<ReturnConsumedCapacity, std::string_view> kAll[] = {
      {ReturnConsumedCapacity::kIndexes, "INDEXES"},
      {ReturnConsumedCapacity::kTotal, "TOTAL"},
      {ReturnConsumedCapacity::kNone, "NONE"}};
};

// Whether a write answers how large the item's partition is; only for tables with local secondary indexes.
enum class ReturnItemCollectionMetrics : unsigned char { kNone, kSize };
template <>
struct EnumNames<ReturnItemCollectionMetrics> {
  static constexpr std::pair<ReturnItemCollectionMetrics, std::string_view> kAll[] = {
      {ReturnItemCollectionMetrics::kSize, "SIZE"}, {ReturnItemCollectionMetrics::kNone, "NONE"}};
};

// What a write answers of the item: nothing, all of it, or only what an update touched, before or after.
enum class ReturnValue : unsigned char { kNone, kAllOld, kUpdatedOld, kAllNew, kUpdatedNew };
template <>
struct EnumNames<ReturnValue> {
  static constexpr std::pair<ReturnValue, std::string_view> kAll[] = {
      {ReturnValue::kAllNew, "ALL_NEW"},
      {ReturnValue::kUpdatedOld, "UPDATED_OLD"},
      {ReturnValue::kAllOld, "ALL_OLD"},
      {ReturnValue::kNone, "NONE"},
      {ReturnValue::kUpdatedNew, "UPDATED_NEW"}};
};

// Whether a failed condition brings along the item it failed on, in ErrorDetail or CancellationReason.
enum class ReturnValuesOnConditionCheckFailure : unsigned char { kNone, kAllOld };
template <>
struct EnumNames<ReturnValuesOnConditionCheckFailure> {
  static constexpr std::pair<ReturnValuesOnConditionCheckFailure, std::string_view> kAll[] = {
      {ReturnValuesOnConditionCheckFailure::kAllOld, "ALL_OLD"},
      {ReturnValuesOnConditionCheckFailure::kNone, "NONE"}};
};

// What Query and Scan return of each item. The default is all that the table or the index holds of it.
enum class Select : unsigned char { kAllAttributes, kAllProjectedAttributes, kSpecificAttributes, kCount };
template <>
struct EnumNames<Select> {
  static constexpr std::pair<Select, std::string_view> kAll[] = {
      {Select::kSpecificAttributes, "SPECIFIC_ATTRIBUTES"},
      {Select::kCount, "COUNT"},
      {Select::kAllAttributes, "ALL_ATTRIBUTES"},
      {Select::kAllProjectedAttributes, "ALL_PROJECTED_ATTRIBUTES"}};
};

// The values that expressions refer to as :name. An Item of its own kind, because a bad one is reported with
// the name it stands under.
class ExpressionValues : public Item {
 public:
  using Item::Item;
  ExpressionValues() = default;
  ExpressionValues(Item item) : Item(std::move(item)) {}  // NOLINT
};
// The attribute names that expressions refer to as #name, for reserved words and names with dots.
using ExpressionNames = std::map<std::string, std::string>;

// What was consumed by one table or index, in capacity units as AWS counts them.
struct Capacity {
  std::optional<double> capacity_units;
  std::optional<double> read_capacity_units;
  std::optional<double> write_capacity_units;

  static constexpr std::string_view kTypeName = "Capacity";
  static constexpr auto Fields() {
    return FieldList(Field("ReadCapacityUnits", &Capacity::read_capacity_units),
                     Field("WriteCapacityUnits", &Capacity::write_capacity_units),
                     Field("CapacityUnits", &Capacity::capacity_units));
  }
};

// What was consumed by one vector index, in bytes as AWS counts them.
struct VectorCapacity {
  std::optional<double> vector_search_request_bytes;
  std::optional<double> vector_write_request_bytes;

  static constexpr std::string_view kTypeName = "VectorCapacity";
  static constexpr auto Fields() {
    using S = VectorCapacity;
    return FieldList(Field("VectorSearchRequestBytes", &S::vector_search_request_bytes),
                     Field("VectorWriteRequestBytes", &S::vector_write_request_bytes));
  }
};

// What an operation consumed of one table.
struct ConsumedCapacity {
  std::string table_name;
  double capacity_units = 0;
  // Transactions split their total into what they read and what they wrote.
  std::optional<double> read_capacity_units;
  std::optional<double> write_capacity_units;
  std::optional<Capacity> table;
  std::optional<std::map<std::string, Capacity>> local_secondary_indexes;
  std::optional<std::map<std::string, Capacity>> global_secondary_indexes;
  std::optional<std::map<std::string, VectorCapacity>> vector_indexes;  // no part of capacity_units

  static constexpr std::string_view kTypeName = "ConsumedCapacity";
  static constexpr auto Fields() {
    using S = ConsumedCapacity;
    return FieldList(Field("TableName", &S::table_name), Field("CapacityUnits", &S::capacity_units),
                     Field("ReadCapacityUnits", &S::read_capacity_units),
                     Field("WriteCapacityUnits", &S::write_capacity_units), Field("Table", &S::table),
                     Field("LocalSecondaryIndexes", &S::local_secondary_indexes),
                     Field("GlobalSecondaryIndexes", &S::global_secondary_indexes),
                     Field("VectorIndexes", &S::vector_indexes));
  }
};

// How large the items of one partition are together; only for tables with local secondary indexes.
struct ItemCollectionMetrics {
  Item item_collection_key;
  std::vector<double> size_estimate_range_gb;  // lower and upper bound

  static constexpr std::string_view kTypeName = "ItemCollectionMetrics";
  static constexpr auto Fields() {
    using S = ItemCollectionMetrics;
    return FieldList(Field("ItemCollectionKey", &S::item_collection_key),
                     Field("SizeEstimateRangeGB", &S::size_estimate_range_gb));
  }
};

// Why one action of a cancelled transaction was not carried out: "ConditionalCheckFailed",
// "TransactionConflict", "ValidationError" and so on, or "None" when it was not to blame.
struct CancellationReason {
  std::string code = "None";
  std::optional<std::string> message;
  std::optional<Item> item;  // when the action asked for it

  static constexpr std::string_view kTypeName = "CancellationReason";
  static constexpr auto Fields() {
    using S = CancellationReason;
    return FieldList(Field("Code", &S::code), Field("Message", &S::message), Field("Item", &S::item));
  }
};

// What was out of capacity: "TableWriteProvisionedThroughputExceeded" and the like, and its ARN.
struct ThrottlingReason {
  std::string reason;
  std::string resource;

  static constexpr std::string_view kTypeName = "ThrottlingReason";
  static constexpr auto Fields() {
    using S = ThrottlingReason;
    return FieldList(Field("reason", &S::reason), Field("resource", &S::resource));
  }
};

// Why a model refused: one of the names in docs/models.md, the HTTP status that goes with it, and what a
// program needs to know beyond the message.
struct Refusal {
  std::string name;  // "IllegalTransition"
  int http_status = 500;
  AttributeMap details;
};

// What Error::detail() points to. Lives as long as a copy of the error does.
struct ErrorDetail {
  std::optional<Item> item;                          // ConditionalCheckFailedException, when asked for
  std::vector<CancellationReason> reasons;           // TransactionCanceledException, one per action
  std::vector<ThrottlingReason> throttling_reasons;  // of what a table or index has no capacity for
  Refusal refusal;                                   // kRefused
};

}  // namespace holdfast
