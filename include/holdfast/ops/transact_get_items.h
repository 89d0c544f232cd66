// TransactGetItems: up to 100 items by key, all as of one moment.
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

struct TransactGet {
  std::string table_name;
  Item key;
  std::optional<std::string> projection_expression;
  std::optional<ExpressionNames> expression_attribute_names;

  static constexpr std::string_view kTypeName = "Get";
  static constexpr auto Fields() {
    using S = TransactGet;
    return FieldList(Field("TableName", &S::table_name, kItemTableRules),
                     Field("Key", &S::key, {.required = true}),
                     Field("ProjectionExpression", &S::projection_expression),
                     Field("ExpressionAttributeNames", &S::expression_attribute_names));
  }
};

struct TransactGetItem {
  TransactGet get;

  static constexpr std::string_view kTypeName = "TransactGetItem";
  static constexpr auto Fields() {
    return FieldList(Field("Get", &TransactGetItem::get, {.required = true}));
  }
};

struct TransactGetItemsRequest {
  std::vector<TransactGetItem> transact_items;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;

  static constexpr std::string_view kTypeName = "TransactGetItemsInput";
  static constexpr auto Fields() {
    using S = TransactGetItemsRequest;
    return FieldList(
        Field("TransactItems", &S::transact_items, {.required = true, .length_min = 1, .length_max = 100}),
        Field("ReturnConsumedCapacity", &S::return_consumed_capacity));
  }
};

struct ItemResponse {
  std::optional<Item> item;

  static constexpr std::string_view kTypeName = "ItemResponse";
  static constexpr auto Fields() { return FieldList(Field("Item", &ItemResponse::item)); }
};

struct TransactGetItemsResponse {
  std::vector<ItemResponse> responses;  // one per action, in order
  std::optional<std::vector<ConsumedCapacity>> consumed_capacity;

  static constexpr std::string_view kTypeName = "TransactGetItemsOutput";
  static constexpr auto Fields() {
    using S = TransactGetItemsResponse;
    return FieldList(Field("Responses", &S::responses), Field("ConsumedCapacity", &S::consumed_capacity));
  }
};

}  // namespace holdfast
