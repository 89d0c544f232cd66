#include "apps/chores.h"

#include <chrono>
#include <string_view>

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

Chores::Chores(std::vector<Application*> applications, Tell tell, const base::Log* log)
    : applications_(std::move(applications)), tell_(std::move(tell)), log_(log), thread_([this] { Run(); }) {}

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
        auto done = one.application->Run(Caller(), one.chore->command, {});
        if (done && tell_) tell_(one.application->model(), done->emitted);
        // A model whose tables are not made yet has nothing to be done.
        if (!done && model::RefusalName(done.error()) != "Unavailable") {
          HF_LOG(*log_, kWarning, "a chore was refused", {"model", one.chore->model},
                 {"command", one.chore->command}, {"error", done.error().ToString()});
        }
        one.due = steady_clock::now() + one.chore->period;
      }
      next = std::min(next, one.due);
    }
    base::MutexLock lock(&mu_);
    while (!stop_ && stopping_.WaitUntil(&mu_, next)) {
    }
    if (stop_) return;
  }
}

}  // namespace holdfast::apps
