// DeleteItem: remove one item by its key. Removing what is not there succeeds.
#pragma once

#include "holdfast/ops/common.h"
#include "holdfast/ops/legacy.h"

namespace holdfast {

struct DeleteItemRequest {
  std::string table_name;
  Item key;  // the key attributes and no others
  std::optional<std::string> condition_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  std::optional<ExpressionValues> expression_attribute_values;
  // kNone or kAllOld.
  std::optional<ReturnValue> return_values;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<ReturnItemCollectionMetrics> return_item_collection_metrics;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;
  // From before expressions; not to be mixed with them.
  std::optional<ExpectedAttributes> expected;
  std::optional<ConditionalOperator> conditional_operator;

  static constexpr std::string_view kTypeName = "DeleteItemInput";
  static constexpr auto Fields() {
    using S = DeleteItemRequest;
    return FieldList(
        Field("TableName", &S::table_name, kItemTableRules), Field("Key", &S::key, {.required = true}),
        Field("ReturnValues", &S::return_values),
        Field("ReturnConsumedCapacity", &S::return_consumed_capacity),
        Field("ReturnItemCollectionMetrics", &S::return_item_collection_metrics),
        Field("ReturnValuesOnConditionCheckFailure", &S::return_values_on_condition_check_failure),
        Field("ConditionExpression", &S::condition_expression),
        Field("ExpressionAttributeNames", &S::expression_attribute_names),
        Field("ExpressionAttributeValues", &S::expression_attribute_values), Field("Expected", &S::expected),
        Field("ConditionalOperator", &S::conditional_operator));
  }
};

struct DeleteItemResponse {
  std::optional<Item> attributes;  // what was removed, if return_values asked for it
  std::optional<ConsumedCapacity> consumed_capacity;
  std::optional<ItemCollectionMetrics> item_collection_metrics;

  static constexpr std::string_view kTypeName = "DeleteItemOutput";
  static constexpr auto Fields() {
    using S = DeleteItemResponse;
    return FieldList(Field("Attributes", &S::attributes), Field("ConsumedCapacity", &S::consumed_capacity),
                     Field("ItemCollectionMetrics", &S::item_collection_metrics));
  }
};

}  // namespace holdfast
