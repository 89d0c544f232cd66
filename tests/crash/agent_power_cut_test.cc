// Cuts the power under sessions of agents at work, over and over, and looks at what is left: every event and
// commit that was acknowledged, no gap in events or messages, nothing twice, nobody stuck.
//
// Each seed is one store that lives through several cuts. `HOLDFAST_CRASH_SEEDS=200` is the long form; a
// failure prints its seed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "agent/runtime.h"
#include "engine/engine.h"
#include "storage/fault/fault_file_system.h"
#include "store/embedded_store.h"

namespace holdfast::agent {
namespace {

constexpr int kSessions = 6;
constexpr int kRounds = 3;
constexpr auto kPatience = std::chrono::seconds(30);

// What users, devices and the worker were told; lives through the cuts.
struct Known {
  std::mutex mu;
  std::map<std::string, std::map<std::string, int64_t>> appended;             // session → id → seq
  std::map<std::string, std::map<int64_t, std::string>> committed;            // session → seq → token
  std::map<std::string, std::vector<std::pair<int64_t, std::string>>> shown;  // session → messages, each once
  std::map<std::string, std::string> asking;  // session → id without an answer
  std::vector<std::string> faults;

  void Fault(const std::string& what) { faults.push_back(what); }
};

class Worker final : public WorkerSink {
 public:
  Worker(Runtime* runtime, Known* known, uint64_t seed) : runtime_(runtime), known_(known), random_(seed) {}

  void OnWork(const Work& work) override {
    CommitRequest commit;
    commit.session = work.session;
    commit.epoch = work.epoch;
    commit.upto = work.events.back().seq;
    commit.token = "c" + std::to_string(random_());
    commit.state = Item{{"seen", commit.upto}};
    commit.effects.push_back({.type = "send_message", .payload = Item{{"content", work.events.back().id}}});
    bool spoken = work.events.back().type == "user_message";
    if (spoken && random_() % 3 == 0) {
      int64_t delay = static_cast<int64_t>(random_() % 10);
      commit.effects.push_back({.type = "schedule_timer",
                                .payload = Item{{"timer_id", "t"}, {"delay_ms", delay}},
                                .keep = random_() % 2 == 0});
    }
    std::string session = commit.session, token = commit.token;
    int64_t upto = commit.upto;
    runtime_->Commit(std::move(commit), [this, session, token, upto](const Result<Committed>& done) {
      std::lock_guard lock(known_->mu);
      if (done) known_->committed[session][upto] = token;
    });
  }
  void OnCancel(const Cancel&) override {}

 private:
  Runtime* const runtime_;
  Known* const known_;
  std::mt19937_64 random_;
};

class Screen final : public DeviceSink {
 public:
  Screen(Known* known, std::string session) : known_(known), session_(std::move(session)) {}
  void Open(Runtime* runtime) {
    runtime_ = runtime;
    int64_t after = 0;
    {
      std::lock_guard lock(known_->mu);
      after = static_cast<int64_t>(known_->shown[session_].size());
    }
    connection_ = runtime->Connect({.session = session_, .after = after},
                                   std::shared_ptr<Screen>(this, [](Screen*) {}));
  }
  void OnReady(int64_t, int64_t) override {}
  void OnMessage(const Message& message) override {
    {
      std::lock_guard lock(known_->mu);
      auto& shown = known_->shown[session_];
      auto next = static_cast<int64_t>(shown.size()) + 1;
      if (message.n > next)
        known_->Fault(session_ + ": message " + std::to_string(message.n) + " came before " +
                      std::to_string(next));
      if (message.n == next) shown.emplace_back(message.n, message.content);
      if (message.n < next && shown[static_cast<size_t>(message.n) - 1].second != message.content)
        known_->Fault(session_ + ": message " + std::to_string(message.n) + " changed");
    }
    runtime_->Acknowledge(connection_, message.n);
  }
  void OnSkip(int64_t n) override {
    std::lock_guard lock(known_->mu);
    known_->Fault(session_ + ": skipped " + std::to_string(n));
  }
  void OnState(std::string_view) override {}
  void OnEnd(std::string_view) override {}

