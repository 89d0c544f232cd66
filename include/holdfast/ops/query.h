// Query: the items of one partition of a table or index, in order of the sort key, a page at a time.
//
//   holdfast::QueryRequest request{.table_name = "Music",
//                                  .key_condition_expression = "Artist = :a AND begins_with(Song, :s)",
//                                  .expression_attribute_values = {{{":a", "Acme Band"}, {":s", "H"}}}};
//   do {
//     auto page = db->Query(request);
//     if (!page) return page.error();
//     for (const holdfast::Item& item : *page->items) Use(item);
//     request.exclusive_start_key = page->last_evaluated_key;
//   } while (request.exclusive_start_key);
//
// A page is read from one state; the next page may see later writes. A page may be empty and yet have a next
// one, when the filter dropped all it looked at.
#pragma once

#include "holdfast/ops/common.h"
#include "holdfast/ops/legacy.h"

namespace holdfast {

struct QueryRequest {
  std::string table_name;
  std::optional<std::string> index_name;
  std::optional<std::string> key_condition_expression;
  std::optional<std::string> filter_expression;
  std::optional<std::string> projection_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  std::optional<ExpressionValues> expression_attribute_values;
  // Items to look at, before the filter. A page also ends at 1 MB.
  std::optional<int64_t> limit;
  // The last_evaluated_key of the page before.
  std::optional<Item> exclusive_start_key;
  // False: from the highest sort key down.
  std::optional<bool> scan_index_forward;
  // Every read of this database is consistent; the flag decides what the read costs.
  std::optional<bool> consistent_read;
  std::optional<Select> select;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  // From before expressions; not to be mixed with them.
  std::optional<LegacyConditions> key_conditions;
  std::optional<LegacyConditions> query_filter;
  std::optional<ConditionalOperator> conditional_operator;
  std::optional<AttributesToGet> attributes_to_get;

  static constexpr std::string_view kTypeName = "QueryInput";
  static constexpr auto Fields() {
    using S = QueryRequest;
    return FieldList(Field("TableName", &S::table_name, kItemTableRules),
                     Field("IndexName", &S::index_name, kIndexNameRules), Field("Select", &S::select),
                     Field("Limit", &S::limit, {.value_min = 1, .terse = true}),
                     Field("ConsistentRead", &S::consistent_read),
                     Field("ScanIndexForward", &S::scan_index_forward),
                     Field("ExclusiveStartKey", &S::exclusive_start_key),
                     Field("ReturnConsumedCapacity", &S::return_consumed_capacity),
                     Field("ProjectionExpression", &S::projection_expression),
                     Field("FilterExpression", &S::filter_expression),
                     Field("KeyConditionExpression", &S::key_condition_expression),
                     Field("ExpressionAttributeNames", &S::expression_attribute_names),
                     Field("ExpressionAttributeValues", &S::expression_attribute_values),
                     Field("KeyConditions", &S::key_conditions), Field("QueryFilter", &S::query_filter),
                     Field("AttributesToGet", &S::attributes_to_get, {.length_min = 1}),
                     Field("ConditionalOperator", &S::conditional_operator));
  }
};

struct QueryResponse {
  std::optional<std::vector<Item>> items;  // absent when only a count was asked for
  int64_t count = 0;                       // items that passed the filter
  int64_t scanned_count = 0;               // items looked at
  std::optional<Item> last_evaluated_key;  // where the next page starts; absent at the end
  std::optional<ConsumedCapacity> consumed_capacity;

  static constexpr std::string_view kTypeName = "QueryOutput";
  static constexpr auto Fields() {
    using S = QueryResponse;
    return FieldList(
        Field("Items", &S::items), Field("Count", &S::count), Field("ScannedCount", &S::scanned_count),
        Field("LastEvaluatedKey", &S::last_evaluated_key), Field("ConsumedCapacity", &S::consumed_capacity));
  }
};

}  // namespace holdfast
