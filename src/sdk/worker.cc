#include <unistd.h>

#include <atomic>
#include <deque>
#include <exception>
#include <map>
#include <thread>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/thread.h"
#include "holdfast/agent.h"
#include "json/writer.h"
#include "sdk/link.h"
#include "sdk/loop.h"
#include "sdk/protocol.h"
#include "sdk/turn.h"

namespace holdfast::sdk {
namespace {

// For how long turns run before what they said is sent and the connection is looked at again.
constexpr int64_t kRunMicros = 1000;
// For how long a worker that stops waits for answers to what it has committed.
constexpr int64_t kFarewellMillis = 5000;

using TurnPtr = std::shared_ptr<WorkTurn>;

class Worker final : public AgentWorker, private LinkHandler {
 public:
  Worker(AgentWorkerOptions options, TurnHandler handler, std::unique_ptr<Loop> loop, Address address)
      : options_(std::move(options)),
        handle_(std::move(handler)),
        token_prefix_(random_.Uuid() + "-"),
        loop_(std::move(loop)),
        link_(loop_.get(), this, std::move(address)) {}

  Status Run() override;
  void Stop() override {
    stopping_ = true;
    loop_->Post([this] { GiveBackWaiting(); });
  }

 private:
  // Said to the server and not answered yet: said again on the next connection.
  struct Unanswered {
    std::string text;
    std::string session;
    int64_t epoch = 0;
    bool commit = false;
    int tries = 0;
  };

  // --- connection; on the loop's thread ---
  void Connect();
  void OnOpen() override;
  void OnText(std::string_view text) override;
  void OnBatch() override;
  void OnClosed(const Error& why, bool refused) override;
  void EndIfDone();

  // --- messages; on the loop's thread ---
  Status Take(const ServerMessage& message);
  void TakeReady();
  Status TakeWork(const ServerMessage& work, ServerReader* reader);
  Status TakeCommitted(const ServerMessage& message);
  void TakeError(const ServerMessage& message);
  void Drop(const ServerMessage& message);
  void Cancel(std::string_view session, int64_t epoch);

  // --- turns ---
  TurnPtr NextTurn() HF_REQUIRES(mu_);
  void RunWaiting();
  void RunThread();
  void RunTurn(const TurnPtr& turn);
  Status Handle(WorkTurn& turn);
  void GiveBackWaiting();
  void GiveBack(const std::string& session, int64_t epoch, std::string_view error) HF_REQUIRES(mu_);
  void Say(Unanswered said, int64_t id) HF_REQUIRES(mu_);
  void KeepLeases();

