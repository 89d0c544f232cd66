// Whatever is derived from a table's items: secondary indexes, vector indexes, expiry entries. Each kind is
// one class. Its Update is called for every item written, on the one write path, and adds to the item's own
// batch: so a derived entry can never be newer or older than its item. A kind that keeps something in memory
// too is told by Written once the batch is in the storage.
//
// To add a kind: implement IndexMaintainer, make it in ActiveSchema, call it in item/write.cc, and let
// backfill.cc and verify.cc know it.
#pragma once

#include <memory>
#include <vector>

#include "engine/catalog/schema.h"
#include "engine/commit/committer.h"
#include "engine/index/live_vectors.h"
#include "engine/item/stored_item.h"
#include "storage/kv.h"

namespace holdfast::engine {

// One item, before and after.
struct ItemChange {
  const TableSchema* table;
  ByteView item_key;      // its storage key
  const StoredItem* old;  // null: was not there
  const StoredItem* now;  // null: is gone
  Stamp stamp;
  bool by_ttl = false;   // the sweeper's doing
  uint32_t ordinal = 0;  // position within the commit
};

// What a maintainer did, for capacity figures and counts.
struct MaintainerEffect {
  double write_units = 0;
  bool touched = false;
  int64_t count_delta = 0;
  int64_t bytes_delta = 0;
  bool logs = false;  // the change log must name the item
};

class IndexMaintainer {
 public:
  virtual ~IndexMaintainer() = default;
  // Adds to `batch` what turns the derived entries of `change.old` into those of `change.now`. Must give the
  // same result when called again, and tolerate entries that are already there or not yet there: a backfill
  // may be under way.
  virtual MaintainerEffect Update(const ItemChange& change, storage::Batch* batch) const = 0;
  // Called when the batch is in the storage, before the commit can be published and with the item still
  // locked: for what is kept in memory.
  virtual void Written(const ItemChange& /*change*/) const {}
};

// Local and global secondary indexes. `index` must outlive the maintainer.
class SecondaryIndexMaintainer final : public IndexMaintainer {
 public:
  explicit SecondaryIndexMaintainer(const IndexSchema* index) : index_(index) {}
  MaintainerEffect Update(const ItemChange& change, storage::Batch* batch) const override;

 private:
  const IndexSchema* const index_;
};

// Vector indexes: an entry of each item that carries a sound vector. `index` must outlive the maintainer.
class VectorIndexMaintainer final : public IndexMaintainer {
 public:
  VectorIndexMaintainer(const IndexSchema* index, LiveVectorsPtr live)
      : index_(index), live_(std::move(live)) {}
  // Counts bytes, not units.
  MaintainerEffect Update(const ItemChange& change, storage::Batch* batch) const override;
  void Written(const ItemChange& change) const override;

 private:
  const IndexSchema* const index_;
  const LiveVectorsPtr live_;
};

// Expiry entries, by which the sweeper finds what has expired.
class TtlMaintainer final : public IndexMaintainer {
 public:
  MaintainerEffect Update(const ItemChange& change, storage::Batch* batch) const override;
};

// What one index stores of an item, or nothing when the item is not in it.
struct IndexEntry {
  std::string key;
  std::string value;  // as stored
  size_t size = 0;
};
std::optional<IndexEntry> MakeIndexEntry(const TableSchema& table, const IndexSchema& index,
                                         const StoredItem& item);
// The same for a vector index: everything but the vector itself, of which memory holds the floats.
std::optional<IndexEntry> MakeVectorEntry(const TableSchema& table, const IndexSchema& index,
                                          const StoredItem& item);
// The key of an item's entry in a vector index: the item's own, under the index's id.
std::string VectorEntryKey(const IndexSchema& index, ByteView item_key);

}  // namespace holdfast::engine
