// The background thread that looks after the store: removes expired items and tokens, trims the change log,
// saves figures, and carries out what was put off.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "base/mutex.h"
#include "engine/catalog/catalog.h"

namespace holdfast::engine {

class Engine;

class Housekeeper {
 public:
  Housekeeper(Engine* engine, bool manual);
  ~Housekeeper();
  // Ends the thread, and carries out what was put off. To be called first by an owner that tasks use.
  void Stop();
  // Long work should look at it.
  bool stopping() const;

  // Runs `task` on the background thread after `delay_millis`, or when the store closes, whichever comes
  // first.
  void After(int64_t delay_millis, std::function<void()> task);
  // Everything that is due, now, in this thread. Adds the items that it removed to `expired`.
  Status RunOnce(uint64_t* expired = nullptr);
  uint64_t expired_items() const { return expired_items_.load(); }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  void Run();
  Status SweepTable(const TablePtr& table, int64_t now_seconds, uint64_t* expired);
  Status SweepTokens(int64_t now_seconds);
  Status SaveFigures();
  void RunTasks(bool all);

  Engine* const engine_;
  std::atomic<uint64_t> expired_items_{0};
  base::Mutex run_mu_;  // one round at a time
  mutable base::Mutex mu_;
  base::CondVar changed_;
  std::multimap<TimePoint, std::function<void()>> tasks_ HF_GUARDED_BY(mu_);
  bool stop_ HF_GUARDED_BY(mu_) = false;
  TimePoint figures_saved_;
  std::thread thread_;
};

}  // namespace holdfast::engine
