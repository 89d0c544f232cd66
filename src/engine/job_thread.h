// A thread for long work, at low priority, one job after another: indexes are filled, backups made and tables
// restored on one each.
//
// Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace holdfast::engine {

class JobThread {
 public:
  using Job = std::function<void()>;

  // The thread's name, at most 15 characters, must outlive it.
  explicit JobThread(const char* name);
  // Waits for the job under way, which should look at stopping(); later ones are not begun.
  ~JobThread();

  void Add(Job job);
  void WaitIdle();
  bool stopping() const;
  // Returns at once when the thread is to stop.
  void Sleep(std::chrono::milliseconds duration);
  // To be called first by an owner whose jobs use what goes before the thread does.
  void Stop();

 private:
  void Run(const char* name);

  mutable base::Mutex mu_;
  base::CondVar changed_;
  std::deque<Job> jobs_ HF_GUARDED_BY(mu_);  // the front one is being worked on
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace holdfast::engine
