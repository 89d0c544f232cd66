#include "vector/graph.h"

#include <algorithm>

#include "vector/parallel.h"

namespace holdfast::vector {

Candidate Graph::Descend(const CodedQuery& query, Candidate from, uint32_t level) const {
  for (bool moved = true; moved;) {
    moved = false;
    const Links* list = slots_->links(from.slot, level);
    uint32_t count = list[0].load(std::memory_order_acquire);
    for (uint32_t i = 1; i <= std::min<uint32_t>(count, kAhead); ++i) slots_->Prefetch(list[i]);
    for (uint32_t i = 1; i <= count; ++i) {
      if (i + kAhead <= count) slots_->Prefetch(list[i + kAhead]);
      Slot next = list[i].load(std::memory_order_acquire);
      float distance = Distance(query, slots_->row(next));
      if (distance >= from.distance) continue;
      from = {distance, next};
      moved = true;
    }
  }
  return from;
}

std::vector<Slot> Graph::Choose(std::vector<Candidate> candidates, size_t count_max) const {
  std::sort(candidates.begin(), candidates.end());
  std::vector<Slot> chosen;
  for (const Candidate& candidate : candidates) {
    if (chosen.size() == count_max) break;
    CodedQuery base = CodedQuery::Of(slots_->row(candidate.slot));
    // A chosen one that is nearer to it leads there: its place is better used for another direction.
    bool covered = std::any_of(chosen.begin(), chosen.end(), [&](Slot other) {
      return Distance(base, slots_->row(other)) < candidate.distance;
    });
    if (!covered) chosen.push_back(candidate.slot);
  }
  return chosen;
}

void Graph::Write(Links* list, const std::vector<Slot>& slots) {
  for (size_t i = 0; i < slots.size(); ++i) list[1 + i].store(slots[i], std::memory_order_release);
  list[0].store(static_cast<uint32_t>(slots.size()), std::memory_order_release);
}

void Graph::Link(Slot from, Slot to, float distance, uint32_t level) {
  base::MutexLock lock(&Stripe(from));
  Links* list = slots_->links(from, level);
  uint32_t count = list[0].load(std::memory_order_relaxed);
  if (count < slots_->link_max(level)) {
    list[1 + count].store(to, std::memory_order_release);
    list[0].store(count + 1, std::memory_order_release);
    return;
  }
  std::vector<Candidate> candidates{{distance, to}};
  CodedQuery base = CodedQuery::Of(slots_->row(from));
  for (uint32_t i = 1; i <= count; ++i) {
    Slot linked = list[i].load(std::memory_order_relaxed);
    candidates.push_back({Distance(base, slots_->row(linked)), linked});
  }
  Write(list, Choose(std::move(candidates), slots_->link_max(level)));
}

void Graph::Insert(Slot slot, SearchScratch* scratch) {
  const SlotRow& row = slots_->row(slot);
  CodedQuery query = CodedQuery::Of(row);
  uint64_t entry = entry_.load(std::memory_order_acquire);
  // Whoever raises the graph does it alone.
  bool raises = entry == kNoEntry || row.level > entry >> 32;
  if (raises) {
    entry_mu_.Lock();
    entry = entry_.load(std::memory_order_acquire);
    raises = entry == kNoEntry || row.level > entry >> 32;
    if (!raises) entry_mu_.Unlock();
  }
  if (entry == kNoEntry) {
    SetEntry(slot, row.level);
    entry_mu_.Unlock();
    return;
  }
  auto first = static_cast<Slot>(entry);
  auto top = static_cast<uint32_t>(entry >> 32);
  Candidate at{Distance(query, slots_->row(first)), first};
  for (uint32_t level = top; level > row.level; --level) at = Descend(query, at, level);
  std::vector<std::vector<Slot>> chosen(std::min(top, row.level) + 1);  // per level
  for (auto level = static_cast<uint32_t>(chosen.size()); level-- > 0;) {
    SearchLevel(
        query, at, level, {.ef = ef_construction_}, [](const SlotRow&) { return true; }, scratch);
    at = *std::min_element(scratch->nearest.begin(), scratch->nearest.end());
    chosen[level] = Choose(scratch->nearest, slots_->m());
    Write(slots_->links(slot, level), chosen[level]);
  }
  // Only now may others meet it: whoever comes down to it from an upper level goes on from there.
  for (uint32_t level = 0; level < chosen.size(); ++level) {
    for (Slot other : chosen[level]) Link(other, slot, Distance(query, slots_->row(other)), level);
  }
  if (raises) {
    SetEntry(slot, row.level);
    entry_mu_.Unlock();
  }
}

bool Graph::Remove(const std::vector<Slot>& nodes, const std::function<bool(Slot)>& is_dead, int threads,
                   const std::atomic<bool>& stop) {
  auto relink = [&](Slot slot, uint32_t level, Visited* met) {
    Links* list = slots_->links(slot, level);
    std::vector<Slot> kept, gone;
    met->Clear();
    met->Insert(slot);
    auto meet = [&](const Links* links) {
      uint32_t count = links[0].load(std::memory_order_relaxed);
      for (uint32_t i = 1; i <= count; ++i) {
        Slot other = links[i].load(std::memory_order_relaxed);
        if (met->Insert(other)) (is_dead(other) ? gone : kept).push_back(other);
      }
    };
    meet(list);
    if (gone.empty()) return;
    // Where most are dead, so are those beyond: on past them, or what is left falls apart.
    const size_t own = gone.size();
    for (size_t i = 0; i < own || (i < gone.size() && kept.size() < slots_->link_max(level)); ++i) {
      meet(slots_->links(gone[i], level));
    }
    CodedQuery base = CodedQuery::Of(slots_->row(slot));
    std::vector<Candidate> candidates;
    for (Slot linked : kept) candidates.push_back({Distance(base, slots_->row(linked)), linked});
    Write(list, Choose(std::move(candidates), slots_->link_max(level)));
  };
  std::vector<Visited> met(static_cast<size_t>(std::max(threads, 1)));
  ForEach(nodes.size(), threads, [&](int thread, size_t i) {
    if (is_dead(nodes[i]) || stop.load(std::memory_order_relaxed)) return;
    for (uint32_t level = 0; level <= slots_->row(nodes[i]).level; ++level) {
      relink(nodes[i], level, &met[static_cast<size_t>(thread)]);
    }
  });
  if (stop) return false;
  Slot entry = kNoSlot;
  for (Slot slot : nodes) {
    if (is_dead(slot)) continue;
    if (entry == kNoSlot || slots_->row(slot).level > slots_->row(entry).level) entry = slot;
  }
  if (entry == kNoSlot) {
    entry_.store(kNoEntry, std::memory_order_release);
  } else {
    SetEntry(entry);
  }
  return true;
}

}  // namespace holdfast::vector
