#include "base/limits.h"
#include "engine/index/maintainer.h"
#include "engine/index/vector_value.h"

namespace holdfast::engine {
namespace {

// What an index with the projection ALL holds of an item.
std::string AllBut(value::MapView item, std::string_view left_out) {
  value::FlatWriter writer;
  writer.BeginMap();
  for (uint32_t i = 0; i < item.size(); ++i) {
    value::Attribute attribute = item.At(i);
    if (attribute.name == left_out) continue;
    writer.Name(attribute.name);
    writer.Copy(attribute.value);
  }
  writer.EndMap();
  return writer.TakeMap();
}

bool SameVector(const VectorSchema& vector, const StoredItem& a, const StoredItem& b) {
  return a.view().Find(vector.attribute) == b.view().Find(vector.attribute);
}

double RequestBytes(size_t entry_size) {
  return static_cast<double>(std::max(entry_size, limits::kWriteUnitBytes));
}

}  // namespace

std::string VectorEntryKey(const IndexSchema& index, ByteView item_key) {
  std::string key;
  key.reserve(item_key.size());
  base::AppendBigEndian(&key, index.id, 4);
  return key.append(item_key.substr(4));
}

std::optional<IndexEntry> MakeVectorEntry(const TableSchema& table, const IndexSchema& index,
                                          const StoredItem& item) {
  if (!IndexedVectorOf(index, item.view())) return std::nullopt;
  const VectorSchema& vector = *index.vector;
  std::string projected = index.projection == ProjectionType::kAll ? AllBut(item.view(), vector.attribute)
                                                                   : ProjectForIndex(index, item.view());
  IndexEntry entry;
  entry.key = VectorEntryKey(index, ItemKeyOf(table, item.view()));
  entry.size = value::ItemSize(value::MapView(projected)) + vector.attribute.size() +
               4 * static_cast<size_t>(vector.dimensions);
  EncodeStored(entry.size, projected, &entry.value);
  return entry;
}

MaintainerEffect VectorIndexMaintainer::Update(const ItemChange& change, storage::Batch* batch) const {
  std::optional<IndexEntry> old, now;
  if (change.old != nullptr) old = MakeVectorEntry(*change.table, *index_, *change.old);
  if (change.now != nullptr) now = MakeVectorEntry(*change.table, *index_, *change.now);
  MaintainerEffect effect;
  if (!old && !now) return effect;
  bool same_value = old && now && old->value == now->value;
  if (same_value && SameVector(*index_->vector, *change.old, *change.now)) return effect;
  // Partition and filters are always projected: what is the same here is the same in memory.
  effect.logs = live_->logged && !LiveVectors::Same(*index_, change.old, change.now);
  if (now && !same_value) batch->Put(storage::Space::kIndexes, now->key, now->value);
  if (old && !now) batch->Delete(storage::Space::kIndexes, old->key);
  effect.touched = true;
  effect.write_units = RequestBytes(std::max(old ? old->size : 0, now ? now->size : 0));
  effect.count_delta = (now ? 1 : 0) - (old ? 1 : 0);
  effect.bytes_delta = static_cast<int64_t>(now ? now->size : 0) - static_cast<int64_t>(old ? old->size : 0);
  return effect;
}

void VectorIndexMaintainer::Written(const ItemChange& change) const {
  live_->Apply(*index_, change.item_key, change.old, change.now, change.stamp.number);
}

}  // namespace holdfast::engine
