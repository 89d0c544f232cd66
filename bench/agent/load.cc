// A load on the agent runtime through the C++ SDK: users that wait for each answer, and a worker that gives
// it.
//
//   holdfast serve --port 8000 --data DIR --apply &
//   T=$(holdfast token --data DIR --subject bench --role admin)
//   holdfast_agent_load --server http://127.0.0.1:8000 --token $T --sessions 100 --seconds 10
//
// Flags: --mode client|worker|both (both), --agent NAME (bench), --warmup SECONDS (1), --threads N and
// --credit N of the worker (1, and as many as there are sessions). In a closed loop each session says
// something, waits for the answer and says the next; the worker keeps 1 KB of state and answers each event
// with one message. --seconds 0: until it is killed; for workers. Prints one JSON object: the events answered
// after the warm-up, and how long an answer took from Send to on_message.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/agent.h"

namespace holdfast::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  AgentServer server;
  std::string agent = "bench";
  std::string mode = "both";
  int sessions = 100;
  double seconds = 10, warmup = 1;
  int threads = 1, credit = 0;
};

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "holdfast_agent_load: %s\n", why.c_str());
  std::exit(1);
}

std::unique_ptr<AgentWorker> OpenWorker(const Options& options, std::atomic<int64_t>* events) {
  AgentWorkerOptions worker;
  worker.server = options.server;
  worker.agents = {options.agent};
  worker.credit = options.credit > 0 ? options.credit : std::min(options.sessions, 1000);
  worker.threads = options.threads;
  worker.log = [](std::string_view line) {
    std::fprintf(stderr, "worker: %.*s\n", static_cast<int>(line.size()), line.data());
  };
  auto opened = OpenAgentWorker(worker, [events](Turn& turn) -> Status {
    std::optional<AttributeValue> turns = turn.state().Get("turns");
    turn.SetState({{"turns", turns ? *turns->AsInt64() + 1 : 1}, {"notes", std::string(1000, 'n')}});
    for (const AgentEvent& event : turn.events())
      turn.Send("You said: " + event.payload.Get("text").value_or(AttributeValue()).AsText());
    *events += static_cast<int64_t>(turn.events().size());
    return Ok{};
  });
  if (!opened) Die(opened.error().ToString());
  return *std::move(opened);
}

// The users, all on one thread.
class Users {
 public:
  explicit Users(const Options& options)
      : network_(*StartAgentNetwork()), sent_(static_cast<size_t>(options.sessions)) {
    // New sessions each time: an earlier run may have left answers on their way.
    std::string run = std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
    for (int i = 0; i < options.sessions; ++i) {
      AgentClientOptions client;
      client.server = options.server;
      client.session = "load:" + options.agent + ":" + run + "-" + std::to_string(i);
      client.on_message = [this, i](const AgentMessage&) { Answered(static_cast<size_t>(i)); };
      client.on_end = [](const Error& why) { Die(why.ToString()); };
      auto opened = OpenAgentClient(network_.get(), client);
      if (!opened) Die(opened.error().ToString());
      clients_.push_back(*std::move(opened));
    }
  }
  ~Users() { stop_ = true; }

  void Begin() {
    for (size_t i = 0; i < clients_.size(); ++i) Say(i);
  }
  void Measure() { measuring_ = true; }
  // Milliseconds, ascending.
  std::vector<float> End() {
    stop_ = true;
    clients_.clear();
    std::sort(latencies_.begin(), latencies_.end());
    return std::move(latencies_);
  }

 private:
  void Say(size_t i) {
    sent_[i] = Clock::now();
    clients_[i]->Send("How is the weather in Port Alder, and what should I pack?",
                      [](Result<SentMessage> sent) {
                        if (!sent && sent.error().code() != ErrorCode::kIo) Die(sent.error().ToString());
                      });
  }
  void Answered(size_t i) {
    if (measuring_) {
      latencies_.push_back(std::chrono::duration<float, std::milli>(Clock::now() - sent_[i]).count());
    }
    if (!stop_) Say(i);
  }

  const std::unique_ptr<AgentNetwork> network_;
  std::atomic<bool> measuring_{false}, stop_{false};
  std::vector<Clock::time_point> sent_;
  std::vector<float> latencies_;
  std::vector<std::unique_ptr<AgentClient>> clients_;
};

void Sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--server")
      options.server.url = value;
    else if (flag == "--token")
      options.server.token = value;
    else if (flag == "--agent")
      options.agent = value;
    else if (flag == "--mode")
      options.mode = value;
    else if (flag == "--sessions")
      options.sessions = std::atoi(value.c_str());
    else if (flag == "--seconds")
      options.seconds = std::atof(value.c_str());
    else if (flag == "--warmup")
      options.warmup = std::atof(value.c_str());
    else if (flag == "--threads")
      options.threads = std::atoi(value.c_str());
    else if (flag == "--credit")
      options.credit = std::atoi(value.c_str());
    else
      Die("no such flag: " + flag);
  }

  std::atomic<int64_t> handled{0};
  std::unique_ptr<AgentWorker> worker;
  std::thread working;
  if (options.mode != "client") {
    worker = OpenWorker(options, &handled);
    working = std::thread([&worker] {
      if (Status ended = worker->Run(); !ended) Die(ended.error().ToString());
    });
  }
  if (options.mode == "worker" && options.seconds == 0) working.join();
  std::unique_ptr<Users> users;
  if (options.mode != "worker") {
    users = std::make_unique<Users>(options);
    users->Begin();
  }
  Sleep(options.warmup);
  if (users) users->Measure();
  int64_t before = handled;
  auto begin = Clock::now();
  Sleep(options.seconds);
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  int64_t events = handled - before;
  std::vector<float> latencies;
  if (users) {
    latencies = users->End();
    events = static_cast<int64_t>(latencies.size());
  }
  if (worker) {
    worker->Stop();
    working.join();
  }
  auto percentile = [&](size_t percent) {
    return latencies.empty() ? 0.0 : double{latencies[(latencies.size() - 1) * percent / 100]};
  };
  std::printf("{\"events\":%lld,\"seconds\":%.3f,\"p50_ms\":%.3f,\"p99_ms\":%.3f}\n",
              static_cast<long long>(events), seconds, percentile(50), percentile(99));
  return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  return holdfast::bench::Main(argc, argv);
}
