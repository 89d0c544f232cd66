// A hierarchical navigable small-world graph (Malkov and Yashunin, 2016) over the slots of one partition. A
// search walks from link to link towards its query and finds nearly always the nearest, looking at a small
// part of all.
//
//   graph.Insert(slot);                                            // from several threads at a time
//   graph.Search(query, {.ef = 100}, accept, &scratch, &found);   // at any time
//   graph.Remove(nodes, is_dead, threads, stop);                      // while nobody inserts
//
// Invariants:
//  1. A slot's own links are written, on all its levels, before any link to it is.
//  2. Every link leads to a slot that is in the graph, or was when the search that follows it began: slots
//     are freed only after such searches have ended (index.h).
//  3. Lists that others may meet change under their stripe's lock; readers take none.
//
// Distances are of codes throughout: good enough to walk by, settled by floats in the end (index.h).
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <vector>

#include "base/mutex.h"
#include "vector/code.h"
#include "vector/slots.h"
#include "vector/visited.h"

namespace holdfast::vector {

// A coded vector to compare others with. `bytes` is 64-byte aligned.
struct CodedQuery {
  const int8_t* bytes;
  Code code;

  static CodedQuery Of(const SlotRow& row) {
    return {row.code(), {row.scale, row.offset, row.error, row.norm}};
  }
};

// How far codes say that they are apart.
inline float Distance(Metric metric, const Kernels& kernels, size_t dimensions, const CodedQuery& query,
                      const SlotRow& row) {
  int32_t dot = kernels.dot_i8(query.bytes, row.code(), CodeBytes(dimensions));
  return CodeDistance(metric, query.code, row.scale, row.offset, dot);
}

struct Candidate {
  float distance;
  Slot slot;

  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.slot < b.slot;
  }
};

// Memory that one search after another uses. Belongs to one thread at a time.
struct SearchScratch {
  Visited visited;
  std::vector<Candidate> frontier;  // heap, nearest first
  std::vector<Candidate> nearest;   // heap, farthest first
  std::vector<Slot> fresh;
};

class Graph {
 public:
  Graph(Slots* slots, Metric metric, const Kernels* kernels, size_t ef_construction)
      : slots_(slots), metric_(metric), kernels_(kernels), ef_construction_(ef_construction) {}

  // Adds a slot, whose level is set. Thread-safe.
  void Insert(Slot slot, SearchScratch* scratch) HF_NO_THREAD_SAFETY_ANALYSIS;
  // Takes out slots for which `is_dead` holds: neighbours are linked past them. No insertion may be under
  // way. Gives up when `stop` says so, and returns false: then all slots are still in the graph.
  bool Remove(const std::vector<Slot>& nodes, const std::function<bool(Slot)>& is_dead, int threads,
              const std::atomic<bool>& stop);

  struct Limits {
    size_t ef;                     // candidates to keep
    size_t visits_max = SIZE_MAX;  // slots to look at before giving up
    float share = 1;               // of all that `accept` takes: where it is much less, give up early
  };
  // The nearest slots that `accept` takes, at most limits.ef, in no order. Returns false when it gave up.
  template <class Accept>
  bool Search(const CodedQuery& query, const Limits& limits, const Accept& accept, SearchScratch* scratch,
              std::vector<Candidate>* found) const;

  bool empty() const { return entry_.load(std::memory_order_acquire) == kNoEntry; }

  // For snapshots.
  Slot entry() const { return static_cast<Slot>(entry_.load(std::memory_order_acquire)); }
  void SetEntry(Slot slot) { SetEntry(slot, slots_->row(slot).level); }

 private:
  static constexpr uint64_t kNoEntry = UINT64_MAX;
  static constexpr size_t kStripes = 1024;
  static constexpr size_t kAhead = 4;    // rows fetched while one is compared, by measurement
  static constexpr float kPatience = 6;  // acceptances to be expected before their lack means something

