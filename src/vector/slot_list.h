// A list of slots that can be copied in a moment, however long it is: a copy takes a reference to each block,
// not the slots in it. So nobody holds the index's lock for as long as a list is walked.
//
// One list is the newest: it alone may be appended to (under the lock that guards it). Copies see what was
// there when they were made, and may be read without any lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "vector/slots.h"

namespace holdfast::vector {

class SlotList {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // What a copy has to take references to.
  size_t blocks() const { return blocks_.size(); }

  void Append(Slot slot) {
    if (size_ == room_) {
      size_t block = CapacityOf(blocks_.size());
      blocks_.push_back(std::make_shared_for_overwrite<Slot[]>(block));
      room_ += block;
    }
    blocks_.back()[CapacityOf(blocks_.size() - 1) - (room_ - size_)] = slot;
    ++size_;
  }

  // Calls `visit` with runs of slots, in order, from position `from` on.
  template <class Visit>
  void ForEachRun(size_t from, const Visit& visit) const {
    size_t begin = 0;
    for (size_t i = 0; i < blocks_.size() && begin < size_; ++i) {
      size_t end = std::min(begin + CapacityOf(i), size_);
      if (from < end) {
        size_t first = std::max(from, begin);
        visit(std::span<const Slot>(blocks_[i].get() + (first - begin), end - first));
      }
      begin = end;
    }
  }
  template <class Visit>
  void ForEach(size_t from, const Visit& visit) const {
    ForEachRun(from, [&](std::span<const Slot> run) {
      for (Slot slot : run) visit(slot);
    });
  }

 private:
  static constexpr size_t kFirstBits = 3, kLastBits = 12;
  // Small lists take little, large ones have few blocks.
  static size_t CapacityOf(size_t block) { return size_t{1} << std::min(kFirstBits + block, kLastBits); }

  std::vector<std::shared_ptr<Slot[]>> blocks_;
  size_t size_ = 0, room_ = 0;
};

}  // namespace holdfast::vector
