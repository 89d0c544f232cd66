// A vector index as it lives in memory, fed by the write path. The items are the truth; everything here can
// be made from them again.
//
// When a store is opened it comes back in three stages (engine/index/vector_keeper.h): kLoading, while writes
// note which items they changed and touch nothing else; kSettling, when it holds every item as it is, but
// perhaps not as searches may see it; kReady.
//
// Thread-safe; calls for one item are ordered by its lock.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/catalog/schema.h"
#include "engine/index/vector_search.h"
#include "engine/item/stored_item.h"
#include "vector/index.h"

namespace holdfast::engine {

class LiveVectors {
 public:
  // `index` is a vector index. What of its settings shapes the graph is fixed from here on. `graph_min`: see
  // vector::IndexOptions; 0 for its default.
  LiveVectors(const IndexSchema& index, size_t graph_min);

  // Takes over settings that may change: how searches are done.
  void Configure(const VectorSettings& settings);

  // Turns what stands for `old` into what stands for `now`; either may be null. `number` is that of the
  // commit.
  void Apply(const IndexSchema& index, ByteView item_key, const StoredItem* old, const StoredItem* now,
             uint64_t number);
  // Makes the index hold what `now` says, whatever it held before.
  void Set(const IndexSchema& index, ByteView item_key, const StoredItem* now, uint64_t number);
  // Whether the two, either of which may be null, stand for the same in the index.
  static bool Same(const IndexSchema& index, const StoredItem* old, const StoredItem* now);

  // --- coming back after a start ---
  enum class Stage : uint8_t { kLoading, kSettling, kReady };
  Stage stage() const { return stage_.load(std::memory_order_acquire); }
  // Whether searches may be asked, and figures.
  bool ready() const { return stage() == Stage::kReady; }
  // Requires: nobody uses it yet; for kSettling the table's gate, held for writing.
  void Enter(Stage stage) { stage_.store(stage, std::memory_order_release); }
  // Storage keys of the items that were written since this was last asked. Requires: kLoading.
  std::vector<std::string> TakeTouched();
  // Empties it. Requires: kLoading, and the table's gate.
  void Reset(const IndexSchema& index);

  // Vectors, or items, that wait for the keeper: whoever writes faster than it works should slow down.
  size_t backlog() const;
  // Whether the index holds of this item what it should.
  bool Matches(const IndexSchema& index, ByteView item_key, const StoredItem& item) const;

  struct Found {
    std::string item_key;  // without the table's id
    std::vector<float> vector;
    float score;
  };
  std::vector<Found> Search(const VectorQuery& query, const vector::AsOf& as_of) const;

  vector::Index& index() { return *index_; }
  const vector::Index& index() const { return *index_; }
  // Changes since the last snapshot.
  std::atomic<uint64_t> changes{0};
  // Whether changes are logged: from the first snapshot on. Read under the table's gate.
  std::atomic<bool> logged{false};
  // Commits up to this one may not be. Belongs to the keeper.
  uint64_t logged_after = 0;
  // There was no memory for a vector: searches would lie.
  bool incomplete() const { return incomplete_.load(std::memory_order_relaxed); }

 private:
  struct Membership;
  // Empty when the item is not in the index.
  static std::optional<Membership> MembershipOf(const IndexSchema& index, const StoredItem& item);
  void Set(ByteView item_key, const std::optional<Membership>& membership, uint64_t number);

  const size_t graph_min_;
  std::unique_ptr<vector::Index> index_;
  std::atomic<Stage> stage_{Stage::kReady};
  mutable base::Mutex touched_mu_;
  std::set<std::string, std::less<>> touched_ HF_GUARDED_BY(touched_mu_);
  std::atomic<bool> incomplete_{false};
};
using LiveVectorsPtr = std::shared_ptr<LiveVectors>;

}  // namespace holdfast::engine
