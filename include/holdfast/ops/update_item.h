// UpdateItem: change attributes of an item, creating it when it is not there.
//
//   auto counted = db->UpdateItem({.table_name = "Counters",
//                                  .key = {{"Name", "visits"}},
//                                  .update_expression = "ADD Hits :one",
//                                  .expression_attribute_values = {{{":one", 1}}},
//                                  .return_values = holdfast::ReturnValue::kUpdatedNew});
//   if (counted) Use(counted->attributes->Get("Hits")->AsInt64());
//
// Concurrent updates of one item happen one after the other; none is lost.
#pragma once

#include "holdfast/ops/common.h"
#include "holdfast/ops/legacy.h"

namespace holdfast {

struct UpdateItemRequest {
  std::string table_name;
  Item key;  // the key attributes and no others
  std::optional<std::string> update_expression;
  std::optional<std::string> condition_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  std::optional<ExpressionValues> expression_attribute_values;
  std::optional<ReturnValue> return_values;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<ReturnItemCollectionMetrics> return_item_collection_metrics;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;
  // From before expressions; not to be mixed with them.
  std::optional<AttributeUpdates> attribute_updates;
  std::optional<ExpectedAttributes> expected;
  std::optional<ConditionalOperator> conditional_operator;

  static constexpr std::string_view kTypeName = "UpdateItemInput";
  static constexpr auto Fields() {
    using S = UpdateItemRequest;
    return FieldList(
        Field("TableName", &S::table_name, kItemTableRules), Field("Key", &S::key, {.required = true}),
        Field("ReturnValues", &S::return_values),
        Field("ReturnConsumedCapacity", &S::return_consumed_capacity),
        Field("ReturnItemCollectionMetrics", &S::return_item_collection_metrics),
        Field("ReturnValuesOnConditionCheckFailure", &S::return_values_on_condition_check_failure),
        Field("UpdateExpression", &S::update_expression),
        Field("ConditionExpression", &S::condition_expression),
        Field("ExpressionAttributeNames", &S::expression_attribute_names),
        Field("ExpressionAttributeValues", &S::expression_attribute_values),
        Field("AttributeUpdates", &S::attribute_updates), Field("Expected", &S::expected),
        Field("ConditionalOperator", &S::conditional_operator));
  }
};

struct UpdateItemResponse {
  std::optional<Item> attributes;  // what return_values asked for
  std::optional<ConsumedCapacity> consumed_capacity;
  std::optional<ItemCollectionMetrics> item_collection_metrics;

  static constexpr std::string_view kTypeName = "UpdateItemOutput";
  static constexpr auto Fields() {
    using S = UpdateItemResponse;
    return FieldList(Field("Attributes", &S::attributes), Field("ConsumedCapacity", &S::consumed_capacity),
                     Field("ItemCollectionMetrics", &S::item_collection_metrics));
  }
};

}  // namespace holdfast
