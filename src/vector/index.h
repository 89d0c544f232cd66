// The vectors of one index in memory: put, remove, and search by nearness, with filters, in partitions.
//
//   Index index({.dimensions = 1024, .metric = Metric::kCosine, .filters = 1});
//   index.Put(commit_number, {.key = "a", .vector = floats, .filters = {"en"}});
//   index.Tend(published, threads);                             // now and then, from one thread
//   index.Search({.vector = floats, .k = 10, .as_of = {published}});
//
// What a search returns. It sees exactly the vectors whose Put is of a commit that it sees and that no later
// Put or Remove of the same key, of a commit that it sees, has ended; see also forgotten(). How it finds the
// nearest of them:
//  - few (no graph yet, or a filter that few pass), or in less than four dimensions: it compares all codes
//  and settles the order by floats.
//    This is exact: codes come with bounds, and whatever could be among the nearest is settled.
//  - many: it walks the graph, accepting only what passes the filter, and scans the tail of vectors that are
//    not in the graph yet. What comes out is nearly always the nearest; scores are exact.
//  - a walk that looks at too much without filling its result, or that ends in a tie, becomes a scan.
// So a result has k vectors whenever k pass, and equal scores come in order of key.
//
// Partitions are apart: each has its own tail, graph and filter lists, and costs the others nothing. One that
// has no vectors any more is forgotten.
//
// A write waits for the index's lock on an I/O thread. No holder touches more than kHoldMax things at a
// time, however many vectors there are (stats().hold_max).
//
// Thread safety: Put, Remove, Search and the figures from any thread; two calls for one key must be ordered
// by the caller, numbers ascending. Tend and the snapshot calls from one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "vector/code.h"
#include "vector/effort.h"
#include "vector/graph.h"
#include "vector/slot_list.h"
#include "vector/slots.h"

namespace holdfast::vector {

struct IndexOptions {
  size_t dimensions = 0;
  Metric metric = Metric::kCosine;
  size_t filters = 0;  // attributes that a search may filter by
  size_t m = 16;
  size_t ef_construction = 200;
  const Kernels* kernels = nullptr;  // null: the best
  // A partition that has more gets a graph. 0: as many as are scanned in a few tenths of a millisecond, which
  // is 3,000 of 1024 dimensions and 17,000 of 128.
  size_t graph_min = 0;
  size_t filter_scan_max = 10'000;  // a filter that fewer pass is scanned, where that is quicker than a walk
};

// May change while the index is in use.
struct SearchOptions {
  size_t ef = 0;       // 0: learned from the data
  bool exact = false;  // always scan, never begin a graph
};

struct Entry {
  std::string_view key;
  const float* vector = nullptr;
  std::string_view partition;
  // One per filter attribute; empty: the item has none.
  std::vector<std::optional<std::string_view>> filters;
};

struct Query {
  const float* vector = nullptr;
  size_t k = 1;
  std::string_view partition;
  struct Filter {
    size_t position;
    std::string_view value;
  };
  std::vector<Filter> filters;
  AsOf as_of;
  bool with_vectors = false;  // hits bring their floats
};

struct Hit {
  std::string key;
  std::vector<float> vector;
  float score;
};

struct IndexStats {
  size_t vectors = 0;  // that the newest commit sees
  size_t dead = 0;     // taking up room until the next consolidation
  size_t partitions = 0;
  size_t graphs = 0;  // partitions large enough for one
  size_t hold_max =
      0;  // slots, blocks, names and partitions that were handled in one hold of the lock, at most
  size_t memory_bytes = 0;
};

class Index {
 public:
  explicit Index(const IndexOptions& options);
  ~Index();

  static constexpr size_t kHoldMax = 4096;

  const IndexOptions& options() const { return options_; }
  void SetSearchOptions(const SearchOptions& options);

  // Returns false when there is no memory for it: the index is incomplete from then on.
  [[nodiscard]] bool Put(uint64_t number, const Entry& entry);
  void Remove(uint64_t number, std::string_view key);

