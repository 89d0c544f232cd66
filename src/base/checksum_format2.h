// The checksum of files that were written in formats 1 and 2 (docs/format.md). Nothing is written with it any
// more; readers use it through base/checksum.h. Stored on disk: never change.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace holdfast::base {

class ChecksumFormat2 {
 public:
  // In any pieces: the value depends on the bytes alone.
  void Update(ByteView bytes) {
    length_ += bytes.size();
    if (held_size_ > 0) {
      size_t taken = std::min(bytes.size(), kBlock - held_size_);
      std::memcpy(held_ + held_size_, bytes.data(), taken);
      held_size_ += taken;
      bytes.remove_prefix(taken);
      if (held_size_ < kBlock) return;
      Mix(held_);
      held_size_ = 0;
    }
    for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) Mix(bytes.data());
    if (bytes.empty()) return;
    std::memcpy(held_, bytes.data(), bytes.size());
    held_size_ = bytes.size();
  }

  uint64_t Value() const {
    ChecksumFormat2 last = *this;
    std::memset(last.held_ + held_size_, 0, kBlock - held_size_);
    last.Mix(last.held_);
    uint64_t sum = length_;
    for (uint64_t lane : last.lanes_) sum = (sum ^ lane ^ lane >> 29) * kPrime;
    return sum ^ sum >> 32;
  }

 private:
  static constexpr size_t kBlock = 32;
  static constexpr uint64_t kPrime = 0x9E3779B185EBCA87;

  void Mix(const char* block) {
    for (int i = 0; i < 4; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, block + 8 * i, 8);
      lanes_[i] = (lanes_[i] ^ word) * kPrime;
      lanes_[i] ^= lanes_[i] >> 31;
    }
  }

  uint64_t lanes_[4] = {1, 2, 3, 4};
  uint64_t length_ = 0;
  char held_[kBlock] = {};
  size_t held_size_ = 0;
};

}  // namespace holdfast::base
