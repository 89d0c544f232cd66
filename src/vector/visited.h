// The slots a search has met: a small open hash table, cheaper to clear and kinder to the cache than a mark
// per slot. Belongs to one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "vector/slots.h"

namespace holdfast::vector {

class Visited {
 public:
  void Clear() {
    if (table_.size() > kKeptMax) table_.resize(kKeptMax);
    if (table_.empty()) table_.resize(kFirst);
    std::fill(table_.begin(), table_.end(), kNoSlot);
    count_ = 0;
  }

  // Returns whether it is new.
  bool Insert(Slot slot) {
    size_t mask = table_.size() - 1;
    for (size_t at = Hash(slot) & mask;; at = (at + 1) & mask) {
      if (table_[at] == slot) return false;
      if (table_[at] != kNoSlot) continue;
      table_[at] = slot;
      if (++count_ * 2 > table_.size()) Grow();
      return true;
    }
  }

 private:
  static constexpr size_t kFirst = 1 << 12;
  static constexpr size_t kKeptMax = 1 << 15;
  static size_t Hash(Slot slot) { return static_cast<size_t>(slot * uint64_t{0x9E3779B97F4A7C15} >> 32); }

  void Grow() {
    std::vector<Slot> old(table_.size() * 2, kNoSlot);
    old.swap(table_);
    size_t mask = table_.size() - 1;
    for (Slot slot : old) {
      if (slot == kNoSlot) continue;
      size_t at = Hash(slot) & mask;
      while (table_[at] != kNoSlot) at = (at + 1) & mask;
      table_[at] = slot;
    }
  }

  std::vector<Slot> table_;  // size is a power of two
  size_t count_ = 0;
};

}  // namespace holdfast::vector
