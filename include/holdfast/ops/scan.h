// Scan: all items of a table or index, a page at a time, in the order of their partitions' hashes. Segments
// let several readers share the work: each of the total_segments readers asks for its own segment, from 0,
// and pages through it as with Query (holdfast/ops/query.h).
#pragma once

#include "holdfast/ops/common.h"
#include "holdfast/ops/legacy.h"

namespace holdfast {

struct ScanRequest {
  std::string table_name;
  std::optional<std::string> index_name;
  std::optional<std::string> filter_expression;
  std::optional<std::string> projection_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  std::optional<ExpressionValues> expression_attribute_values;
  // Items to look at, before the filter. A page also ends at 1 MB.
  std::optional<int64_t> limit;
  std::optional<int64_t> segment;
  std::optional<int64_t> total_segments;
  std::optional<Item> exclusive_start_key;
  std::optional<bool> consistent_read;
  std::optional<Select> select;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  // From before expressions; not to be mixed with them.
  std::optional<LegacyConditions> scan_filter;
  std::optional<ConditionalOperator> conditional_operator;
  std::optional<AttributesToGet> attributes_to_get;

  static constexpr std::string_view kTypeName = "ScanInput";
  static constexpr auto Fields() {
    using S = ScanRequest;
    return FieldList(Field("TableName", &S::table_name, kItemTableRules),
                     Field("IndexName", &S::index_name, kIndexNameRules), Field("Select", &S::select),
                     Field("Limit", &S::limit, {.value_min = 1}),
                     Field("ConsistentRead", &S::consistent_read),
                     Field("ExclusiveStartKey", &S::exclusive_start_key),
                     Field("Segment", &S::segment, {.value_min = 0, .value_max = 999999}),
                     Field("TotalSegments", &S::total_segments, {.value_min = 1, .value_max = 1000000}),
                     Field("ReturnConsumedCapacity", &S::return_consumed_capacity),
                     Field("ProjectionExpression", &S::projection_expression),
                     Field("FilterExpression", &S::filter_expression),
                     Field("ExpressionAttributeNames", &S::expression_attribute_names),
                     Field("ExpressionAttributeValues", &S::expression_attribute_values),
                     Field("ScanFilter", &S::scan_filter),
                     Field("AttributesToGet", &S::attributes_to_get, {.length_min = 1}),
                     Field("ConditionalOperator", &S::conditional_operator));
  }
};

struct ScanResponse {
  std::optional<std::vector<Item>> items;  // absent when only a count was asked for
  int64_t count = 0;                       // items that passed the filter
  int64_t scanned_count = 0;               // items looked at
  std::optional<Item> last_evaluated_key;  // where the next page starts; absent at the end
  std::optional<ConsumedCapacity> consumed_capacity;

  static constexpr std::string_view kTypeName = "ScanOutput";
  static constexpr auto Fields() {
    using S = ScanResponse;
    return FieldList(
        Field("Items", &S::items), Field("Count", &S::count), Field("ScannedCount", &S::scanned_count),
        Field("LastEvaluatedKey", &S::last_evaluated_key), Field("ConsumedCapacity", &S::consumed_capacity));
  }
};

}  // namespace holdfast
