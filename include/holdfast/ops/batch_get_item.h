// BatchGetItem: up to 100 items by key, from any tables. Keys without an item are left out of the answer,
// which is in no particular order.
//
//   auto got = db->BatchGetItem({.request_items = {{"Music", {.keys = {first, second}}}}});
//   if (got) for (const holdfast::Item& item : got->responses["Music"]) Use(item);
#pragma once

#include "holdfast/ops/common.h"
#include "holdfast/ops/legacy.h"

namespace holdfast {

struct KeysAndAttributes {
  std::vector<Item> keys;
  std::optional<bool> consistent_read;
  std::optional<std::string> projection_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  // From before expressions; not to be mixed with them.
  std::optional<AttributesToGet> attributes_to_get;

  static constexpr std::string_view kTypeName = "KeysAndAttributes";
  static constexpr auto Fields() {
    using S = KeysAndAttributes;
    return FieldList(
        Field("Keys", &S::keys, {.required = true, .length_min = 1, .length_max = 100, .terse = true}),
        Field("ConsistentRead", &S::consistent_read),
        Field("ProjectionExpression", &S::projection_expression),
        Field("ExpressionAttributeNames", &S::expression_attribute_names),
        Field("AttributesToGet", &S::attributes_to_get, {.length_min = 1}));
  }
};

struct BatchGetItemRequest {
  std::map<std::string, KeysAndAttributes> request_items;  // by table
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;

  static constexpr std::string_view kTypeName = "BatchGetItemInput";
  static constexpr auto Fields() {
    using S = BatchGetItemRequest;
    return FieldList(Field("RequestItems", &S::request_items,
                           {.required = true, .length_min = 1, .length_max = 100, .terse = true}),
                     Field("ReturnConsumedCapacity", &S::return_consumed_capacity));
  }
};

struct BatchGetItemResponse {
  std::map<std::string, std::vector<Item>> responses;
  std::map<std::string, KeysAndAttributes> unprocessed_keys;  // beyond 16 MB, or the read capacity
  std::optional<std::vector<ConsumedCapacity>> consumed_capacity;

  static constexpr std::string_view kTypeName = "BatchGetItemOutput";
  static constexpr auto Fields() {
    using S = BatchGetItemResponse;
    return FieldList(Field("Responses", &S::responses), Field("UnprocessedKeys", &S::unprocessed_keys),
                     Field("ConsumedCapacity", &S::consumed_capacity));
  }
};

}  // namespace holdfast
