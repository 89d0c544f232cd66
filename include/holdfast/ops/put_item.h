// PutItem: create an item, or replace the one with the same key.
//
//   auto put = db->PutItem({.table_name = "Users",
//                           .item = {{"Email", "a@b.c"}, {"Name", "Ann"}},
//                           .condition_expression = "attribute_not_exists(Email)"});
//
// kConditionalCheckFailed: the condition did not hold, and nothing was changed.
#pragma once

#include "holdfast/ops/common.h"
#include "holdfast/ops/legacy.h"

namespace holdfast {

struct PutItemRequest {
  std::string table_name;
  Item item;  // with all key attributes
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

  static constexpr std::string_view kTypeName = "PutItemInput";
  static constexpr auto Fields() {
    using S = PutItemRequest;
    return FieldList(
        Field("TableName", &S::table_name, kItemTableRules), Field("Item", &S::item, {.required = true}),
        Field("ReturnConsumedCapacity", &S::return_consumed_capacity),
        Field("ReturnItemCollectionMetrics", &S::return_item_collection_metrics),
        Field("ReturnValues", &S::return_values),
        Field("ReturnValuesOnConditionCheckFailure", &S::return_values_on_condition_check_failure),
        Field("ConditionExpression", &S::condition_expression),
        Field("ExpressionAttributeNames", &S::expression_attribute_names),
        Field("ExpressionAttributeValues", &S::expression_attribute_values), Field("Expected", &S::expected),
        Field("ConditionalOperator", &S::conditional_operator));
  }
};

struct PutItemResponse {
  std::optional<Item> attributes;
  std::optional<ConsumedCapacity> consumed_capacity;
  std::optional<ItemCollectionMetrics> item_collection_metrics;

  static constexpr std::string_view kTypeName = "PutItemOutput";
  static constexpr auto Fields() {
    using S = PutItemResponse;
    return FieldList(Field("Attributes", &S::attributes), Field("ConsumedCapacity", &S::consumed_capacity),
                     Field("ItemCollectionMetrics", &S::item_collection_metrics));
  }
};

}  // namespace holdfast
