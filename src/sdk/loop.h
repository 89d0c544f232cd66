// One thread that waits for many sockets: readiness, timers, and tasks from other threads.
//
//   HF_TRY(auto loop, Loop::Open());
//   std::thread thread([&] { loop->Run(); });
//   loop->Post([&] { loop->After(100, […] { … }); });
//   loop->Stop(); thread.join();
//
// A round: the tasks posted before it, what is ready, the timers whose time has come, then OnRoundEnd for
// those that asked for it. What is said in one round thus leaves in one write.
//
// Thread safety: Post, Stop, OnThread and Rearm from any thread, all else on the loop's (or before it runs).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "holdfast/result.h"

namespace holdfast::sdk {

class Loop {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void OnReady(uint32_t events) = 0;
    virtual void OnRoundEnd() = 0;
  };
  // Names of what is watched or awaited; never used twice. 0 is none.
  using WatchId = uint64_t;
  using TimerId = std::pair<int64_t, uint64_t>;

  static Result<std::unique_ptr<Loop>> Open();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void Run();  // until Stop
  void Stop();
  void Post(std::function<void()> task);
  // The same, and waits until it is done; at once on the loop's own thread. Requires: the loop runs.
  void PostAndWait(const std::function<void()>& task);
  bool OnThread() const { return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  // `events` as for epoll. The handler hears of nothing more once Forget has returned.
  WatchId Watch(int fd, uint32_t events, Handler* handler);
  void Rearm(int fd, WatchId id, uint32_t events) const;
  void Forget(int fd, WatchId id);
  // In this round, once, however often it is asked for.
  void AtRoundEnd(WatchId id) { ending_.push_back(id); }

  TimerId After(int64_t millis, std::function<void()> task);
  void Cancel(TimerId timer) { timers_.erase(timer); }

  // For whoever reads at the moment.
  std::string* scratch() { return &scratch_; }

 private:
  Loop(int epoll, int wake) : epoll_(epoll), wake_(wake) {}
  void Wake() const;
  int WaitMillis() const;
  Handler* Find(WatchId id) const;

  const int epoll_;
  const int wake_;  // an eventfd, whose edges alone count: it is never read
  std::atomic<std::thread::id> thread_;
  std::atomic<bool> stop_{false};

  // Of the loop's thread.
  std::unordered_map<WatchId, Handler*> handlers_;
  std::map<TimerId, std::function<void()>> timers_;  // by their moment, in monotonic microseconds
  std::vector<WatchId> ending_;
  uint64_t next_id_ = 1;
  std::string scratch_ = std::string(size_t{256} << 10, '\0');

  base::Mutex mu_;
  std::vector<std::function<void()>> tasks_ HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::sdk
