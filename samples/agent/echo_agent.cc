// An agent that answers what users say, and asks whether they are still there when they fall silent:
//
//   HOLDFAST_TOKEN=… echo_agent URL AGENT [SILENCE_MS]
//
// The token is a worker's: holdfast token --data DIR --subject echo --role worker. It ends on SIGTERM and
// SIGINT, with its turns finished. Killed outright it loses nothing either: the server hands out anew what
// was not committed.
#include <holdfast/agent.h>

#include <pthread.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

namespace {

using holdfast::Item;
using holdfast::Status;

int64_t Count(const Item& state) {
  auto count = state.Get("count");
  return count ? count->AsInt64().value_or(0) : 0;
}

// Empty where there is no such text.
std::string Text(const Item& item, std::string_view name) {
  auto value = item.Get(name);
  return value ? value->AsText() : std::string();
}

// What the user says sets the timer anew; what the timer says does not, so that it asks once.
Status Answer(holdfast::Turn& turn, int64_t silence_millis) {
  Item state = turn.state();
  for (const holdfast::AgentEvent& event : turn.events()) {
    if (event.type == "user_message") {
      std::string text = Text(event.payload, "text");
      turn.Send("You said: " + text);
      turn.ScheduleTimer({.timer_id = "silence", .delay_millis = silence_millis});
      state.Set("last", text);
      state.Set("count", Count(state) + 1);
    } else if (event.type == "timer") {
      turn.Send("Still there? We were at \"" + Text(state, "last") + "\", your message number " +
                std::to_string(Count(state)) + ".");
    }
  }
  turn.SetState(state);
  return holdfast::Ok{};
}

}  // namespace

int main(int argc, char** argv) {
  const char* token = std::getenv("HOLDFAST_TOKEN");
  if (argc < 3 || token == nullptr) {
    std::cerr << "usage: HOLDFAST_TOKEN=… echo_agent URL AGENT [SILENCE_MS]\n";
    return 2;
  }
  int64_t silence_millis = argc > 3 ? std::atoll(argv[3]) : 60'000;

  holdfast::AgentWorkerOptions options;
  options.server = {.url = argv[1], .token = token};
  options.agents = {argv[2]};
  // Its turns are over in no time: what a crash leaves in its hands need not wait long for others.
  options.lease_millis = 5000;
  options.log = [](std::string_view line) { std::cerr << "echo_agent: " << line << std::endl; };

  // Before the worker has threads, so that they do not take the signals either.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto worker =
      holdfast::OpenAgentWorker(options, [&](holdfast::Turn& turn) { return Answer(turn, silence_millis); });
  if (!worker) {
    std::cerr << "echo_agent: " << worker.error().ToString() << "\n";
    return 1;
  }
  std::thread([&signals, worker = worker->get()] {
    int signal = 0;
    sigwait(&signals, &signal);
    worker->Stop();
  }).detach();

  Status ended = (*worker)->Run();
  if (!ended) std::cerr << "echo_agent: " << ended.error().ToString() << "\n";
  // The thread that waits for signals may still hold the worker: it ends with the program.
  std::_Exit(ended ? 0 : 1);
}
