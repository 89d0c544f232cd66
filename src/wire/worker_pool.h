// Threads that may wait: for the disk, for a lock, for a long scan. What an I/O thread must not do is done
// here.
//
// Work has two lanes. Short work has one thread that long work never takes, so that reads of a cold block and
// answers to be compressed do not stand behind scans, searches and writers that wait for an item. Within that
// rule the oldest task goes first.
//
// The thread that has been idle for the shortest time gets the next task: what it needs is still in the
// processor's caches, and a pool that is larger than its work costs no more than a small one.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace holdfast::wire {

class WorkerPool {
 public:
  enum class Lane : uint8_t {
    kShort,  // reads a few blocks, or computes for a moment; waits for nobody
    kLong,   // may take long, or wait for others
  };

  // With one thread there is nothing to keep for short work.
  WorkerPool(int threads, size_t queue_max);
  ~WorkerPool() { Stop(); }
  // Runs what is queued, then takes nothing more.
  void Stop();

  // Returns false when the queue is full, or the pool has stopped.
  bool Submit(Lane lane, std::function<void()> task);
  bool Submit(std::function<void()> task) { return Submit(Lane::kShort, std::move(task)); }

 private:
  struct Idle {
    base::CondVar woken;
    bool awake = false;  // guarded by mu_
  };
  struct Task {
    uint64_t number;  // in the order of Submit
    std::function<void()> run;
  };

  void Run();
  // The lane whose task a thread may take now; null: none.
  std::deque<Task>* NextLane() HF_REQUIRES(mu_);

  const size_t queue_max_;
  const int long_max_;  // threads that long work may take
  base::Mutex mu_;
  std::deque<Task> short_ HF_GUARDED_BY(mu_), long_ HF_GUARDED_BY(mu_);
  uint64_t submitted_ HF_GUARDED_BY(mu_) = 0;
  int long_running_ HF_GUARDED_BY(mu_) = 0;
  std::vector<Idle*> idle_ HF_GUARDED_BY(mu_);  // the last one is the next to wake
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::wire
