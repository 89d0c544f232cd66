#include "engine/item/key_locks.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace holdfast::engine {

void KeyLocks::Held::Release() {
  if (owner_ == nullptr) return;
  for (uint64_t hash : hashes_) owner_->Unlock(hash);
  owner_ = nullptr;
  hashes_.clear();
}

size_t KeyLocks::Acquire(const std::vector<ByteView>& keys, Deadline deadline, Held* held) {
  HF_ASSERT(held->owner_ == nullptr);
  if (keys.size() == 1) {
    uint64_t hash = std::hash<ByteView>{}(keys[0]);
    if (!Lock(hash, deadline)) return 0;
    held->owner_ = this;
    held->hashes_.push_back(hash);
    return kAll;
  }
  held->owner_ = this;
  std::vector<std::pair<uint64_t, size_t>> order;
  order.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) order.emplace_back(std::hash<ByteView>{}(keys[i]), i);
  std::sort(order.begin(), order.end());
  for (const auto& [hash, position] : order) {
    if (!held->hashes_.empty() && held->hashes_.back() == hash) continue;
    if (!Lock(hash, deadline)) {
      held->Release();
      return position;
    }
    held->hashes_.push_back(hash);
  }
  return kAll;
}

bool KeyLocks::Lock(uint64_t hash, Deadline deadline) {
  Shard& shard = ShardOf(hash);
  base::MutexLock lock(&shard.mu);
  auto taken = [&]() HF_REQUIRES(shard.mu) {
    return std::find(shard.held.begin(), shard.held.end(), hash) != shard.held.end();
  };
  while (taken()) {
    ++shard.waiting;
    bool in_time = shard.released.WaitUntil(&shard.mu, deadline);
    --shard.waiting;
    if (!in_time && taken()) return false;
  }
  shard.held.push_back(hash);
  return true;
}

void KeyLocks::Unlock(uint64_t hash) {
  Shard& shard = ShardOf(hash);
  base::MutexLock lock(&shard.mu);
  auto at = std::find(shard.held.begin(), shard.held.end(), hash);
  HF_ASSERT(at != shard.held.end());
  *at = shard.held.back();
  shard.held.pop_back();
  if (shard.waiting > 0) shard.released.NotifyAll();
}

}  // namespace holdfast::engine
