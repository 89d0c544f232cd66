// Where a runtime's work is done: one thing after another, on one thread, with a clock. A simulation brings
// its own and decides what comes next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "holdfast/store.h"

namespace holdfast::agent {

class Loop {
 public:
  virtual ~Loop() = default;
  // Does it soon. From any thread.
  virtual void Post(std::function<void()> task) = 0;
  // Does it when the clock shows this time, never before. On the loop's thread.
  virtual void At(int64_t millis, std::function<void()> task) = 0;
  virtual int64_t NowMillis() const = 0;
  // Makes a call of the store: here and now, or on another thread while there is more to do on this one.
  virtual void Call(std::function<void()> call) { call(); }
  // Goes on until this holds. Not on the loop's thread.
  virtual void RunUntil(const std::function<bool()>& holds) = 0;
};

// A thread of its own. The destructor does what was posted and drops what waits for its time.
//
// While there is much to do, a second thread makes the calls of the store, which are half of the work. What
// either thread finds to be done it does together: the store, which must outlive the loop, makes it durable
// with as few syncs as it can, dozens of steps to a sync when many sessions are at work. With one at work
// nothing is gained by handing over: then the loop calls the store, and syncs, itself.
class ThreadLoop final : public Loop {
 public:
  // `clock` must outlive it; null: the system's. Where another is set forward, what has become due is done
  // within a second.
  explicit ThreadLoop(Store* store, const base::Clock* clock = nullptr);
  ~ThreadLoop() override;
  void Post(std::function<void()> task) override;
  void At(int64_t millis, std::function<void()> task) override;
  int64_t NowMillis() const override { return clock_->NowMillis(); }
  void Call(std::function<void()> call) override;
  void RunUntil(const std::function<bool()>& holds) override;

 private:
  using Tasks = std::vector<std::function<void()>>;

  void Run();
  void RunCalls();
  // Does what is due and says when the next is.
  int64_t RunDue();
  // Does all of them; `*left` says how many come after the one that is being done. `queue` is where more
  // would be.
  void Do(const Tasks& tasks, Tasks ThreadLoop::*queue, size_t* left);

  Store* const store_;
  const base::SystemClock system_clock_;
  const base::Clock* const clock_;
  std::multimap<int64_t, std::function<void()>> timed_;  // of the loop's thread

  base::Mutex mu_;
  base::CondVar posted_changed_;
  Tasks posted_ HF_GUARDED_BY(mu_);
  bool waiting_ HF_GUARDED_BY(mu_) = false;
  bool stop_ HF_GUARDED_BY(mu_) = false;
  base::CondVar calls_changed_;
  Tasks calls_ HF_GUARDED_BY(mu_);
  bool stop_calls_ HF_GUARDED_BY(mu_) = false;

  size_t left_ = 0;  // of the loop's thread: tasks that it knows of, besides the one it is at
  std::thread calling_;
  std::thread thread_;
};

}  // namespace holdfast::agent
