// The tables that exist, and the live side of each: its current schema, its gate and its counters.
//
// Reading a table's schema takes a reference; changing it takes the gate for writing, so that no write is
// under way with the old schema when the new one takes over (writes hold the gate for reading: they are many
// and short). Lock order: gates in order of table id → key locks → storage; the map's own lock is a leaf.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/catalog/schema.h"
#include "engine/catalog/throughput.h"
#include "engine/index/live_vectors.h"
#include "engine/index/maintainer.h"
#include "engine/item/guard.h"
#include "storage/kv.h"

namespace holdfast::engine {

// Items and bytes, kept as they change; relaxed, because they are for people.
struct Tally {
  std::atomic<int64_t> count{0};
  std::atomic<int64_t> bytes{0};

  void Add(int64_t count_delta, int64_t bytes_delta) {
    count.fetch_add(count_delta, std::memory_order_relaxed);
    bytes.fetch_add(bytes_delta, std::memory_order_relaxed);
  }
};

// Units consumed since the store was opened, in halves of a unit (an eventually consistent read costs half).
struct Consumption {
  std::atomic<uint64_t> read_halves{0};
  std::atomic<uint64_t> write_halves{0};
  // Reads and writes that were not let in.
  std::atomic<uint64_t> throttled_reads{0};
  std::atomic<uint64_t> throttled_writes{0};
  // How much there may be. A local index has no limits of its own: it uses its table's.
  TokenBucket reads, writes;
};

// What was consumed of a table or an index, and how often it was refused, since the store was opened.
struct Used {
  double reads = 0, writes = 0;  // units
  double throttled = 0;

  void Add(const Used& other) {
    reads += other.reads;
    writes += other.writes;
    throttled += other.throttled;
  }
};
// "Music" and "Music/byGenre".
using UsedByName = std::map<std::string, Used>;

// Requests that named a table, since the store was opened.
struct RequestCounts {
  std::atomic<uint64_t> answered{0};
  std::atomic<uint64_t> total_micros{0};  // of those that were answered
  std::atomic<uint64_t> user_errors{0};
  std::atomic<uint64_t> system_errors{0};
  std::atomic<uint64_t> failed_conditions{0};
  std::atomic<uint64_t> conflicts{0};  // of transactions
  std::atomic<uint64_t> expired_items{0};
};

// A schema in force, with what the write path needs of it made once.
struct ActiveSchema {
  // `live` has the live side of each vector index of the schema.
  ActiveSchema(SchemaPtr schema, const std::map<ObjectId, LiveVectorsPtr>& live);

  // Vectors that wait to be put into their graphs.
  size_t VectorBacklog() const;

  SchemaPtr schema;
  std::vector<std::unique_ptr<IndexMaintainer>> indexes;  // as in schema->indexes
  std::vector<Tally*> index_tallies;                      // likewise
  std::vector<Consumption*> index_consumption;            // likewise
  std::unique_ptr<TtlMaintainer> ttl;                     // null when off
  const Images images;                                    // that the change log holds in any case
  std::vector<LiveVectorsPtr> vectors;                    // of its vector indexes
  bool has_vectors() const { return !vectors.empty(); }
};

class Table {
 public:
  // `vector_graph_min` is for LiveVectors.
  explicit Table(SchemaPtr schema, size_t vector_graph_min = 0, std::shared_ptr<ItemGuard> guard = nullptr);

  SchemaPtr schema() const { return active()->schema; }
  std::shared_ptr<const ActiveSchema> active() const;
  // Requires: gate held for writing.
  void Activate(SchemaPtr schema, int64_t now_millis);

  // Writes never stop coming to a busy table: a change of its schema must not wait until they do.
  base::SharedMutex gate{base::SharedMutex::First::kWriter};
  std::atomic<bool> dropped{false};      // read under the gate
  std::atomic<int> watches{0};           // read under the gate: > 0 means changes are logged with both images
  std::atomic<bool> has_vectors{false};  // of the schema in force
  std::atomic<bool> limited{false};  // likewise: the table, or a global index, has a throughput to keep to
  Tally tally;
  Consumption consumption;
  RequestCounts requests;
  const std::shared_ptr<ItemGuard> guard;  // null: anything may be written

  // Of one index; made when the index first appears.
  Tally* IndexTally(ObjectId index);
  Consumption* IndexConsumption(ObjectId index);
  // By the table and every index that it has, or had.
  UsedByName Usage() const;
  // As after a start.
  void RefillBuckets();
  // Null when there is no such vector index.
  LiveVectorsPtr LiveIndex(ObjectId index) const;

 private:
  // The rates of the buckets, as the schema has them.
  void SetLimits(const ActiveSchema& active, int64_t now_millis);

  const size_t vector_graph_min_;
  mutable base::Mutex mu_;
  std::shared_ptr<const ActiveSchema> active_ HF_GUARDED_BY(mu_);
  std::map<ObjectId, std::unique_ptr<Tally>> index_tallies_ HF_GUARDED_BY(mu_);
  std::map<ObjectId, std::unique_ptr<Consumption>> index_consumption_ HF_GUARDED_BY(mu_);
  std::map<ObjectId, std::string> index_names_ HF_GUARDED_BY(mu_);  // of those there are and were
  std::map<ObjectId, LiveVectorsPtr> live_vectors_ HF_GUARDED_BY(mu_);
};
using TablePtr = std::shared_ptr<Table>;

class Catalog {
 public:
  // Null when there is no table of that name.
  TablePtr Find(std::string_view name) const;
  std::vector<TablePtr> All() const;  // in order of name
  // Names after `after`, at most `limit`.
  std::vector<std::string> Names(const std::string& after, size_t limit) const;
  size_t size() const;
  // Returns false when the name is taken.
  bool Add(TablePtr table);
  void Remove(const std::string& name);
  // Of all tables there are, and with it what those that are gone left behind under their names: it never
  // shrinks.
  UsedByName Usage() const;

  // What tables that are gone have left behind: those that had streams, which stay readable for a day.
  std::vector<SchemaPtr> Dropped() const;
  void AddDropped(SchemaPtr schema);
  void RemoveDropped(ObjectId id);

 private:
  mutable base::SharedMutex mu_;
  std::map<std::string, TablePtr, std::less<>> tables_ HF_GUARDED_BY(mu_);
  std::map<ObjectId, SchemaPtr> dropped_ HF_GUARDED_BY(mu_);
  UsedByName used_before_ HF_GUARDED_BY(mu_);  // by tables that are gone; of bounded size
};

}  // namespace holdfast::engine
