#include "apps/chores.h"

#include <chrono>
#include <string_view>

#include "base/thread.h"
#include "model/model.h"
#include "model/refusal.h"

namespace holdfast::apps {
namespace {

using std::chrono::steady_clock;

struct Chore {
  std::string_view model;
  std::string_view command;
  std::chrono::seconds period;
};
constexpr Chore kChores[] = {
    {"pm", "action.releaseDue", std::chrono::seconds(60)},
    {"trip", "policy.cleanup", std::chrono::seconds(5)},
    {"trip", "ws.heartbeat", std::chrono::seconds(300)},
};

struct Planned {
  const Chore* chore = nullptr;
  Application* application = nullptr;
  steady_clock::time_point due;
};

}  // namespace

Chores::Chores(std::vector<Application*> applications, Tell tell, const base::Log* log, int64_t hurry)
    : applications_(std::move(applications)),
      tell_(std::move(tell)),
      log_(log),
      hurry_(hurry),
      thread_([this] { Run(); }) {}

Chores::~Chores() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    stopping_.NotifyAll();
  }
  thread_.join();
}

void Chores::Run() {
  std::vector<Planned> planned;
  for (const Chore& chore : kChores) {
    for (Application* application : applications_) {
      bool has = application->model().name == chore.model && application->model().FindCommand(chore.command);
      if (has) planned.push_back({&chore, application, steady_clock::now()});
    }
  }
  while (!planned.empty()) {
    steady_clock::time_point next = steady_clock::time_point::max();
    for (Planned& one : planned) {
      if (one.due <= steady_clock::now()) {
        auto done = base::CallContained(*log_, one.chore->command, [&]() -> Result<CommandAnswer> {
          HF_TRY(CommandAnswer answer, one.application->Run(Caller::Administrator(), one.chore->command, {}));
          if (tell_) tell_(one.application->model(), answer.emitted);
          return answer;
        });
        if (done) Warn(one.chore->command, done->warnings);
        // A model whose tables are not made yet has nothing to be done.
        if (!done && model::RefusalName(done.error()) != "Unavailable") {
          HF_LOG(*log_, kWarning, "a chore was refused", {"model", one.chore->model},
                 {"command", one.chore->command}, {"error", done.error().ToString()});
        }
        one.due = steady_clock::now() +
                  std::chrono::duration_cast<steady_clock::duration>(one.chore->period) / hurry_;
      }
      next = std::min(next, one.due);
    }
    base::MutexLock lock(&mu_);
    while (!stop_ && stopping_.WaitUntil(&mu_, next)) {
    }
    if (stop_) return;
  }
}

// A malformed item is there each time: it is logged once.
void Chores::Warn(std::string_view command, const std::vector<ModelWarning>& warnings) {
  constexpr size_t kWarnedMax = 1'000;
  if (warned_.size() > kWarnedMax) warned_.clear();
  for (const ModelWarning& warning : warnings) {
    if (!warned_.insert(warning.path).second) continue;
    HF_LOG(*log_, kWarning, "a chore warns", {"command", command}, {"item", warning.path},
           {"why", warning.message});
  }
}

}  // namespace holdfast::apps
