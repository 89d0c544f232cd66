// How a server's memory is shared out (docs/adr/0033). One budget holds everything; this is the one place
// that says who gets what of it.
//
//   HF_TRY(MemoryPlan plan, PlanMemory(400 << 20));
//   … plan.write_buffer_bytes, plan.requests_bytes: fixed, set at the start
//   kv->LimitCache(plan.CacheFor(use));  // every second: whatever the others leave
#pragma once

#include <cstddef>

#include "holdfast/result.h"

namespace holdfast::engine {

// What a process takes at one moment.
struct MemoryUse {
  size_t resident = 0;       // all of it, as the operating system counts
  size_t free = 0;           // of it, what the allocator holds and nobody uses
  size_t cache = 0;          // blocks read from disk, their filters and indexes
  size_t write_buffers = 0;  // what was written and is in no table yet

  // Vectors, sessions, models, requests, stacks, the program: what neither cache nor write buffers are.
  size_t others() const;
};

struct MemoryPlan {
  size_t budget = 0;
  // Of each of the large spaces (RocksDbOptions); all write buffers together take up to four times as much.
  size_t write_buffer_bytes = 0;
  // Bodies of requests and answers that are under way.
  size_t requests_bytes = 0;

  size_t write_buffers_bytes() const { return 4 * write_buffer_bytes; }
  // What the cache may take: what is left of the budget when write buffers and requests have their share
  // whole and the others what they take. Never less than kCacheMin.
  size_t CacheFor(const MemoryUse& use) const;
  // Whether even the least cache does not fit: vectors, sessions and the like have outgrown the budget.
  bool IsExceeded(const MemoryUse& use) const;
};

inline constexpr size_t kMemoryMin = 128 << 20;
// Enough for the blocks of one compaction's inputs and the filters of the newest tables.
inline constexpr size_t kCacheMin = 8 << 20;

// kValidation below kMemoryMin.
Result<MemoryPlan> PlanMemory(size_t budget);
// A quarter of what the machine has, but kMemoryMin at least.
size_t DefaultMemory(size_t machine_bytes);

}  // namespace holdfast::engine
