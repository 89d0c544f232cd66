#include "engine/index/recount.h"

#include "engine/index/vector_value.h"
#include "engine/item/stored_item.h"

namespace holdfast::engine {

Status Recount(storage::KvReader* kv, Table* table, ObjectId target, const std::function<bool()>& stopping) {
  SchemaPtr schema = table->schema();
  bool is_table = target == schema->id;
  Tally* tally = is_table ? &table->tally : table->IndexTally(target);
  std::shared_ptr<const storage::Snapshot> snapshot;
  int64_t count = 0, bytes = 0;  // by which the tally is wrong
  {
    // No write is under way: each is either in the snapshot or will be added to the tally.
    base::WriterLock gate(&table->gate);
    snapshot = kv->TakeSnapshot();
    count -= tally->count;
    bytes -= tally->bytes;
  }
  auto it = kv->Iterate(is_table ? storage::Space::kItems : storage::Space::kIndexes, ObjectRange(target),
                        snapshot.get(), storage::Wait::kMayBlock);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    if (++count % 1024 == 0 && stopping()) return Error(ErrorCode::kWouldBlock, "the store is closing");
    StoredItem stored = DecodeStored(it->value());
    bytes += static_cast<int64_t>(is_table ? BilledSize(*schema, stored.view(), stored.size) : stored.size);
  }
  HF_CHECK_OK(it->status());
  tally->Add(count, bytes);
  return Ok{};
}

}  // namespace holdfast::engine