 private:
  Known* const known_;
  const std::string session_;
  Runtime* runtime_ = nullptr;
  std::atomic<ConnectionId> connection_{0};
};

class PowerCut {
 public:
  PowerCut(uint64_t seed, Durability durability)
      : seed_(seed),
        durability_(durability),
        random_(seed),
        disk_(std::make_shared<storage::FaultFileSystem>(seed)) {
    directory_ = std::filesystem::temp_directory_path() /
                 ("holdfast-agent-cut-" + std::to_string(::getpid()) + "-" + std::to_string(seed));
    std::filesystem::remove_all(directory_);
    for (int i = 0; i < kSessions; ++i) sessions_.push_back("u" + std::to_string(i) + ":echo:t");
    for (const std::string& session : sessions_)
      screens_.push_back(std::make_unique<Screen>(&known_, session));
  }
  ~PowerCut() {
    Close();
    std::filesystem::remove_all(directory_);
    std::filesystem::remove_all(directory_ + ".parked");
  }

  std::vector<std::string> Live() {
    for (int round = 0; round < kRounds && known_.faults.empty(); ++round) {
      if (!Open()) break;
      disk_->CutAfter(durability_ == Durability::kNone ? 50 : 200 + random_() % 1500);
      std::vector<std::thread> users;
      for (const std::string& session : sessions_)
        users.emplace_back([this, session] { TalkUntilCut(session); });
      for (std::thread& user : users) user.join();
      Close();
      disk_->Restore();
      if (!Open()) break;
      Settle();
      Inspect();
      Close();
    }
    for (std::string& fault : known_.faults) fault = "seed " + std::to_string(seed_) + ": " + fault;
    return known_.faults;
  }

