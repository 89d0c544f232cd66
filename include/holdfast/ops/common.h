// What several operations share: capacity figures, return options, and what errors carry.
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

enum class ReturnConsumedCapacity : unsigned char { kNone, kTotal, kIndexes };
template <>
struct EnumNames<ReturnConsumedCapacity> {
  static constexpr std::pair<ReturnConsumedCapacity, std::string_view> kAll[] = {
      {ReturnConsumedCapacity::kIndexes, "INDEXES"},
      {ReturnConsumedCapacity::kTotal, "TOTAL"},
      {ReturnConsumedCapacity::kNone, "NONE"}};
};

enum class ReturnItemCollectionMetrics : unsigned char { kNone, kSize };
template <>
struct EnumNames<ReturnItemCollectionMetrics> {
  static constexpr std::pair<ReturnItemCollectionMetrics, std::string_view> kAll[] = {
      {ReturnItemCollectionMetrics::kSize, "SIZE"}, {ReturnItemCollectionMetrics::kNone, "NONE"}};
};

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

enum class ReturnValuesOnConditionCheckFailure : unsigned char { kNone, kAllOld };
template <>
struct EnumNames<ReturnValuesOnConditionCheckFailure> {
  static constexpr std::pair<ReturnValuesOnConditionCheckFailure, std::string_view> kAll[] = {
      {ReturnValuesOnConditionCheckFailure::kAllOld, "ALL_OLD"},
      {ReturnValuesOnConditionCheckFailure::kNone, "NONE"}};
};

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
using ExpressionNames = std::map<std::string, std::string>;

struct Capacity {
  std::optional<double> capacity_units;
  std::optional<double> read_capacity_units;
  std::optional<double> write_capacity_units;

  static constexpr std::string_view kTypeName = "Capacity";
  static constexpr auto Fields() {
    return std::tuple(Field("ReadCapacityUnits", &Capacity::read_capacity_units),
                      Field("WriteCapacityUnits", &Capacity::write_capacity_units),
                      Field("CapacityUnits", &Capacity::capacity_units));
  }
};

struct ConsumedCapacity {
  std::string table_name;
  double capacity_units = 0;
  // Transactions split their total into what they read and what they wrote.
  std::optional<double> read_capacity_units;
  std::optional<double> write_capacity_units;
  std::optional<Capacity> table;
  std::optional<std::map<std::string, Capacity>> local_secondary_indexes;
  std::optional<std::map<std::string, Capacity>> global_secondary_indexes;

  static constexpr std::string_view kTypeName = "ConsumedCapacity";
  static constexpr auto Fields() {
    using S = ConsumedCapacity;
    return std::tuple(Field("TableName", &S::table_name), Field("CapacityUnits", &S::capacity_units),
                      Field("ReadCapacityUnits", &S::read_capacity_units),
                      Field("WriteCapacityUnits", &S::write_capacity_units), Field("Table", &S::table),
                      Field("LocalSecondaryIndexes", &S::local_secondary_indexes),
                      Field("GlobalSecondaryIndexes", &S::global_secondary_indexes));
  }
};

// How large the items of one partition are together; only for tables with local secondary indexes.
struct ItemCollectionMetrics {
  Item item_collection_key;
  std::vector<double> size_estimate_range_gb;  // lower and upper bound

  static constexpr std::string_view kTypeName = "ItemCollectionMetrics";
  static constexpr auto Fields() {
    using S = ItemCollectionMetrics;
    return std::tuple(Field("ItemCollectionKey", &S::item_collection_key),
                      Field("SizeEstimateRangeGB", &S::size_estimate_range_gb));
  }
};

// Why one action of a cancelled transaction was not carried out; "None" when it was not to blame.
struct CancellationReason {
  std::string code = "None";
  std::optional<std::string> message;
  std::optional<Item> item;

  static constexpr std::string_view kTypeName = "CancellationReason";
  static constexpr auto Fields() {
    using S = CancellationReason;
    return std::tuple(Field("Code", &S::code), Field("Message", &S::message), Field("Item", &S::item));
  }
};

struct ErrorDetail {
  std::optional<Item> item;                 // ConditionalCheckFailedException, when asked for
  std::vector<CancellationReason> reasons;  // TransactionCanceledException, one per action
};

}  // namespace holdfast
