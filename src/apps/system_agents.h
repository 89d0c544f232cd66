// The applications' own use of the agent runtime: what is to happen later is a session with a timer, and a
// worker in this process that does it.
//
//   pm:holds:<projectId>        an action that was held back is released when its time is over
//   trip:choices:<bookingId>    a booking whose options nobody chooses from is cancelled after a while
//
// A session keeps in its state what is to be done when, and one timer for the next of it. What it does are
// commands whose own conditions let them happen once, so that doing one again after a crash does no harm.
// What a command told is appended to the session after its commit; what a crash left out is found by a sweep.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/runtime.h"
#include "apps/apps.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "holdfast/model.h"

namespace holdfast::apps {

struct SystemAgentsOptions {
  // How long a booking waits for a choice; 0: for ever.
  int64_t choice_millis = 0;
  int64_t sweep_millis = 60'000;
  // Tells what the commands emitted. May be empty.
  std::function<void(const model::Model&, const std::vector<Emitted>&)> emit;
  const base::Clock* clock = nullptr;  // null: the system's
};

class SystemAgents {
 public:
  // All, and the runtime, must outlive it. Applications that it has no part in are left alone, and a runtime
  // is asked for when there is something to do.
  SystemAgents(OpenAgents open, std::vector<Application*> applications, SystemAgentsOptions options,
               const base::Log* log);
  ~SystemAgents();
  SystemAgents(const SystemAgents&) = delete;
  SystemAgents& operator=(const SystemAgents&) = delete;

  // What a command told after its commit. Waits for nothing but, once, the runtime to start.
  void Told(const model::Model& model, const std::vector<Emitted>& emitted);

 private:
  class Inbox;

  void Run();
  void Sweep();
  Status SweepHolds();
  Status SweepChoices();
  // An action or a booking, as it is stored or as a command told of it.
  void PlanRelease(const Item& action);
  void PlanCancel(const Item& booking);
  // The same id again is no second event.
  void Append(const std::string& session, const std::string& id, Item payload);
  void DoWork(agent::Runtime* runtime, const agent::Work& work);
  // Runs what a session planned. When it is to be tried again; nothing: that is over.
  std::optional<int64_t> Do(const std::string& session, const Item& input, int64_t now);
  int64_t Now() const;

  // The runtime, with these agents attached.
  Result<agent::Runtime*> Attached();

  const OpenAgents open_;
  Application* pm_ = nullptr;
  Application* trip_ = nullptr;
  const SystemAgentsOptions options_;
  const base::Log* const log_;
  const std::shared_ptr<Inbox> inbox_;  // the runtime may hold it for longer than this lives
  agent::WorkerHello hello_;
  base::Mutex mu_;
  agent::Runtime* runtime_ HF_GUARDED_BY(mu_) = nullptr;  // that they are attached to
  agent::ConnectionId connection_ HF_GUARDED_BY(mu_) = 0;
  std::thread thread_;
};

}  // namespace holdfast::apps