  std::vector<Hit> Search(const Query& query) const;

  // Moves vectors of commits up to `published` from tails into graphs, and forgets what ended by then. Does a
  // bounded amount of work; returns whether there is more.
  bool Tend(uint64_t published, int threads);
  // Has Tend return soon, whatever it is at, and do nothing any more: its owner is about to end. The index
  // stays sound. From any thread.
  void StopTending() { stop_tending_.store(true, std::memory_order_relaxed); }

  // Vectors that a commit up to this one ended may have been forgotten. A search that does not see all of
  // these commits, when this is asked after it, may have missed some.
  uint64_t forgotten() const { return forgotten_.load(std::memory_order_acquire); }

  // Whether the newest commit sees exactly this entry.
  bool Holds(const Entry& entry) const;
  IndexStats stats() const;
  // Vectors waiting for the graph: whoever writes faster than it grows should slow down.
  size_t backlog() const { return backlog_.load(std::memory_order_relaxed); }

  // --- snapshots (snapshot.h) ---
  friend class SnapshotWriter;
  friend class SnapshotReader;

 private:
  // The vectors that have one value of one filter attribute.
  struct FilterValue {
    SlotList slots;
    std::string name;  // empty: free for another value
  };
  // `Values` of one filter attribute. Id 0 means: the item has none.
  struct FilterValues {
    std::unordered_map<std::string_view, uint32_t> ids;  // of the names in `lists`
    std::vector<std::unique_ptr<FilterValue>> lists;     // id - 1
    std::vector<uint32_t> free;                          // ids of values that no vector has any more
  };
  struct Partition {
    uint32_t id = 0;
    std::string name;
    SlotList tail;   // not in the graph
    SlotList nodes;  // in the graph; changed by Tend's thread alone, which may read it without the lock
    SlotList dead;   // ended, still in `tail` or `nodes`
    std::vector<FilterValues> filters;  // per attribute
    std::unique_ptr<Graph> graph;       // null: small. Never taken away again.
    Effort effort;                      // of its graph
    size_t steps_to_sample = 0;         // steps of growth until the next sample for it
    bool queued = false;                // in work_

    size_t members() const { return tail.size() + nodes.size(); }
  };
  // Slots, and a partition, that nobody can reach but searches that began before.
  struct Retired {
    std::weak_ptr<int> searches;
    std::vector<Slot> slots;
    std::unique_ptr<Partition> partition;
  };
  // Which slot has a key. In many maps, so that none takes long when it grows.
  class KeyMap {
   public:
    using Map = std::unordered_map<std::string_view, Slot>;
    Map& Of(std::string_view key) { return maps_[std::hash<std::string_view>()(key) % kMaps]; }
    const Map& Of(std::string_view key) const { return const_cast<KeyMap*>(this)->Of(key); }

   private:
    static constexpr size_t kMaps = 256;
    std::array<Map, kMaps> maps_;
  };
  // What a search takes with it from under the lock.
  struct Plan {
    std::shared_ptr<int> epoch;
    Graph* graph = nullptr;
    std::vector<SlotList> scan;                           // to be compared one by one
    std::vector<std::pair<size_t, uint32_t>> filter_ids;  // position, id
    const Partition* partition = nullptr;                 // null: nothing can pass
    size_t matches_max = 0;                               // upper bound of what passes
    size_t members = 0;
    size_t ef = 0;  // candidates a walk keeps
  };
  struct PreparedQuery;

  Partition* PartitionNamed(std::string_view name) HF_REQUIRES(mu_);
  // Requires: the value is not empty. A search that still looks for the value that had the id before sees
  // none of the vectors that get it now: their commits are later.
  static uint32_t FilterId(FilterValues* values, std::string_view value);
  static void FreeIfUnused(FilterValues* values, uint32_t id);
  void End(Slot slot, uint64_t number) HF_REQUIRES(mu_);
  void Queue(Partition* partition) HF_REQUIRES(mu_);

