#include "wire/worker_pool.h"

#include <algorithm>

#include "base/thread.h"

namespace holdfast::wire {

WorkerPool::WorkerPool(int threads, size_t queue_max)
    : queue_max_(queue_max), long_max_(std::max(1, threads - 1)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

void WorkerPool::Stop() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    for (Idle* idle : idle_) idle->woken.NotifyOne();
    idle_.clear();  // they are their threads' own
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool WorkerPool::Submit(Lane lane, std::function<void()> task) {
  base::MutexLock lock(&mu_);
  if (stop_ || short_.size() + long_.size() >= queue_max_) return false;
  (lane == Lane::kLong ? long_ : short_).push_back({submitted_++, std::move(task)});
  if (idle_.empty() || NextLane() == nullptr) return true;
  Idle* next = idle_.back();
  idle_.pop_back();
  next->awake = true;
  next->woken.NotifyOne();
  return true;
}

std::deque<WorkerPool::Task>* WorkerPool::NextLane() {
  // At the end nobody is kept waiting any more.
  bool may_long = !long_.empty() && (long_running_ < long_max_ || stop_);
  if (short_.empty()) return may_long ? &long_ : nullptr;
  return may_long && long_.front().number < short_.front().number ? &long_ : &short_;
}

void WorkerPool::Run() {
  base::NameThread("worker");
  Idle self;
  bool was_long = false;
  while (true) {
    std::function<void()> task;
    {
      base::MutexLock lock(&mu_);
      if (was_long) --long_running_;
      std::deque<Task>* lane;
      while ((lane = NextLane()) == nullptr && !stop_) {
        self.awake = false;
        idle_.push_back(&self);
        while (!self.awake && !stop_) self.woken.Wait(&mu_);
      }
      if (lane == nullptr) return;
      was_long = lane == &long_;
      if (was_long) ++long_running_;
      task = std::move(lane->front().run);
      lane->pop_front();
    }
    // Tasks answer their requests themselves, whatever happens in them.
    base::RunContained(base::FallbackLog(), "worker", task);
  }
}

}  // namespace holdfast::wire
