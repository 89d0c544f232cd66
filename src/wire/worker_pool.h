// Threads that may wait: for the disk, for a lock, for a long scan. What an I/O thread must not do is done
// here.
//
// The thread that has been idle for the shortest time gets the next task: what it needs is still in the
// processor's caches, and a pool that is larger than its work costs no more than a small one.
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
  ~WorkerPool() { Stop(); }
  // Runs what is queued, then takes nothing more.
  void Stop();

  // Returns false when the queue is full, or the pool has stopped.
  bool Submit(std::function<void()> task);

 private:
  struct Idle {
    base::CondVar woken;
    bool awake = false;  // guarded by mu_
  };

  void Run();

  const size_t queue_max_;
  base::Mutex mu_;
  std::deque<std::function<void()>> queue_ HF_GUARDED_BY(mu_);
  std::vector<Idle*> idle_ HF_GUARDED_BY(mu_);  // the last one is the next to wake
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::wire