 private:
  bool Open() {
    engine::EngineOptions options;
    options.options.directory = directory_;
    options.options.durability = durability_;
    options.file_system = disk_;
    if (seed_ % 2 == 0) options.write_buffer_bytes = 128 << 10;  // cuts meet flushes and compactions too
    auto engine = engine::Engine::Open(options);
    if (!engine) return known_.Fault(engine.error().ToString()), false;
    engine_ = *std::move(engine);
    store_ = store::EmbeddedStore(engine_.get());
    auto runtime = Runtime::Open(store_.get(), {}, nullptr);
    if (!runtime) return known_.Fault(runtime.error().ToString()), false;
    runtime_ = *std::move(runtime);
    worker_ = std::make_shared<Worker>(runtime_.get(), &known_, random_());
    runtime_->Attach({.worker = "w", .agents = {"echo"}, .credit = kSessions, .lease_millis = 1'000},
                     worker_);
    for (auto& screen : screens_) screen->Open(runtime_.get());
    return true;
  }
  void Close() {
    runtime_.reset();
    store_.reset();
    engine_.reset();
  }

  // False when the power is gone, or the answer is unknown.
  bool Say(const std::string& session, const std::string& id) {
    {
      std::lock_guard lock(known_.mu);
      known_.asking[session] = id;
    }
    AppendRequest request{.session = session, .id = id, .payload = Item{{"text", id}}};
    auto appended =
        Runtime::Await<Appended>([&](Done<Appended> done) { runtime_->Append(request, std::move(done)); });
    if (!appended) return false;
    std::lock_guard lock(known_.mu);
    known_.asking.erase(session);
    auto [at, fresh] = known_.appended[session].emplace(id, appended->seq);
    if (!fresh && at->second != appended->seq) known_.Fault(session + ": " + id + " has two numbers");
    return true;
  }
  void TalkUntilCut(const std::string& session) {
    while (!disk_->is_cut()) {
      size_t said = 0;
      {
        std::lock_guard lock(known_.mu);
        said = known_.appended[session].size();
      }
      if (!Say(session, "m" + std::to_string(said + 1))) return;
    }
  }

  SessionView View(const std::string& session) {
    auto view = Runtime::Await<SessionView>(
        [&](Done<SessionView> done) { runtime_->GetSession(session, std::move(done)); });
    return view ? *view : SessionView();
  }
  // What was asked when the power went is asked again; then everything that can be done is done.
  void Settle() {
    std::map<std::string, std::string> asking = known_.asking;
    for (const auto& [session, id] : asking) {
      if (!Say(session, id)) known_.Fault(session + ": " + id + " is refused after the cut");
    }
    auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (const std::string& session : sessions_) {
      for (;;) {
        SessionView view = View(session);
        std::vector<TimerView> timers =
            *Runtime::Await<std::vector<TimerView>>([&](Done<std::vector<TimerView>> done) {
              runtime_->ListTimers(session, "pending", std::move(done));
            });
        std::unique_lock lock(known_.mu);
        bool shown = static_cast<int64_t>(known_.shown[session].size()) >= view.last_n;
        if (view.event_seq == view.last_seq && timers.empty() && shown) break;
        lock.unlock();
        if (std::chrono::steady_clock::now() > deadline) {
          known_.Fault(session + " is stuck at " + std::to_string(view.event_seq) + " of " +
                       std::to_string(view.last_seq) + " events, " + std::to_string(timers.size()) +
                       " timers");
          return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
  }

  void Inspect() {
    for (const std::string& session : sessions_) {
      SessionView view = View(session);
      EventPage page = *Runtime::Await<EventPage>(
          [&](Done<EventPage> done) { runtime_->ListEvents(session, 0, 100'000, std::move(done)); });
      std::map<std::string, int64_t> ids;
      for (size_t i = 0; i < page.events.size(); ++i) {
        if (page.events[i].seq != static_cast<int64_t>(i) + 1)
          known_.Fault(session + ": a gap before event " + std::to_string(page.events[i].seq));
        if (!ids.emplace(page.events[i].id, page.events[i].seq).second)
          known_.Fault(session + ": event " + page.events[i].id + " twice");
      }
      if (static_cast<int64_t>(page.events.size()) != view.last_seq)
        known_.Fault(session + ": the head says " + std::to_string(view.last_seq) + " events");
      for (const auto& [id, seq] : known_.appended[session]) {
        auto found = ids.find(id);
        if (found == ids.end() || found->second != seq)
          known_.Fault(session + ": acknowledged event " + id + " is lost");
      }
      for (const auto& [seq, token] : known_.committed[session]) {
        auto checkpoint = Runtime::Await<CheckpointView>([&, seq = seq](Done<CheckpointView> done) {
          runtime_->GetCheckpoint(session, seq, std::move(done));
        });
        if (!checkpoint) known_.Fault(session + ": acknowledged commit " + std::to_string(seq) + " is lost");
      }
      MessagePage messages = *Runtime::Await<MessagePage>(
          [&](Done<MessagePage> done) { runtime_->ListMessages(session, 0, 100'000, std::move(done)); });
      std::set<std::string> contents;
      for (size_t i = 0; i < messages.messages.size(); ++i) {
        if (messages.messages[i].n != static_cast<int64_t>(i) + 1)
          known_.Fault(session + ": a gap before message " + std::to_string(messages.messages[i].n));
        if (!contents.insert(messages.messages[i].content).second)
          known_.Fault(session + ": " + messages.messages[i].content + " was answered twice");
      }
    }
  }

  const uint64_t seed_;
  const Durability durability_;
  std::mt19937_64 random_;
  std::string directory_;
  std::shared_ptr<storage::FaultFileSystem> disk_;
  std::vector<std::string> sessions_;
  Known known_;
  std::vector<std::unique_ptr<Screen>> screens_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Store> store_;
  std::shared_ptr<Worker> worker_;
  std::unique_ptr<Runtime> runtime_;
};

uint64_t SeedCount() {
  const char* asked = std::getenv("HOLDFAST_CRASH_SEEDS");
  return asked != nullptr ? std::stoull(asked) : 2;
}

TEST(AgentPowerCut, TakesNothingThatWasAcknowledgedOrShown) {
  for (uint64_t seed = 1; seed <= SeedCount(); ++seed) {
    for (const std::string& fault : PowerCut(seed, Durability::kSync).Live()) ADD_FAILURE() << fault;
    if (testing::Test::HasFailure()) return;
  }
}

// The test above proves something only if it can fail: without syncs, something must be seen to go missing.
TEST(AgentPowerCut, IsNoticedWithoutSyncs) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    if (!PowerCut(seed, Durability::kNone).Live().empty()) return;
  }
  ADD_FAILURE() << "twenty unsynced stores lost nothing to a power cut";
}

}  // namespace
}  // namespace holdfast::agent
