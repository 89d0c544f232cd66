// BatchWriteItem: up to 25 puts and deletes, each on its own: there are no conditions and no common fate.
//
//   auto wrote = db->BatchWriteItem({.request_items = {{"Music", {{.put_request = {{.item = first}}},
//                                                                 {.delete_request = {{.key = second}}}}}}});
//   if (wrote && !wrote->unprocessed_items.empty()) TryAgainWith(wrote->unprocessed_items);
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

struct PutRequest {
  Item item;

  static constexpr std::string_view kTypeName = "PutRequest";
  static constexpr auto Fields() { return FieldList(Field("Item", &PutRequest::item, {.required = true})); }
};

struct DeleteRequest {
  Item key;

  static constexpr std::string_view kTypeName = "DeleteRequest";
  static constexpr auto Fields() { return FieldList(Field("Key", &DeleteRequest::key, {.required = true})); }
};

// Exactly one of the two.
struct WriteRequest {
  std::optional<PutRequest> put_request;
  std::optional<DeleteRequest> delete_request;

  static constexpr std::string_view kTypeName = "WriteRequest";
  static constexpr auto Fields() {
    using S = WriteRequest;
    return FieldList(Field("PutRequest", &S::put_request), Field("DeleteRequest", &S::delete_request));
  }
};

struct BatchWriteItemRequest {
  std::map<std::string, std::vector<WriteRequest>> request_items;  // by table
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<ReturnItemCollectionMetrics> return_item_collection_metrics;

  static constexpr std::string_view kTypeName = "BatchWriteItemInput";
  static constexpr auto Fields() {
    using S = BatchWriteItemRequest;
    return FieldList(Field("RequestItems", &S::request_items, {.required = true}),
                     Field("ReturnConsumedCapacity", &S::return_consumed_capacity),
                     Field("ReturnItemCollectionMetrics", &S::return_item_collection_metrics));
  }
};

struct BatchWriteItemResponse {
  std::map<std::string, std::vector<WriteRequest>>
      unprocessed_items;  // for which there was no write capacity
  std::optional<std::map<std::string, std::vector<ItemCollectionMetrics>>> item_collection_metrics;
  std::optional<std::vector<ConsumedCapacity>> consumed_capacity;

  static constexpr std::string_view kTypeName = "BatchWriteItemOutput";
  static constexpr auto Fields() {
    using S = BatchWriteItemResponse;
    return FieldList(Field("UnprocessedItems", &S::unprocessed_items),
                     Field("ItemCollectionMetrics", &S::item_collection_metrics),
                     Field("ConsumedCapacity", &S::consumed_capacity));
  }
};

}  // namespace holdfast
