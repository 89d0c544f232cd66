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

namespace holdfast::agent {

class Loop {
 public:
  virtual ~Loop() = default;
  // Does it soon. From any thread.
  virtual void Post(std::function<void()> task) = 0;
  // Does it when the clock shows this time, never before. On the loop's thread.
  virtual void At(int64_t millis, std::function<void()> task) = 0;
  virtual int64_t NowMillis() const = 0;
  // Goes on until this holds. Not on the loop's thread.
  virtual void RunUntil(const std::function<bool()>& holds) = 0;
};

// A thread of its own. The destructor does what was posted and drops what waits for its time.
class ThreadLoop final : public Loop {
 public:
  ThreadLoop();
  ~ThreadLoop() override;
  void Post(std::function<void()> task) override;
  void At(int64_t millis, std::function<void()> task) override;
  int64_t NowMillis() const override { return clock_.NowMillis(); }
  void RunUntil(const std::function<bool()>& holds) override;

 private:
  void Run();
  // Does what is due and says when the next is.
  int64_t RunDue();

  const base::SystemClock clock_;
  std::multimap<int64_t, std::function<void()>> timed_;  // of the loop's thread

  base::Mutex mu_;
  base::CondVar posted_changed_;
  std::vector<std::function<void()>> posted_ HF_GUARDED_BY(mu_);
  bool waiting_ HF_GUARDED_BY(mu_) = false;
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace holdfast::agent
