// Locks on single keys: real ones, not stripes that unrelated keys share, so that a conflict that is reported
// is always a conflict with somebody who holds that very key (up to a collision of 64-bit hashes).
//
//   KeyLocks::Held held;
//   if (locks.Acquire(keys, deadline, &held) != KeyLocks::kAll) → somebody held one until the deadline
//   …                                             // released with `held`
//
// Everybody locks in one order (of hash), so that nobody waits in a circle. Thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"

namespace holdfast::engine {

class KeyLocks {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  class Held {
   public:
    Held() = default;
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { Release(); }
    void Release();

   private:
    friend class KeyLocks;
    KeyLocks* owner_ = nullptr;
    std::vector<uint64_t> hashes_;  // sorted, distinct
  };

  // Locks every key or, returning the position of a key that stayed locked by another until `deadline`, none.
  // A deadline in the past means: do not wait. Returns kAll on success.
  static constexpr size_t kAll = static_cast<size_t>(-1);
  size_t Acquire(const std::vector<ByteView>& keys, Deadline deadline, Held* held);

 private:
  static constexpr size_t kShards = 256;
  struct alignas(64) Shard {
    base::Mutex mu;
    base::CondVar released;
    std::vector<uint64_t> held HF_GUARDED_BY(mu);
    int waiting HF_GUARDED_BY(mu) = 0;
  };

  bool Lock(uint64_t hash, Deadline deadline);
  void Unlock(uint64_t hash);
  Shard& ShardOf(uint64_t hash) { return shards_[hash % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace holdfast::engine
