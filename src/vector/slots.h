// Where vectors stand in memory: numbered slots that never move, so that a search may read while others are
// written. A slot has a row (what belongs to it, then its code), its floats, and its links in the graph.
//
// Life of a slot: Allocate, fill, Publish at a commit number; End at a later one; Free when nobody can reach
// it any more. A reader sees the slots that are born of a commit that it sees and not ended by one (AsOf).
// What Allocate's caller fills does not change until Free.
//
// Thread safety: Allocate and Free want one caller at a time; everything else may be called from any thread
// for slots that it has reached (through a graph, a list or a map that a release-acquire pair protects).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "vector/code.h"

namespace holdfast::vector {

using Slot = uint32_t;
inline constexpr Slot kNoSlot = std::numeric_limits<Slot>::max();
inline constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// Which commits a reader sees: those up to `newest`, but for a few that were under way.
struct AsOf {
  uint64_t newest = kNever - 1;
  std::span<const uint64_t> except = {};  // in order

  bool Has(uint64_t commit) const {
    if (commit > newest) return false;
    return except.empty() || commit < except.front() ||
           !std::binary_search(except.begin(), except.end(), commit);
  }
};

// A list of slots that readers walk while one writer changes it. Readers may see old and new elements mixed;
// each is a slot that was or is linked.
using Links = std::atomic<uint32_t>;  // [0] is the count, then the slots

// What a slot is besides its code and floats: made before it is published.
struct SlotInfo {
  std::string_view key() const {
    return {reinterpret_cast<const char*>(this + 1) + filter_count * sizeof(uint32_t), key_size};
  }
  const uint32_t* filters() const { return reinterpret_cast<const uint32_t*>(this + 1); }

  static SlotInfo* Make(std::string_view key, const std::vector<uint32_t>& filters);
  static void Destroy(SlotInfo* info);

  uint32_t key_size;
  uint32_t filter_count;
};

// One cache line.
struct alignas(64) SlotRow {
  float scale;
  float offset;
  float error;
  uint32_t partition;
  double norm;
  std::atomic<uint64_t> born;
  std::atomic<uint64_t> died;
  std::atomic<Links*> upper;  // links above the lowest level: `level` lists of 1 + m
  SlotInfo* info;
  uint32_t level;
  std::atomic<uint32_t> linked;  // 1: in the graph

  const int8_t* code() const { return reinterpret_cast<const int8_t*>(this + 1); }
  int8_t* code() { return reinterpret_cast<int8_t*>(this + 1); }
  bool IsVisible(const AsOf& as_of) const {
    return as_of.Has(born.load(std::memory_order_acquire)) &&
           !as_of.Has(died.load(std::memory_order_acquire));
  }
};
static_assert(sizeof(SlotRow) == 64);

class Slots {
 public:
  // `m`: links on the upper levels; the lowest has twice as many.
  Slots(size_t dimensions, size_t m);
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  size_t dimensions() const { return dimensions_; }
  size_t m() const { return m_; }

  // kNoSlot when there is no memory, or there are too many.
  Slot Allocate();
  // Makes slots 0 to count - 1, for a snapshot to fill; those that it does not are then given back.
  bool Extend(Slot count);
  void FreeAllBut(const std::vector<bool>& used);
  void Free(Slot slot);
  // Slots below this have been allocated at least once.
  Slot size() const { return size_.load(std::memory_order_acquire); }

  SlotRow& row(Slot slot) const {
    return *reinterpret_cast<SlotRow*>(Part(rows_, slot) + Within(slot) * row_bytes_);
  }
  float* floats(Slot slot) const {
    return reinterpret_cast<float*>(Part(floats_, slot)) + Within(slot) * dimensions_;
  }
  // Lowest level: a count and up to 2m slots.
  Links* links(Slot slot) const {
    return reinterpret_cast<Links*>(Part(links_, slot)) + Within(slot) * (1 + 2 * m_);
  }
  // Requires: 1 <= level <= row(slot).level.
  Links* links(Slot slot, uint32_t level) const {
    if (level == 0) return links(slot);
    return row(slot).upper.load(std::memory_order_acquire) + (level - 1) * (1 + m_);
  }
  // Fetches row and code from memory while the caller does something else.
  void Prefetch(Slot slot) const {
    const char* bytes = reinterpret_cast<const char*>(&row(slot));
    for (size_t at = 0; at < row_bytes_; at += 64) __builtin_prefetch(bytes + at);
  }
  size_t link_max(uint32_t level) const { return level == 0 ? 2 * m_ : m_; }
  // Gives the slot its lists above the lowest level. Called while it is being filled.
  void SetLevel(Slot slot, uint32_t level);

  // Slots that a run of floats from `slot` may cover at most without a break in memory.
  static size_t ContiguousFrom(Slot slot) { return kChunkSlots - Within(slot); }

  // What all this takes, as far as it has been touched.
  size_t memory_bytes() const;

 private:
  static constexpr uint32_t kChunkBits = 13;
  static constexpr uint32_t kChunkSlots = 1 << kChunkBits;
  static constexpr uint32_t kChunksMax = 1 << 14;

  using Table = std::atomic<char*>*;
  static size_t Within(Slot slot) { return slot & (kChunkSlots - 1); }
  static char* Part(Table table, Slot slot) {
    return table[slot >> kChunkBits].load(std::memory_order_acquire);
  }
  size_t link_bytes() const { return (1 + 2 * m_) * sizeof(Links); }
  size_t ChunkBytes() const {
    return kChunkSlots * (row_bytes_ + link_bytes() + dimensions_ * sizeof(float));
  }
  bool AddChunk();

  const size_t dimensions_;
  const size_t m_;
  const size_t row_bytes_;
  // Pages that are never touched cost nothing: the tables have room for every chunk there can be.
  Table rows_, floats_, links_;
  std::atomic<Slot> size_{0};
  std::vector<Slot> free_;
  std::atomic<uint32_t> chunks_{0};
  std::atomic<size_t> upper_bytes_{0};
};

}  // namespace holdfast::vector
