#include <set>

#include "base/limits.h"
#include "ops/capacity.h"
#include "ops/constraints.h"
#include "ops/mutations.h"
#include "ops/operations.h"
#include "ops/single_write.h"
#include "ops/throughput.h"

namespace holdfast::ops {
namespace {

// What the field list cannot say: how many requests, and exactly one kind in each.
Status Validate(const BatchWriteItemRequest& request) {
  if (request.request_items.empty()) {
    return ValidationError("The requestItems parameter is required for BatchWriteItem");
  }
  size_t total = 0;
  for (const auto& [table, writes] : request.request_items) {
    total += writes.size();
    if (writes.empty() || writes.size() > limits::kBatchWriteRequestsMax) {
      return ValidationError(
          "1 validation error detected: Value '" + JavaText(request.request_items) +
          "' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: "
          "[Member must have length less than or equal to 25, Member must have length greater than "
          "or equal to 1]");
    }
  }
  if (total > limits::kBatchWriteRequestsMax) {
    return ValidationError("Too many items requested for the BatchWriteItem call");
  }
  for (const auto& [table, writes] : request.request_items) {
    for (const WriteRequest& write : writes) {
      if (write.put_request.has_value() == write.delete_request.has_value()) {
        return ValidationError(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of "
            "the supported datatypes");
      }
      const Item& item = write.put_request ? write.put_request->item : write.delete_request->key;
      if (const Error* defect = item.defect()) return *defect;
      if (write.put_request && item.SizeBytes() > limits::kItemSizeBytesMax) return value::ItemTooLarge();
    }
  }
  return Ok{};
}

// A key that is missing from a put or of another type is worded as for a Key parameter here.
Result<std::string> BatchKey(const engine::TableSchema& schema, const WriteRequest& write) {
  if (write.delete_request) return KeyFromParameter(schema, write.delete_request->key);
  value::MapView item(write.put_request->item);
  for (const engine::KeyAttribute* key : {&schema.partition, schema.sort ? &*schema.sort : nullptr}) {
    if (key == nullptr) continue;
    auto value = item.Find(key->name);
    if (!value || value->type() != key->type) {
      return ValidationError("The provided key element does not match the schema");
    }
  }
  HF_TRY(std::string item_key, KeyFromItem(schema, write.put_request->item));
  HF_CHECK_OK(CheckIndexKeys(schema, item, IndexKeyCheck::kPut));
  return item_key;
}

}  // namespace

Result<BatchWriteItemResponse> Perform(Context& context, const BatchWriteItemRequest& request) {
  HF_CHECK_OK(Validate(request));

  // The whole batch is one storage write: it has no conditions, so nothing in it can fail on its own. What
  // there is no capacity for is left out of it.
  std::vector<engine::WriteAction> actions;
  std::vector<TableRef> refs;
  std::vector<std::unique_ptr<engine::ItemMutation>> mutations;
  std::set<std::string> distinct;
  for (const auto& [name, writes] : request.request_items) {
    HF_TRY(TableRef ref, OpenForItems(context, name));
    HF_CHECK_OK(CheckCollectionMetrics(context, request.return_item_collection_metrics, *ref.schema));
    for (const WriteRequest& write : writes) {
      HF_TRY(std::string item_key, BatchKey(*ref.schema, write));
      if (!distinct.insert(item_key).second) {
        return ValidationError("Provided list of item keys contains duplicates");
      }
      if (write.put_request) {
        mutations.push_back(std::make_unique<PutMutation>(&write.put_request->item, nullptr, &context.work));
      } else {
        mutations.push_back(std::make_unique<DeleteMutation>(nullptr, &context.work));
      }
      actions.push_back({ref.table.get(), std::move(item_key), mutations.back().get()});
    }
    refs.push_back(std::move(ref));
  }
  context.await_durability = true;
  HF_TRY(engine::ItemWriter::Written written,
         context.engine->writer().Write(actions, {.wait = context.wait, .throttles = true}));

  BatchWriteItemResponse response;
  size_t position = 0, table = 0, processed = 0;
  std::optional<Error> throttled;
  for (const auto& [name, writes] : request.request_items) {
    const TableRef& ref = refs[table++];
    TableUsage usage(ref.table.get(), ref.schema, TableUsage::Kind::kWrite);
    for (const WriteRequest& write : writes) {
      const engine::WriteOutcome& outcome = written.outcomes[position++];
      if (outcome.throttled) {
        throttled = Throttle(context, ref, outcome);
        response.unprocessed_items[name].push_back(write);
        continue;
      }
      ++processed;
      usage.AddWrite(outcome);
      const Item& item = write.put_request ? write.put_request->item : write.delete_request->key;
      if (auto metrics =
              CollectionMetrics(context, request.return_item_collection_metrics, *ref.schema, item)) {
        if (!response.item_collection_metrics) response.item_collection_metrics.emplace();
        (*response.item_collection_metrics)[name].push_back(*std::move(metrics));
      }
    }
    if (auto report = usage.Report(request.return_consumed_capacity)) {
      if (!response.consumed_capacity) response.consumed_capacity.emplace();
      response.consumed_capacity->push_back(*std::move(report));
    }
  }
  if (processed == 0) return *throttled;
  return response;
}

}  // namespace holdfast::ops
