// Threads that may wait: for the disk, for a lock, for a long scan. What an I/O thread must not do is done
// here.
//
// Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace holdfast::wire {

class WorkerPool {
 public:
  WorkerPool(int threads, size_t queue_max);
  // Runs what is queued, then stops.
  ~WorkerPool();

  // Returns false when the queue is full.
  bool Submit(std::function<void()> task);

 private:
  void Run();

  const size_t queue_max_;
  base::Mutex mu_;
  base::CondVar filled_;
  std::deque<std::function<void()>> queue_ HF_GUARDED_BY(mu_);
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::wire
