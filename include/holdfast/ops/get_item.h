// GetItem: one item by its key.
//
//   auto got = db->GetItem({.table_name = "Users", .key = {{"Email", "a@b.c"}}});
//   if (got && got->item) Use(*got->item);
#pragma once

#include "holdfast/ops/common.h"
#include "holdfast/ops/legacy.h"

namespace holdfast {

struct GetItemRequest {
  std::string table_name;
  Item key;  // the key attributes and no others
  // Every read of this database is consistent; the flag decides what the read costs.
  std::optional<bool> consistent_read;
  std::optional<std::string> projection_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  // From before expressions; not to be mixed with them.
  std::optional<AttributesToGet> attributes_to_get;

  static constexpr std::string_view kTypeName = "GetItemInput";
  static constexpr auto Fields() {
    using S = GetItemRequest;
    return FieldList(Field("TableName", &S::table_name, kItemTableRules),
                     Field("Key", &S::key, {.required = true}),
                     Field("ReturnConsumedCapacity", &S::return_consumed_capacity),
                     Field("ConsistentRead", &S::consistent_read),
                     Field("ProjectionExpression", &S::projection_expression),
                     Field("ExpressionAttributeNames", &S::expression_attribute_names),
                     Field("AttributesToGet", &S::attributes_to_get, {.length_min = 1}));
  }
};

struct GetItemResponse {
  std::optional<Item> item;  // empty when there is none
  std::optional<ConsumedCapacity> consumed_capacity;

  static constexpr std::string_view kTypeName = "GetItemOutput";
  static constexpr auto Fields() {
    using S = GetItemResponse;
    return FieldList(Field("Item", &S::item), Field("ConsumedCapacity", &S::consumed_capacity));
  }
};

}  // namespace holdfast