  void Log(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  const AgentWorkerOptions options_;
  const TurnHandler handle_;
  base::Random random_;
  const std::string token_prefix_;
  std::atomic<bool> stopping_{false};

  // Of the loop's thread.
  const std::unique_ptr<Loop> loop_;
  Link link_;
  ServerReader reader_, next_reader_;
  int tries_ = 0;  // to connect, since it last went well
  bool farewell_ = false;
  bool running_later_ = false;
  std::optional<Error> refused_;

  base::Mutex mu_;  // before the link's
  base::CondVar changed_, lease_changed_;
  bool connected_ HF_GUARDED_BY(mu_) = false;
  bool ended_ HF_GUARDED_BY(mu_) = false;
  int64_t next_id_ HF_GUARDED_BY(mu_) = 1;
  std::deque<TurnPtr> waiting_ HF_GUARDED_BY(mu_);
  std::unordered_map<std::string, TurnPtr> turns_ HF_GUARDED_BY(mu_);  // by session; those that wait too
  std::map<int64_t, Unanswered> unanswered_ HF_GUARDED_BY(mu_);        // by id: in the order of their turns
};

Status Worker::Run() {
  std::vector<std::thread> threads;
  threads.emplace_back([this] { KeepLeases(); });
  for (int i = 0; options_.threads > 1 && i < options_.threads; ++i)
    threads.emplace_back([this] { RunThread(); });
  loop_->Post([this] { Connect(); });
  loop_->Run();
  {
    base::MutexLock lock(&mu_);
    ended_ = true;
    changed_.NotifyAll();
    lease_changed_.NotifyAll();
  }
  for (std::thread& thread : threads) thread.join();
  link_.Close();
  if (refused_) return *refused_;
  return Ok{};
}

// --- connection ---

void Worker::Connect() {
  link_.Open("/v1/work/ws", TokenOf(options_.server));
}

void Worker::OnOpen() {
  std::string hello = R"({"t":"hello")";
  AppendMember("worker", options_.name, &hello);
  hello.append(",\"agents\":[");
  for (const std::string& agent : options_.agents) {
    if (!hello.ends_with('[')) hello.push_back(',');
    json::AppendString(agent, &hello);
  }
  hello.push_back(']');
  AppendMember("credit", options_.credit, &hello);
  AppendMember("lease_ms", options_.lease_millis, &hello);
  link_.Send(hello.append("}"));
}

void Worker::OnText(std::string_view text) {
  Result<ServerMessage> message = reader_.Read(text);
  Status taken = message ? Take(*message) : Status(message.error());
  if (!taken) Log(taken.error().message());
}

void Worker::OnBatch() {
  if (options_.threads <= 1) RunWaiting();
  EndIfDone();
}

void Worker::OnClosed(const Error& why, bool refused) {
  Log(why.message());
  {
    base::MutexLock lock(&mu_);
    connected_ = false;
  }
  if (refused) {
    refused_ = why;
    return loop_->Stop();
  }
  loop_->After(PauseMillis(tries_++, &random_), [this] { Connect(); });
  EndIfDone();
}

void Worker::EndIfDone() {
  if (!stopping_) return;
  base::MutexLock lock(&mu_);
  if (!turns_.empty()) return;
  // What a lost connection leaves open is handed out anew.
  if (unanswered_.empty() || !connected_) return loop_->Stop();
  if (!farewell_) loop_->After(kFarewellMillis, [this] { loop_->Stop(); });
  farewell_ = true;
}

// --- messages ---

Status Worker::Take(const ServerMessage& message) {
  if (message.t == "work") return TakeWork(message, &reader_);
  if (message.t == "committed") return TakeCommitted(message);
  if (message.t == "ready") {
    TakeReady();
  } else if (message.t == "cancel") {
    Cancel(message.session, message.epoch);
  } else if (message.t == "fenced" || message.t == "released") {
    Drop(message);
  } else if (message.t == "error") {
    TakeError(message);
  } else if (message.t == "hb" && !message.lost.empty()) {
    HF_TRY(std::vector<std::string> lost, reader_.ReadSessions(message.lost));
    base::MutexLock lock(&mu_);
    for (const std::string& session : lost) {
      if (auto turn = turns_.find(session); turn != turns_.end()) turn->second->Lose();
    }
  }
  return Ok{};
}

void Worker::TakeReady() {
  tries_ = 0;
  base::MutexLock lock(&mu_);
  connected_ = true;
  for (const auto& [id, said] : unanswered_) link_.Send(said.text);
}

Status Worker::TakeWork(const ServerMessage& work, ServerReader* reader) {
  HF_TRY(std::string_view state, reader->ReadCheckpoint(work.checkpoint));
  HF_TRY(std::vector<AgentEvent> events, reader->ReadEvents(work.events));
  if (events.empty()) return Error(ErrorCode::kSerialization, "the server gives work without events");
  auto turn = std::make_shared<WorkTurn>(
      WorkTurn::Work{std::string(work.session), work.epoch, std::string(state), std::move(events)});
  base::MutexLock lock(&mu_);
  if (stopping_) {
    GiveBack(turn->session(), turn->epoch(), {});
    return Ok{};
  }
  TurnPtr& in_hand = turns_[turn->session()];
  if (in_hand != nullptr) in_hand->Lose();
  in_hand = turn;
  waiting_.push_back(std::move(turn));
  if (options_.threads > 1) changed_.NotifyOne();
  return Ok{};
}

Status Worker::TakeCommitted(const ServerMessage& message) {
  Drop(message);
  if (options_.on_committed) {
    TurnOutcome outcome;
    HF_CHECK_OK(reader_.ReadOutcome(message, &outcome));
    options_.on_committed(outcome);
  }
  if (message.next.empty()) return Ok{};
  HF_TRY(ServerMessage next, next_reader_.Read(message.next));
  return TakeWork(next, &next_reader_);
}

// What cannot be mended by saying it again ends the turn; its events are handed out anew, and count as
// failed.
void Worker::TakeError(const ServerMessage& message) {
  Log("the server refuses: " + std::string(message.error) + ": " + std::string(message.message));
  bool again = message.status == 429 || message.status >= 500;
  base::MutexLock lock(&mu_);
  auto found = unanswered_.find(message.number);
  if (found == unanswered_.end()) {
    // Not about a turn: about who we are.
    if (connected_ || again) return;
    refused_ = Refuse(message.error, static_cast<int>(message.status), message.message);
    return loop_->Stop();
  }
  if (again) {
    loop_->After(PauseMillis(++found->second.tries, &random_), [this, id = found->first] {
      base::MutexLock relock(&mu_);
      if (auto still = unanswered_.find(id); connected_ && still != unanswered_.end())
        link_.Send(still->second.text);
    });
    return;
  }
  Unanswered said = std::move(unanswered_.extract(found).mapped());
  if (said.commit && message.status != 410)
    GiveBack(said.session, said.epoch, std::string(message.error) + ": " + std::string(message.message));
}

void Worker::Drop(const ServerMessage& message) {
  if (message.t == "fenced") Log("the turn of " + std::string(message.session) + " is another worker's");
  base::MutexLock lock(&mu_);
  unanswered_.erase(message.number);
}

void Worker::Cancel(std::string_view session, int64_t epoch) {
  base::MutexLock lock(&mu_);
  auto turn = turns_.find(std::string(session));
  if (turn != turns_.end() && turn->second->epoch() == epoch) turn->second->Cancel();
}

// --- turns ---

// The next that is still ours; null when none waits.
TurnPtr Worker::NextTurn() {
  while (!waiting_.empty()) {
    TurnPtr turn = std::move(waiting_.front());
    waiting_.pop_front();
    if (!turn->lost()) return turn;
    if (auto found = turns_.find(turn->session()); found != turns_.end() && found->second == turn)
      turns_.erase(found);
  }
  return nullptr;
}

// On the loop's thread. Slow turns are told of one by one, quick ones together.
void Worker::RunWaiting() {
  int64_t begin = base::SteadyMicros();
  while (true) {
    TurnPtr turn;
    {
      base::MutexLock lock(&mu_);
      if (!stopping_) turn = NextTurn();
    }
    if (turn == nullptr) return;
    RunTurn(turn);
    if (base::SteadyMicros() - begin >= kRunMicros) break;
  }
  if (std::exchange(running_later_, true)) return;
  loop_->Post([this] {
    running_later_ = false;
    RunWaiting();
    EndIfDone();
  });
}

void Worker::RunThread() {
  base::NameThread("agent-turn");
  while (true) {
    TurnPtr turn;
    {
      base::MutexLock lock(&mu_);
      while (stopping_ || (turn = NextTurn()) == nullptr) {
        if (ended_) return;
        changed_.Wait(&mu_);
      }
    }
    RunTurn(turn);
    if (stopping_) loop_->Post([this] { EndIfDone(); });
  }
}

void Worker::RunTurn(const TurnPtr& turn) {
  Status handled = Handle(*turn);
  Result<std::string> outcome = handled ? turn->Outcome() : Result<std::string>(handled.error());
  base::MutexLock lock(&mu_);
  if (auto found = turns_.find(turn->session()); found != turns_.end() && found->second == turn)
    turns_.erase(found);
  if (turn->lost()) return Log("the turn of " + turn->session() + " is lost");
  if (!outcome) {
    Log("the turn of " + turn->session() + " failed: " + outcome.error().message());
    return GiveBack(turn->session(), turn->epoch(), outcome.error().message());
  }
  int64_t id = next_id_++;
  std::string text = R"({"t":"commit")";
  text.reserve(outcome->size() + 128);
  AppendMember("id", id, &text);
  text.append(*outcome);
  AppendMember("token", token_prefix_ + std::to_string(id), &text);
  AppendMember("then", stopping_ ? "release" : "next", &text);
  text.push_back('}');
  Say({.text = std::move(text), .session = turn->session(), .epoch = turn->epoch(), .commit = true}, id);
}

// A handler's exception is its own failure, not ours.
Status Worker::Handle(WorkTurn& turn) {
  return base::CallContained(base::FallbackLog(), "turn of an agent",
                             [&]() -> Status { return handle_(turn); });
}

void Worker::GiveBackWaiting() {
  {
    base::MutexLock lock(&mu_);
    while (TurnPtr turn = NextTurn()) {
      turns_.erase(turn->session());
      GiveBack(turn->session(), turn->epoch(), {});
    }
  }
  EndIfDone();
}

void Worker::GiveBack(const std::string& session, int64_t epoch, std::string_view error) {
  int64_t id = next_id_++;
  std::string text = R"({"t":"release")";
  AppendMember("id", id, &text);
  AppendMember("session", session, &text);
  AppendMember("epoch", epoch, &text);
  if (!error.empty()) AppendMember("error", error, &text);
  text.push_back('}');
  Say({.text = std::move(text), .session = session, .epoch = epoch}, id);
}

void Worker::Say(Unanswered said, int64_t id) {
  if (connected_) link_.Send(said.text);
  unanswered_.emplace(id, std::move(said));
}

// A thread of its own: a handler that takes long may hold the loop's.
void Worker::KeepLeases() {
  base::NameThread("agent-lease");
  auto third = std::chrono::milliseconds(options_.lease_millis / 3);
  base::MutexLock lock(&mu_);
  for (auto next = std::chrono::steady_clock::now() + third; !ended_;) {
    if (lease_changed_.WaitUntil(&mu_, next)) continue;
    next += third;
    if (!connected_ || turns_.empty()) continue;
    std::string beat = R"({"t":"hb","leases":[)";
    for (const auto& [session, turn] : turns_) {
      beat.append(beat.ends_with('[') ? "{\"session\":" : ",{\"session\":");
      json::AppendString(session, &beat);
      AppendMember("epoch", turn->epoch(), &beat);
      beat.push_back('}');
    }
    link_.Send(beat.append("]}"));
  }
}

std::string OwnName() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + "-" + std::to_string(::getpid());
}

}  // namespace
}  // namespace holdfast::sdk

namespace holdfast {

Result<std::unique_ptr<AgentWorker>> OpenAgentWorker(AgentWorkerOptions options, TurnHandler handler) {
  HF_TRY(sdk::Address address, sdk::ParseServerUrl(options.server.url));
  if (handler == nullptr) return ValidationError("a worker needs a handler");
  if (options.agents.empty()) return ValidationError("a worker needs agents to serve");
  if (options.credit < 1 || options.threads < 1) return ValidationError("credit and threads are at least 1");
  if (options.lease_millis < 1000 || options.lease_millis > 300'000)
    return ValidationError("a lease is between 1 and 300 seconds");
  if (options.name.empty()) options.name = sdk::OwnName();
  HF_TRY(auto loop, sdk::Loop::Open());
  return std::make_unique<sdk::Worker>(std::move(options), std::move(handler), std::move(loop),
                                       std::move(address));
}

}  // namespace holdfast
