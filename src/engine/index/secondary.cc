#include "engine/catalog/throughput.h"
#include "engine/index/maintainer.h"

namespace holdfast::engine {

std::optional<IndexEntry> MakeIndexEntry(const TableSchema& table, const IndexSchema& index,
                                         const StoredItem& item) {
  if (index.is_vector()) return MakeVectorEntry(table, index, item);
  auto key = IndexEntryKey(table, index, item.view());
  if (!key) return std::nullopt;
  IndexEntry entry{*std::move(key), {}, item.size};
  if (index.projection == ProjectionType::kAll) {
    EncodeStored(item.size, item.flat, &entry.value);
  } else {
    std::string projected = ProjectForIndex(index, item.view());
    entry.size = value::ItemSize(value::MapView(projected));
    EncodeStored(entry.size, projected, &entry.value);
  }
  return entry;
}

// DynamoDB charges an index for the change to what it stores: an untouched entry is free, one that moves is a
// delete and an insert, one that changes in place costs the larger image.
MaintainerEffect SecondaryIndexMaintainer::Update(const ItemChange& change, storage::Batch* batch) const {
  std::optional<IndexEntry> old, now;
  if (change.old != nullptr) old = MakeIndexEntry(*change.table, *index_, *change.old);
  if (change.now != nullptr) now = MakeIndexEntry(*change.table, *index_, *change.now);

  MaintainerEffect effect;
  if (old && now && old->key == now->key) {
    if (old->value == now->value) return effect;
    batch->Put(storage::Space::kIndexes, now->key, now->value);
    effect.write_units = std::max(WriteUnits(old->size), WriteUnits(now->size));
  } else {
    if (old) {
      batch->Delete(storage::Space::kIndexes, old->key);
      effect.write_units += WriteUnits(old->size);
    }
    if (now) {
      batch->Put(storage::Space::kIndexes, now->key, now->value);
      effect.write_units += WriteUnits(now->size);
    }
  }
  effect.touched = old || now;
  effect.count_delta = (now ? 1 : 0) - (old ? 1 : 0);
  effect.bytes_delta = static_cast<int64_t>(now ? now->size : 0) - static_cast<int64_t>(old ? old->size : 0);
  return effect;
}

}  // namespace holdfast::engine