  float Distance(const CodedQuery& query, const SlotRow& row) const {
    return vector::Distance(metric_, *kernels_, slots_->dimensions(), query, row);
  }
  // Walks greedily to a local minimum of one level.
  Candidate Descend(const CodedQuery& query, Candidate from, uint32_t level) const;
  template <class Accept>
  bool SearchLevel(const CodedQuery& query, Candidate from, uint32_t level, const Limits& limits,
                   const Accept& accept, SearchScratch* scratch) const;
  // Of candidates, nearest first, those that are nearer to the base than to any chosen before them.
  std::vector<Slot> Choose(std::vector<Candidate> candidates, size_t count_max) const;
  void Link(Slot from, Slot to, float distance, uint32_t level);
  static void Write(Links* list, const std::vector<Slot>& slots);
  void SetEntry(Slot slot, uint32_t level) {
    entry_.store(uint64_t{level} << 32 | slot, std::memory_order_release);
  }
  base::Mutex& Stripe(Slot slot) { return stripes_[slot % kStripes]; }

  Slots* const slots_;
  const Metric metric_;
  const Kernels* const kernels_;
  const size_t ef_construction_;
  std::atomic<uint64_t> entry_{kNoEntry};  // level << 32 | slot
  base::Mutex entry_mu_;                   // held while a slot above the highest level is inserted
  std::array<base::Mutex, kStripes> stripes_;
};

// --- implementation of the templates ---

template <class Accept>
bool Graph::SearchLevel(const CodedQuery& query, Candidate from, uint32_t level, const Limits& limits,
                        const Accept& accept, SearchScratch* scratch) const {
  auto farther = [](const Candidate& a, const Candidate& b) { return b < a; };
  auto& frontier = scratch->frontier;
  auto& nearest = scratch->nearest;
  frontier.clear();
  nearest.clear();
  scratch->visited.Clear();
  scratch->visited.Insert(from.slot);
  frontier.push_back(from);
  if (accept(slots_->row(from.slot))) nearest.push_back(from);
  size_t visits = 1;
  float considered = 0, accepted = 0;  // near enough to be kept; kept
  while (!frontier.empty()) {
    Candidate at = frontier.front();
    if (nearest.size() >= limits.ef && nearest.front() < at) break;
    if (visits > limits.visits_max) return false;
    // Far fewer pass here than everywhere: what passes is elsewhere, where links need not lead.
    float expected = limits.share * considered;
    if (limits.share < 1 && expected >= kPatience && accepted < expected / 4) return false;
    std::pop_heap(frontier.begin(), frontier.end(), farther);
    frontier.pop_back();

    if (!frontier.empty()) __builtin_prefetch(slots_->links(frontier.front().slot, level));
    const Links* list = slots_->links(at.slot, level);
    uint32_t count = list[0].load(std::memory_order_acquire);
    auto& fresh = scratch->fresh;
    fresh.clear();
    for (uint32_t i = 1; i <= count; ++i) {
      Slot next = list[i].load(std::memory_order_acquire);
      if (scratch->visited.Insert(next)) fresh.push_back(next);
    }
    visits += fresh.size();
    for (size_t i = 0; i < std::min(fresh.size(), kAhead); ++i) slots_->Prefetch(fresh[i]);
    for (size_t i = 0; i < fresh.size(); ++i) {
      if (i + kAhead < fresh.size()) slots_->Prefetch(fresh[i + kAhead]);
      const SlotRow& row = slots_->row(fresh[i]);
      Candidate next{Distance(query, row), fresh[i]};
      if (nearest.size() >= limits.ef && !(next < nearest.front())) continue;
      frontier.push_back(next);
      std::push_heap(frontier.begin(), frontier.end(), farther);
      ++considered;
      if (!accept(row)) continue;
      ++accepted;
      nearest.push_back(next);
      std::push_heap(nearest.begin(), nearest.end());
      if (nearest.size() > limits.ef) {
        std::pop_heap(nearest.begin(), nearest.end());
        nearest.pop_back();
      }
    }
  }
  return true;
}

template <class Accept>
bool Graph::Search(const CodedQuery& query, const Limits& limits, const Accept& accept,
                   SearchScratch* scratch, std::vector<Candidate>* found) const {
  uint64_t entry = entry_.load(std::memory_order_acquire);
  if (entry == kNoEntry) return true;
  auto first = static_cast<Slot>(entry);
  Candidate at{Distance(query, slots_->row(first)), first};
  for (auto level = static_cast<uint32_t>(entry >> 32); level > 0; --level) at = Descend(query, at, level);
  bool complete = SearchLevel(query, at, 0, limits, accept, scratch);
  found->insert(found->end(), scratch->nearest.begin(), scratch->nearest.end());
  return complete;
}

}  // namespace holdfast::vector
