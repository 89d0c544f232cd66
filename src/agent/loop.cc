#include "agent/loop.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/thread.h"

namespace holdfast::agent {

ThreadLoop::ThreadLoop() : thread_([this] { Run(); }) {}

ThreadLoop::~ThreadLoop() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    posted_changed_.NotifyAll();
  }
  thread_.join();
}

void ThreadLoop::Post(std::function<void()> task) {
  base::MutexLock lock(&mu_);
  posted_.push_back(std::move(task));
  if (waiting_) {
    waiting_ = false;
    posted_changed_.NotifyOne();
  }
}

void ThreadLoop::At(int64_t millis, std::function<void()> task) {
  timed_.emplace(millis, std::move(task));
}

void ThreadLoop::RunUntil(const std::function<bool()>& holds) {
  base::Mutex mu;
  base::CondVar changed;
  bool done = false;
  std::function<void()> look = [&] {
    base::MutexLock lock(&mu);
    done = holds();
    if (done)
      changed.NotifyAll();
    else
      At(NowMillis() + 1, look);
  };
  Post(look);
  base::MutexLock lock(&mu);
  while (!done) changed.Wait(&mu);
}

int64_t ThreadLoop::RunDue() {
  while (!timed_.empty()) {
    int64_t due = timed_.begin()->first;
    if (due > NowMillis()) return due;
    std::function<void()> task = std::move(timed_.begin()->second);
    timed_.erase(timed_.begin());
    task();
  }
  return std::numeric_limits<int64_t>::max();
}

void ThreadLoop::Run() {
  // The clock that timers go by may be set by an operator: look at it at least this often.
  constexpr int64_t kLookMillis = 1'000;
  base::NameThread("hf-agents");
  std::vector<std::function<void()>> batch;
  for (;;) {
    int64_t next = RunDue();
    {
      base::MutexLock lock(&mu_);
      if (posted_.empty() && !stop_) {
        // Milliseconds of the wall clock begin between those of the steady one: wake in the next one.
        int64_t micros = std::chrono::duration_cast<std::chrono::microseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
        int64_t wait_micros = kLookMillis * 1000;
        if (next < micros / 1000 + kLookMillis) wait_micros = next * 1000 - micros;
        waiting_ = true;
        posted_changed_.WaitUntil(&mu_, std::chrono::steady_clock::now() +
                                            std::chrono::microseconds(std::max<int64_t>(wait_micros, 0)));
        waiting_ = false;
      }
      if (posted_.empty() && stop_) return;
      batch.swap(posted_);
    }
    for (std::function<void()>& task : batch) task();
    batch.clear();
  }
}

}  // namespace holdfast::agent
