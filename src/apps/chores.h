// What applications need done from time to time: commands that a server runs by itself.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "holdfast/model.h"

namespace holdfast::apps {

// Runs them, on a thread of its own, until it is destroyed; each once at the beginning, so that what a crash
// left is seen to. A chore that is refused is tried again when its time comes.
class Chores {
 public:
  // What the commands told, after their commits.
  using Tell = std::function<void(const model::Model&, const std::vector<Emitted>&)>;
  // All must outlive it. `tell` may be empty.
  // A test may divide the chores' periods by `hurry`.
  Chores(std::vector<Application*> applications, Tell tell, const base::Log* log, int64_t hurry = 1);
  ~Chores();
  Chores(const Chores&) = delete;
  Chores& operator=(const Chores&) = delete;

 private:
  void Run();
  void Warn(std::string_view command, const std::vector<ModelWarning>& warnings);

  const std::vector<Application*> applications_;
  const Tell tell_;
  const base::Log* const log_;
  const int64_t hurry_;
  base::Mutex mu_;
  base::CondVar stopping_;
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::set<std::string> warned_;  // of the thread
  std::thread thread_;
};

}  // namespace holdfast::apps
