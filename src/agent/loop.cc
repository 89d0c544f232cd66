#include "agent/loop.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/thread.h"

namespace holdfast::agent {

ThreadLoop::ThreadLoop(Store* store, const base::Clock* clock)
    : store_(store),
      clock_(clock == nullptr ? &system_clock_ : clock),
      calling_([this] { RunCalls(); }),
      thread_([this] { Run(); }) {}

ThreadLoop::~ThreadLoop() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    posted_changed_.NotifyAll();
  }
  thread_.join();
  {
    base::MutexLock lock(&mu_);
    stop_calls_ = true;
    calls_changed_.NotifyAll();
  }
  calling_.join();
}

void ThreadLoop::Post(std::function<void()> task) {
  base::MutexLock lock(&mu_);
  posted_.push_back(std::move(task));
  if (waiting_) {
    waiting_ = false;
    posted_changed_.NotifyOne();
  }
}

void ThreadLoop::Call(std::function<void()> call) {
  constexpr size_t kWorthIt = 4;
  if (left_ < kWorthIt) return call();
  base::MutexLock lock(&mu_);
  if (calls_.empty()) calls_changed_.NotifyOne();
  calls_.push_back(std::move(call));
}

void ThreadLoop::RunCalls() {
  base::NameThread("hf-agents-db");
  Tasks calls;
  size_t left = 0;
  for (;;) {
    {
      base::MutexLock lock(&mu_);
      while (calls_.empty() && !stop_calls_) calls_changed_.Wait(&mu_);
      if (calls_.empty()) return;
      calls.swap(calls_);
    }
    Do(calls, &ThreadLoop::calls_, &left);
    calls.clear();
  }
}

void ThreadLoop::Do(const Tasks& tasks, Tasks ThreadLoop::*queue, size_t* left) {
  // In parts, so that the disk is at work on one while the next is.
  constexpr size_t kTogether = 32;
  for (size_t begun = 0; begun < tasks.size(); begun += kTogether) {
    Together together(store_);
    size_t end = std::min(tasks.size(), begun + kTogether);
    for (size_t i = begun; i < end; ++i) {
      *left = tasks.size() - i - 1;
      base::RunContained(base::FallbackLog(), "agent runtime", tasks[i]);
    }
    if (end < tasks.size()) continue;
    base::MutexLock lock(&mu_);
    if ((this->*queue).empty()) together.NothingElse();
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
    base::RunContained(base::FallbackLog(), "agent runtime", task);
  }
  return std::numeric_limits<int64_t>::max();
}

void ThreadLoop::Run() {
  // The clock that timers go by may be set by an operator: look at it at least this often.
  constexpr int64_t kLookMillis = 1'000;
  base::NameThread("hf-agents");
  Tasks batch;
  for (;;) {
    int64_t next = RunDue();
    {
      base::MutexLock lock(&mu_);
      if (posted_.empty() && !stop_) {
        // Milliseconds of the wall clock begin between those of the steady one: wake in the next one.
        int64_t micros = std::chrono::duration_cast<std::chrono::microseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
        micros += (clock_->NowMillis() - system_clock_.NowMillis()) * 1000;
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
    Do(batch, &ThreadLoop::posted_, &left_);
    batch.clear();
  }
}

}  // namespace holdfast::agent
