#include "wire/worker_pool.h"

#include "base/thread.h"

namespace holdfast::wire {

WorkerPool::WorkerPool(int threads, size_t queue_max) : queue_max_(queue_max) {
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

bool WorkerPool::Submit(std::function<void()> task) {
  base::MutexLock lock(&mu_);
  if (stop_ || queue_.size() >= queue_max_) return false;
  queue_.push_back(std::move(task));
  if (idle_.empty()) return true;
  Idle* next = idle_.back();
  idle_.pop_back();
  next->awake = true;
  next->woken.NotifyOne();
  return true;
}

void WorkerPool::Run() {
  base::NameThread("worker");
  Idle self;
  while (true) {
    std::function<void()> task;
    {
      base::MutexLock lock(&mu_);
      while (queue_.empty() && !stop_) {
        self.awake = false;
        idle_.push_back(&self);
        while (!self.awake && !stop_) self.woken.Wait(&mu_);
      }
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    // Tasks answer their requests themselves, whatever happens in them.
    base::RunContained(base::FallbackLog(), "worker", task);
  }
}

}  // namespace holdfast::wire
