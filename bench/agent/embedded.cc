// How many events a second the agent runtime takes in one process, without a network: users who wait for the answer to
// what they said before they say more, a worker that answers, 1 KB of state a session.
//   holdfast_agent_embedded DIRECTORY SESSIONS SECONDS
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/runtime.h"
#include "holdfast/database.h"

namespace {

using namespace holdfast;         // NOLINT
using namespace holdfast::agent;  // NOLINT
using std::chrono::steady_clock;

class EchoWorker final : public WorkerSink {
 public:
  explicit EchoWorker(Runtime* runtime) : runtime_(runtime) {}
  void OnWork(const Work& work) override {
    CommitRequest commit;
    commit.session = work.session;
    commit.epoch = work.epoch;
    commit.upto = work.events.back().seq;
    commit.token = "c" + std::to_string(++tokens_);
    commit.state = Item{{"padding", std::string(1000, 'x')}, {"turns", commit.upto}};
    commit.effects.push_back({.type = "send_message", .payload = Item{{"content", "You said something"}}});
    runtime_->Commit(std::move(commit), [](const Result<Committed>& done) {
      if (!done) std::printf("commit: %s\n", done.error().ToString().c_str());
    });
  }
  void OnCancel(const Cancel&) override {}

 private:
  Runtime* const runtime_;
  int64_t tokens_ = 0;
};

class User final : public DeviceSink, public std::enable_shared_from_this<User> {
 public:
  User(Runtime* runtime, std::string session) : runtime_(runtime), session_(std::move(session)) {}
  void Start() { connection_ = runtime_->Connect({.session = session_}, shared_from_this()); }
  void Say() {
    said_ = steady_clock::now();
    runtime_->Append({.session = session_, .payload = Item{{"text", "hello there"}}}, [](const Result<Appended>& done) {
      if (!done) std::printf("append: %s\n", done.error().ToString().c_str());
    });
  }
  void OnReady(int64_t, int64_t) override { Say(); }
  void OnMessage(const Message& message) override {
    micros.push_back(static_cast<int64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - said_).count()));
    runtime_->Acknowledge(connection_, message.n);
    if (!stop) Say();
  }
  void OnSkip(int64_t) override {}
  void OnState(std::string_view) override {}
  void OnEnd(std::string_view) override {}

  std::vector<int64_t> micros;
  std::atomic<bool> stop{false};

 private:
  Runtime* const runtime_;
  const std::string session_;
  std::atomic<ConnectionId> connection_{0};
  steady_clock::time_point said_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  Options options;
  options.directory = std::string(argv[1]) == "memory" ? "" : argv[1];
  auto database = Database::Open(options);
  if (!database) return std::printf("%s\n", database.error().ToString().c_str()), 1;
  auto store = EmbeddedStore(database->get());
  auto runtime = Runtime::Open(store.get(), {}, nullptr);
  if (!runtime) return std::printf("%s\n", runtime.error().ToString().c_str()), 1;
  auto worker = std::make_shared<EchoWorker>(runtime->get());
  (*runtime)->Attach({.worker = "w", .agents = {"echo"}, .credit = 1000}, worker);
  std::vector<std::shared_ptr<User>> users;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    users.push_back(std::make_shared<User>(runtime->get(), "u" + std::to_string(i) + ":echo:t"));
    users.back()->Start();
  }
  std::this_thread::sleep_for(std::chrono::seconds(std::atoi(argv[3])));
  for (auto& user : users) user->stop = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::vector<int64_t> all;
  for (auto& user : users) all.insert(all.end(), user->micros.begin(), user->micros.end());
  std::sort(all.begin(), all.end());
  if (all.empty()) return std::printf("no events\n"), 1;
  std::printf("%zu events, %zu/s, p50 %lld us, p99 %lld us\n", all.size(), all.size() / static_cast<size_t>(std::atoi(argv[3])),
              static_cast<long long>(all[all.size() / 2]), static_cast<long long>(all[all.size() * 99 / 100]));
  runtime->reset();
  return 0;
}