  Plan MakePlan(const Query& query) const;
  // The shortest list that has all that may pass; null: there is no filter. Requires: mu_ is held.
  static const SlotList* Narrowest(const Plan& plan);
  // All that may pass: for when there is no graph, or it does not do. Requires: mu_ is held.
  std::vector<SlotList> Everything(const Plan& plan) const;
  bool Accepts(const SlotRow& row, const Plan& plan, const AsOf& as_of) const;
  // Compares, one by one, those that `accept` takes.
  template <class Accept>
  void Scan(const CodedQuery& query, const SlotList& slots, const Accept& accept,
            std::vector<Candidate>* found) const;
  // Settles candidates by their floats. `*tied` tells that what was left out may be as near as what is in.
  std::vector<Hit> Settle(const PreparedQuery& prepared, std::vector<Candidate> candidates,
                          const Query& query, bool complete, bool* tied) const;
  size_t EfFor(const Query& query, const Partition& partition) const;
  // Looks for the nearest of a vector that is not in the graph yet, by the graph and one by one.
  void LearnFrom(Slot slot, Partition* partition, uint64_t published, SearchScratch* scratch) const;

  bool TendPartition(Partition* partition, uint64_t published, int threads);
  void Grow(Partition* partition, uint64_t published, int threads);
  void Sweep(Partition* partition, uint64_t published, int threads);
  // Takes the slots that are `gone` out of a list of the partition that others append to. `then` is called in
  // the hold that puts the new list in its place.
  template <class Gone, class Then>
  void Filter(SlotList* list, const Gone& gone, const Then& then) HF_EXCLUDES(mu_);
  // Out of the lists of all filter values that they have.
  template <class Gone>
  void FilterValueLists(Partition* partition, const std::vector<Slot>& swept, const Gone& gone)
      HF_EXCLUDES(mu_);
  void Retire(std::vector<Slot> slots, std::unique_ptr<Partition> partition) HF_REQUIRES(mu_);
  // Returns whether it did, because nothing is in it any more.
  bool RemoveIfEmpty(Partition* partition) HF_REQUIRES(mu_);
  void FreeRetired();
  // For stats().hold_max.
  void NoteHold(size_t handled) const {
    size_t most = hold_max_.load(std::memory_order_relaxed);
    while (handled > most && !hold_max_.compare_exchange_weak(most, handled, std::memory_order_relaxed)) {
    }
  }

  const IndexOptions options_;
  const Kernels& kernels_;
  mutable Slots slots_;  // Allocate and Free under mu_
  std::atomic<size_t> ef_{0};
  std::atomic<bool> exact_{false};
  std::atomic<bool> stop_tending_{false};
  std::atomic<size_t> backlog_{0};
  std::atomic<uint64_t> forgotten_{0};
  mutable std::atomic<size_t> hold_max_{0};

  mutable base::SharedMutex mu_;
  KeyMap by_key_ HF_GUARDED_BY(mu_);       // keys live in their SlotInfo
  size_t vectors_ HF_GUARDED_BY(mu_) = 0;  // in by_key_
  size_t graphs_ HF_GUARDED_BY(mu_) = 0;
  std::map<std::string, std::unique_ptr<Partition>, std::less<>> partitions_ HF_GUARDED_BY(mu_);
  std::vector<Partition*> partition_by_id_ HF_GUARDED_BY(mu_);  // null: a free id
  std::vector<uint32_t> free_partition_ids_ HF_GUARDED_BY(mu_);
  std::deque<Partition*> work_ HF_GUARDED_BY(mu_);
  std::shared_ptr<int> epoch_ HF_GUARDED_BY(mu_);  // held by each search for as long as it runs
  std::deque<Retired> retired_ HF_GUARDED_BY(mu_);
  size_t dead_ HF_GUARDED_BY(mu_) = 0;
  size_t retired_slots_ HF_GUARDED_BY(mu_) = 0;
  std::vector<bool> saved_;  // slots whose floats a snapshot holds; belongs to Tend's thread
};

}  // namespace holdfast::vector
