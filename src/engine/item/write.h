// The one write path. Puts, updates, deletes, batches, transactions, imports and the TTL sweeper all come
// through ItemWriter::Write, so that locking, sizes, indexes, the change log and durability are decided in
// one place.
//
// A write: hold the gates of its tables, lock its keys, read each old item, let each mutation decide, let
// each maintainer add to one batch, write the batch, let go. What it returns may be told to the caller only
// once the committer says so (WhenDurable).
//
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "engine/catalog/catalog.h"
#include "engine/change/change_log.h"
#include "engine/commit/committer.h"
#include "engine/item/key_locks.h"
#include "engine/item/mutation.h"
#include "storage/kv.h"

namespace holdfast::engine {

struct WriteAction {
  Table* table;
  std::string item_key;  // storage key; distinct within one write unless it is a batch
  const ItemMutation* mutation;
};

enum class Atomicity : uint8_t {
  kEach,  // every action stands alone: an error of one is an error of the call, nothing is written
  kAll,   // a transaction: one that fails its condition stops all
};

// Who had no capacity for a write: a global index of the table, or the table itself.
struct Throttled {
  const IndexSchema* index = nullptr;  // owned by the outcome's schema; null: the table
};

// What became of one action.
struct WriteOutcome {
  Change::Kind kind = Change::Kind::kNone;
  std::optional<Item> old;  // as found
  Item now;                 // as written, when kind is kPut
  size_t old_size = 0;
  size_t now_size = 0;
  // What the table is charged for, and counts: BilledSize of the two.
  size_t old_billed = 0;
  size_t now_billed = 0;
  // Per index of the table's schema, in order: what the change cost it; negative when it was not touched.
  std::vector<double> index_units;
  SchemaPtr schema;
  std::optional<Error> error;  // kAll: the mutation's own error
  // It was not carried out, and neither was a transaction that it is part of.
  std::optional<Throttled> throttled;
};

struct WriteOptions {
  Atomicity atomicity = Atomicity::kEach;
  storage::Wait wait = storage::Wait::kMayBlock;
  bool by_ttl = false;
  // A client's: it keeps to the write throughput of its tables and their global indexes. What it costs is
  // charged by whoever asked for it.
  bool throttles = false;
  struct ExtraDelete {
    storage::Space space;
    std::string key;
  };
  std::vector<ExtraDelete> extra_deletes;
  // Also locked, with the keys: what orders callers that share no item.
  std::string extra_lock;
  // Called twice with all locks held: before anything is read (outcomes null; an error stops the write), and
  // before the batch is written, to add entries to it. The idempotency token of a transaction lives by this.
  struct Extra {
    storage::Space space;
    std::string key;
    std::string value;
  };
  using Extras = std::vector<Extra>;
  std::function<Status(const std::vector<WriteOutcome>* outcomes, Extras* extras)> under_lock;
};

class ItemWriter {
 public:
  ItemWriter(storage::KvReader* kv, Committer* committer, KeyLocks* locks, const base::Clock* clock)
      : kv_(kv), committer_(committer), locks_(locks), clock_(clock) {}

  struct Written {
    std::vector<WriteOutcome> outcomes;  // one per action
    bool all_applied = true;             // false: a transaction was stopped by what the outcomes say
    size_t conflict = KeyLocks::kAll;    // position of the action whose key another writer held
  };

  // Errors: kWouldBlock (options.wait), kResourceNotFound (a table is gone), kThrottling, kReadOnly, a
  // mutation's error (kEach), or a fault of the storage.
  Result<Written> Write(const std::vector<WriteAction>& actions, const WriteOptions& options);

  // Items put or deleted since the store was opened.
  uint64_t written_items() const { return written_items_.load(std::memory_order_relaxed); }

 private:
  class Run;

  storage::KvReader* const kv_;
  Committer* const committer_;
  KeyLocks* const locks_;
  const base::Clock* const clock_;
  std::atomic<uint64_t> written_items_{0};
};

}  // namespace holdfast::engine
