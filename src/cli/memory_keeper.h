// Keeps the server within its memory: looks every second at what the process takes, lets the block cache have
// what the others leave, and gives back to the system what the allocator holds beyond the budget.
//
// One thread of its own. The storage must outlive it.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/memory_plan.h"
#include "storage/kv.h"

namespace holdfast::cli {

class MemoryKeeper {
 public:
  // `kv`: null where the data is elsewhere.
  MemoryKeeper(const engine::MemoryPlan& plan, storage::KvReader* kv, const base::Log& log);
  ~MemoryKeeper();

  // For /metrics.
  std::string Metrics() const;

 private:
  engine::MemoryUse Measure() const;
  void Run();
  void Look();

  const engine::MemoryPlan plan_;
  storage::KvReader* const kv_;
  const base::Log& log_;
  std::atomic<size_t> limit_ = 0;  // of the cache
  bool was_exceeded_ = false;      // the thread's own

  base::Mutex mu_;
  base::CondVar wake_;
  bool stopping_ HF_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace holdfast::cli
