// TransactWriteItems: up to 100 actions on 100 items of any tables, all or none.
//
//   auto moved = db->TransactWriteItems(
//       {.transact_items = {{.put = {{.table_name = "Paid", .item = order}}},
//                           {.delete_action = {{.table_name = "Open",
//                                               .key = key,
//                                               .condition_expression = "attribute_exists(Id)"}}}},
//        .client_request_token = token});
//   if (!moved && moved.error().code() == holdfast::ErrorCode::kTransactionCanceled)
//     Use(moved.error().detail()->reasons);  // one per action, in their order
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

struct TransactConditionCheck {
  std::string table_name;
  Item key;
  std::string condition_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  std::optional<ExpressionValues> expression_attribute_values;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;
  // A rule of a model rather than the wish of who calls it: where it looks at what they may not check, it is
  // left out rather than refused. Never sent.
  bool of_model = false;

  static constexpr std::string_view kTypeName = "ConditionCheck";
  static constexpr auto Fields() {
    using S = TransactConditionCheck;
    return FieldList(
        Field("TableName", &S::table_name, kItemTableRules), Field("Key", &S::key, {.required = true}),
        Field("ConditionExpression", &S::condition_expression, {.required = true}),
        Field("ExpressionAttributeNames", &S::expression_attribute_names),
        Field("ExpressionAttributeValues", &S::expression_attribute_values),
        Field("ReturnValuesOnConditionCheckFailure", &S::return_values_on_condition_check_failure));
  }
};

struct TransactPut {
  std::string table_name;
  Item item;
  std::optional<std::string> condition_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  std::optional<ExpressionValues> expression_attribute_values;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;

  static constexpr std::string_view kTypeName = "Put";
  static constexpr auto Fields() {
    using S = TransactPut;
    return FieldList(
        Field("TableName", &S::table_name, kItemTableRules), Field("Item", &S::item, {.required = true}),
        Field("ConditionExpression", &S::condition_expression),
        Field("ExpressionAttributeNames", &S::expression_attribute_names),
        Field("ExpressionAttributeValues", &S::expression_attribute_values),
        Field("ReturnValuesOnConditionCheckFailure", &S::return_values_on_condition_check_failure));
  }
};

struct TransactDelete {
  std::string table_name;
  Item key;
  std::optional<std::string> condition_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  std::optional<ExpressionValues> expression_attribute_values;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;

  static constexpr std::string_view kTypeName = "Delete";
  static constexpr auto Fields() {
    using S = TransactDelete;
    return FieldList(
        Field("TableName", &S::table_name, kItemTableRules), Field("Key", &S::key, {.required = true}),
        Field("ConditionExpression", &S::condition_expression),
        Field("ExpressionAttributeNames", &S::expression_attribute_names),
        Field("ExpressionAttributeValues", &S::expression_attribute_values),
        Field("ReturnValuesOnConditionCheckFailure", &S::return_values_on_condition_check_failure));
  }
};

struct TransactUpdate {
  std::string table_name;
  Item key;
  std::string update_expression;
  std::optional<std::string> condition_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  std::optional<ExpressionValues> expression_attribute_values;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;

  static constexpr std::string_view kTypeName = "Update";
  static constexpr auto Fields() {
    using S = TransactUpdate;
    return FieldList(
        Field("TableName", &S::table_name, kItemTableRules), Field("Key", &S::key, {.required = true}),
        Field("UpdateExpression", &S::update_expression, {.required = true}),
        Field("ConditionExpression", &S::condition_expression),
        Field("ExpressionAttributeNames", &S::expression_attribute_names),
        Field("ExpressionAttributeValues", &S::expression_attribute_values),
        Field("ReturnValuesOnConditionCheckFailure", &S::return_values_on_condition_check_failure));
  }
};

// Exactly one of the four.
struct TransactWriteItem {
  std::optional<TransactConditionCheck> condition_check;
  std::optional<TransactPut> put;
  std::optional<TransactDelete> delete_action;
  std::optional<TransactUpdate> update;

  static constexpr std::string_view kTypeName = "TransactWriteItem";
  static constexpr auto Fields() {
    using S = TransactWriteItem;
    return FieldList(Field("ConditionCheck", &S::condition_check), Field("Put", &S::put),
                     Field("Delete", &S::delete_action), Field("Update", &S::update));
  }
};

struct TransactWriteItemsRequest {
  std::vector<TransactWriteItem> transact_items;
  // The same token within ten minutes: the transaction is carried out once.
  std::optional<std::string> client_request_token;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<ReturnItemCollectionMetrics> return_item_collection_metrics;

  static constexpr std::string_view kTypeName = "TransactWriteItemsInput";
  static constexpr auto Fields() {
    using S = TransactWriteItemsRequest;
    return FieldList(
        Field("TransactItems", &S::transact_items, {.required = true, .length_min = 1, .length_max = 100}),
        Field("ReturnConsumedCapacity", &S::return_consumed_capacity),
        Field("ReturnItemCollectionMetrics", &S::return_item_collection_metrics),
        Field("ClientRequestToken", &S::client_request_token, {.length_min = 1, .length_max = 36}));
  }
};

struct TransactWriteItemsResponse {
  std::optional<std::vector<ConsumedCapacity>> consumed_capacity;
  std::optional<std::map<std::string, std::vector<ItemCollectionMetrics>>> item_collection_metrics;

  static constexpr std::string_view kTypeName = "TransactWriteItemsOutput";
  static constexpr auto Fields() {
    using S = TransactWriteItemsResponse;
    return FieldList(Field("ConsumedCapacity", &S::consumed_capacity),
                     Field("ItemCollectionMetrics", &S::item_collection_metrics));
  }
};

}  // namespace holdfast
