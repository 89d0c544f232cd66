// The runtime itself. Everything here happens on its loop, but for the public methods, which hand over to it.
//
// appending.cc   events in                      timing.cc      timers become events, held messages go out
// claiming.cc    sessions to workers            calling.cc     webhooks
// committing.cc  decisions in                   operating.cc   pause, delete, policies, the switch
// delivering.cc  messages to devices            tidying.cc     what is left behind
// viewing.cc     what there is to see
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/decide.h"
#include "agent/keys.h"
#include "agent/loop.h"
#include "agent/metrics.h"
#include "agent/recent.h"
#include "agent/runtime.h"
#include "agent/stored.h"
#include "agent/task.h"
#include "agent/writes.h"
#include "base/random.h"

namespace holdfast::agent {

class WebhookCaller;

// A session in use. What is remembered of its rows saves reads; that it is still so is for the conditions of
// writes to say.
struct Session {
  Session(std::string session_key, std::function<void(std::coroutine_handle<>)> post,
          const KeptBytesPtr& kept)
      : key(std::move(session_key)),
        turnstile(std::move(post)),
        events(kept),
        checkpoint(kept),
        messages(kept) {}

  const std::string key;
  Turnstile turnstile;  // for those who are about to change it
  bool known = false;   // head is as it was last seen
  Head head;
  Recent<Event> events;       // those that follow head.done, without a gap, as far as there is room
  KeptCheckpoint checkpoint;  // of head.done
  Recent<Message> messages;   // the newest ones, without a gap

  ConnectionId worker = 0;  // attached here, to which the session was given
  bool in_turn = false;     // and that is at work on it
  int64_t worker_epoch = 0;
  int64_t handed = 0, handed_epoch = 0;  // the newest event that a worker of this epoch was given
  int64_t lease_millis = 0;
  std::string cancel;  // to be told to a worker that asks

  bool queued = false;  // among those that wait for a worker
  int64_t ready_since = 0;
  bool lapse_armed = false, ready_armed = false, tidy_armed = false;
  bool driving = false;  // its webhooks are being called
  bool parked = false;   // it has timers that came due when they could not be promoted
  int64_t used_at = 0;
  std::set<ConnectionId> devices;
};
using SessionPtr = std::shared_ptr<Session>;

struct Device {
  ConnectionId id = 0;
  SessionPtr session;
  std::string name;
  std::shared_ptr<DeviceSink> sink;
  bool ready = false;  // OnReady was called
  bool pumping = false;
  bool again = false;  // there was more to pump while it did
  int64_t sent = 0;    // all up to here were told
  int64_t acked = 0;   // the device said it has these
  int64_t stored = 0;  // its cursor's row
  bool ack_armed = false;
  int64_t unacked_since = 0;  // 0: nothing is
};
using DevicePtr = std::shared_ptr<Device>;

struct Worker {
  ConnectionId id = 0;
  WorkerHello hello;
  std::shared_ptr<WorkerSink> sink;
  int in_use = 0;
};

// Makes the table that all of it is in.
CreateTableRequest TableRequest(const std::string& name);

class Core final : public Runtime {
 public:
  Core(Store* store, RuntimeOptions options, const base::Log* log);
  ~Core() override;
  // The table and what start-up needs of it; before anything else.
  Status Start();

  void Append(AppendRequest request, Done<Appended> done) override;
  ConnectionId Connect(ConnectRequest request, std::shared_ptr<DeviceSink> sink) override;
  void Disconnect(ConnectionId connection) override;
  void Acknowledge(ConnectionId connection, int64_t n) override;
  void Acknowledge(const std::string& session, const std::string& device, int64_t n, Done<Ok> done) override;
  void Claim(ClaimRequest request, Done<std::vector<Work>> done) override;
  void Commit(CommitRequest request, Done<Committed> done) override;
  void Heartbeat(std::vector<Lease> leases, Done<HeartbeatAnswer> done) override;
  void Release(ReleaseRequest request, Done<Ok> done) override;
  ConnectionId Attach(WorkerHello hello, std::shared_ptr<WorkerSink> sink) override;
  void AddCredit(ConnectionId worker, int credit) override;
  void Detach(ConnectionId worker) override;
  void Pause(const std::string& session, Done<SessionView> done) override;
  void Resume(const std::string& session, Done<SessionView> done) override;
  void Stop(const std::string& session, Done<Ok> done) override;
  void Delete(const std::string& session, Done<Ok> done) override;
  void CancelTimers(const std::string& session, const std::string& timer_id, Done<int64_t> done) override;
  void SetAutonomy(bool enabled, const std::string& by, Done<Autonomy> done) override;
  void GetAutonomy(Done<Autonomy> done) override;
  void PutPolicy(const std::string& agent, const Policy& policy, Done<Policy> done) override;
  void GetPolicy(const std::string& agent, Done<Policy> done) override;
  void ListDeadLetters(const std::string& after, int limit, Done<DeadLetterPage> done) override;
  void Redrive(const std::string& dead_letter, Done<Ok> done) override;
  void GetSession(const std::string& session, Done<SessionView> done) override;
  void GetEvent(const std::string& session, const std::string& id, Done<Event> done) override;
  void ListEvents(const std::string& session, int64_t after, int limit, Done<EventPage> done) override;
  void ListMessages(const std::string& session, int64_t after, int limit, Done<MessagePage> done) override;
  void ListEffects(const std::string& session, std::optional<int64_t> checkpoint, const std::string& status,
                   Done<std::vector<EffectView>> done) override;
  void GetEffect(const std::string& session, int64_t seq, int64_t i, Done<EffectView> done) override;
  void ListTimers(const std::string& session, const std::string& status,
                  Done<std::vector<TimerView>> done) override;
  void GetCheckpoint(const std::string& session, int64_t seq, Done<CheckpointView> done) override;
  bool IsLoaded() const override { return loaded_.load(); }
  std::string Metrics() const override;

 private:
  // --- core.cc: coroutines, the store, sessions ---

  template <class T>
  using Async = Task<Result<T>>;

  // Runs on the loop and tells `done`.
  template <class T>
  void Begin(std::function<Async<T>()> start, Done<T> done) {
    loop_->Post([this, start = std::move(start), done = std::move(done)]() mutable {
      if (stopping_) return done(Stopping());
      Tell(start(), std::move(done));
    });
  }
  template <class T>
  Detached Tell(Async<T> task, Done<T> done) {
    Live live(&live_);
    Result<T> result = co_await task;
    done(std::move(result));
  }
  // Counts a coroutine, however it ends.
  class Live {
   public:
    explicit Live(int64_t* count) : count_(count) { ++*count_; }
    ~Live() { --*count_; }
    Live(const Live&) = delete;
    Live& operator=(const Live&) = delete;

   private:
    int64_t* const count_;
  };
  // Runs what nobody waits for.
  Detached Spawn(Task<Status> task);

  // co_await Do(request): the store's answer.
  template <class Request>
  auto Do(Request request) {
    using Response = ResponseToT<Request>;
    struct Call {
      Core* core;
      Request request;
      std::optional<Result<Response>> answer = std::nullopt;

      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> waiter) {
        core->loop_->Call([this, waiter] {
          core->store_->Execute(request, [this, waiter](Result<Response> result) {
            answer.emplace(std::move(result));
            core->loop_->Post([waiter] { waiter.resume(); });
          });
        });
      }
      Result<Response> await_resume() { return *std::move(answer); }
    };
    return Call{this, std::move(request)};
  }
  auto Sleep(int64_t millis) {
    struct Pause {
      Core* core;
      int64_t millis;
      bool await_ready() const noexcept { return core->stopping_; }
      void await_suspend(std::coroutine_handle<> waiter) {
        uint64_t id = ++core->next_id_;
        core->sleepers_.emplace(id, waiter);
        core->At(core->loop_->NowMillis() + millis, [core = core, id] { core->Wake(id); });
      }
      void await_resume() const noexcept {}
    };
    return Pause{this, millis};
  }
  void Wake(uint64_t sleeper);
  // How often something is tried against others who change the same.
  static constexpr int kAttemptsMax = 8;
  // Before another try at something: a random part of a growing time.
  auto PauseBefore(int attempt) {
    return Sleep(1 + static_cast<int64_t>(random_.Below(uint64_t{4} << std::min(attempt, 4))));
  }
  // Unless the runtime is gone by then.
  void At(int64_t millis, std::function<void()> task);
  void Every(int64_t millis, std::function<Task<Status>()> start);
  Detached Repeat(int64_t millis, std::function<Task<Status>()> start);

  int64_t Now() const { return loop_->NowMillis(); }
  static Error Stopping();
  static Error Contended();
  // After the last of several tries, which ended so: what was in the way.
  static Error GaveUp(const Error& last);
  static Error Fenced(const std::string& session);
  static Error Unknown(const Error& error);

  Async<std::optional<Item>> Get(std::string pk, std::string sk);
  // The rows of a partition whose keys begin so and are greater than `after`, at most `limit` (0: all).
  Async<std::vector<Item>> Rows(std::string pk, std::string prefix, std::string after = {},
                                int64_t limit = 0);
  Task<Status> Write(TransactWriteItemsRequest request);
  Task<Status> Change(RowChange change);

  Result<SessionPtr> Find(const std::string& session);
  // The session, later: as a key, which keeps nothing of it in memory.
  void AtFor(const SessionPtr& session, int64_t millis, void (Core::*task)(const SessionPtr&));
  // Logs a malformed row, once, and counts it. What depends on it is passed over.
  void NoteMalformed(const Error& error);
  Task<Status> Load(SessionPtr session);
  Task<Status> LoadAgain(SessionPtr session);
  static void Forget(Session* session);
  bool IsSystem(std::string_view session) const;
  bool AutonomyFor(std::string_view session) const { return IsSystem(session) || autonomy_on(); }
  bool autonomy_on() const { return options_.autonomy_enabled && autonomy_.enabled; }
  Policy PolicyOf(std::string_view session) const;
  Status CheckOpen(const Session& session) const;

  // --- appending.cc ---

  Async<Appended> DoAppend(AppendRequest request);
  // An event of any type. `with` adds to its transaction.
  using Extra = std::function<void(Writes*)>;
  Async<Appended> AppendEvent(SessionPtr session, Event event, Extra with);
  // Requires: the session's turn. One try; says whether another may succeed.
  void AddEvent(const Session& session, const Event& event, Head* next, Writes* writes);
  void Appended_(const SessionPtr& session, const Head& next, Event event);
  void Count(const Event& event);

  // --- claiming.cc ---

  struct Waiter {
    std::vector<std::string> agents;
    std::coroutine_handle<> handle;
    bool woken = false;
  };
  // Of an agent that somebody serves. Sessions of any other are in the index of the table alone.
  struct AgentQueue {
    std::deque<SessionPtr> ready;
    bool scanned = false;
    bool more = false;  // the index has ready sessions for which there was no room here
    int scan_shard = 0;
    int64_t used_at = 0;
  };
  std::string QueueOf(std::string_view session) const;
  bool IsServed(const Session& session) const;
  // Notes that a worker serves the agent. Returns whether it is the first.
  bool Serve(const std::string& agent);
  void Refill(const std::string& agent);
  // Sees to it that somebody works on the session, if there is something to do.
  void Dispatch(const SessionPtr& session);
  void Match(const std::string& agent);
  Worker* PickWorker(const std::string& agent);
  Task<Status> Give(SessionPtr session, ConnectionId worker);
  Task<Status> GiveMore(SessionPtr session, ConnectionId worker);
  Async<std::vector<Work>> DoClaim(ClaimRequest request);
  // What this claim was given before, as far as it still has it.
  Async<std::vector<Work>> ClaimedBefore(std::string owner, std::vector<std::string> agents);
  // Of sessions that were claimed, not given over a connection.
  void NoteOwner(const Session& session);
  Async<std::optional<Work>> TryClaim(SessionPtr session, std::string owner, int64_t lease_millis);
  bool IsClaimable(const Session& session) const;
  bool IsOrphan(const Session& session) const;
  bool IsIdleHere(const Session& session) const;
  Async<Work> MakeWork(SessionPtr session);
  // Those from done + 1 to `upto`, or to the newest.
  Async<std::vector<Event>> LoadEvents(SessionPtr session, int64_t upto);
  Async<std::shared_ptr<const Checkpoint>> LoadCheckpoint(SessionPtr session, int64_t seq);
  Async<HeartbeatAnswer> DoHeartbeat(std::vector<Lease> leases);
  Task<Status> Renew(SessionPtr session, int64_t epoch, int64_t* lease_until);
  Async<Ok> DoRelease(ReleaseRequest request);
  Task<Status> SkipEvent(SessionPtr session);
  void Ask(const SessionPtr& session, std::string reason);  // the worker to stop
  void ReturnCredit(Session* session);
  void Free(Worker* worker);
  Task<Status> ScanReady(std::string agent, int shards);
  Task<Status> ScanShard(std::string agent, std::string partition);
  Task<Status> PollReady();
  void ArmLapse(const SessionPtr& session);
  void Ready(const SessionPtr& session);
  void Lapsed(const SessionPtr& session);
  Task<Status> Lapse(SessionPtr session);
  void CheckTurn(Session* session);

  // --- committing.cc ---

  Async<Committed> DoCommit(CommitRequest request);
  Async<std::optional<Committed>> SameCommit(SessionPtr session, std::string token, int64_t upto);
  Task<Status> WriteChunks(SessionPtr session, std::string text, int64_t seq, std::string token,
                           int64_t* chunks);
  // `keeps`: the worker goes on; `drains`: the session leaves the queue.
  Writes WritesOf(const Session& session, const CommitRequest& request, bool keeps, bool drains,
                  Decision* decision);
  static RowChange CancelChange(std::string_view session, const TimerRow& timer, int64_t now);
  void HandOn(Session* session);
  static bool IsTooLarge(const Error& error);
  static Error TooLarge();
  Async<Timers> LoadTimers(SessionPtr session);
  void Written(const SessionPtr& session, Decision* decision, bool keeps);
  void CountRefused(const Decision& decision);

  // --- timing.cc ---

  void Schedule(const DueEntry& entry);
  void ArmTimers();
  void FireDue();
  Task<Status> Promote(DueEntry entry);
  Task<Status> DropEntry(DueEntry entry);
  Task<Status> PromoteOnce(SessionPtr session, DueEntry entry, TimerRow timer, bool* settled);
  Task<Status> ReleaseHeld(SessionPtr session, DueEntry entry, TimerRow timer, bool* settled);
  Task<Status> CancelDue(SessionPtr session, DueEntry entry, TimerRow timer);
  static RowChange HeldChange(std::string_view session, const TimerRow& timer, std::string_view status,
                              int64_t now);
  // Entries of the index in [from, to) buckets.
  Task<Status> LoadDue(int64_t from, int64_t to);
  Task<Status> LoadAll();
  Task<Status> LoadFirst();
  Task<Status> FollowIndex();
  Task<Status> RaiseLow(int64_t upto);
  Task<Status> Unpark(SessionPtr session);
  Task<Status> UnparkAll();
  Async<int64_t> DoCancelTimers(std::string session, std::string timer_id);

  // --- delivering.cc ---

  Task<Status> Open(DevicePtr device, std::optional<int64_t> after);
  void Pump(const DevicePtr& device);
  Task<Status> PumpAll(DevicePtr device);
  void Tell(const DevicePtr& device, const Message& message);
  Async<bool> ClaimMessage(SessionPtr session, Message message);
  void PumpSession(const Session& session);
  void TakeAck(const DevicePtr& device, int64_t n);
  Task<Status> StoreAck(DevicePtr device);
  Async<Ok> StoreCursor(SessionPtr session, std::string device, int64_t n);
  Async<Ok> DoAcknowledge(std::string session, std::string device, int64_t n);
  void End(const DevicePtr& device, std::string_view reason);
  void TellState(const Session& session);
  Task<Status> PollDevices();
  void CloseSilent();

  // --- calling.cc ---

  void Drive(const SessionPtr& session);
  Task<Status> DriveAll(SessionPtr session);
  Task<Status> CallWebhook(SessionPtr session, EffectRow effect);
  Task<Status> FinishWebhook(SessionPtr session, EffectRow effect, Result<model::WebhookAnswer> answer);
  Task<Status> ScanWebhooks();
  Status CheckWebhooks(const std::vector<EffectRequest>& effects) const;

  // --- operating.cc ---

  Async<SessionView> DoPause(std::string session);
  Async<SessionView> DoResume(std::string session);
  Async<Ok> DoDelete(std::string session);
  Task<Status> DeleteRows(SessionPtr session);
  Task<Status> ReadConfig();
  Async<Autonomy> DoSetAutonomy(bool enabled, std::string by);
  Autonomy AutonomyNow() const;
  Async<Policy> DoPutPolicy(std::string agent, Policy policy);
  Async<DeadLetterPage> DoListDeadLetters(std::string after, int limit);
  Async<Ok> DoRedrive(std::string dead_letter);
  Async<Ok> DoStop(std::string session);

  // --- viewing.cc ---

  Async<SessionView> ViewSession(std::string session);
  static SessionView ViewOf(const Session& session);
  Async<Event> ViewEvent(std::string session, std::string id);
  Async<EventPage> ViewEvents(std::string session, int64_t after, int limit);
  Async<MessagePage> ViewMessages(std::string session, int64_t after, int limit);
  Async<std::vector<EffectView>> ViewEffects(std::string session, std::optional<int64_t> checkpoint,
                                             std::string status);
  Async<EffectView> ViewEffect(std::string session, int64_t seq, int64_t i);
  Async<std::vector<TimerView>> ViewTimers(std::string session, std::string status);
  Async<CheckpointView> ViewCheckpoint(std::string session, int64_t seq);
  Async<int64_t> NewestCursor(std::string session);
  EffectView ShowMessage(const std::string& session, const Message& message, int64_t cursor) const;
  EffectView ShowEffect(const Session& session, const EffectRow& effect) const;

  // --- tidying.cc ---

  void ArmTidy(const SessionPtr& session);
  void TidyNow(const SessionPtr& session);
  Task<Status> Tidy(SessionPtr session);
  static bool IsPinned(const SessionPtr& session);
  void DropUnused();
  // Before a session more is remembered.
  void MakeRoom();
  Task<Status> Retain();
  Task<Status> Prune(SessionPtr session);
  Task<Status> FindOld(SessionPtr session, int64_t before, std::vector<Item>* keys);

  Store* const store_;
  const RuntimeOptions options_;
  const std::string& table_;
  const base::Log* const log_;
  base::Random random_;
  const std::string node_;  // names this start
  mutable Counters counters_;
  std::atomic<bool> loaded_{false};
  std::atomic<size_t> shown_sessions_{0}, shown_devices_{0}, shown_workers_{0}, shown_timers_{0};
  std::atomic<uint64_t> next_connection_{0};
  std::unique_ptr<WebhookCaller> caller_;
  std::unique_ptr<Loop> own_loop_;
  Loop* const loop_;
  std::shared_ptr<bool> alive_;
  const int64_t started_at_;

  // All below are of the loop's thread.
  bool stopping_ = false;
  int64_t live_ = 0;  // coroutines that were begun and have not ended
  uint64_t next_id_ = 0;
  std::map<uint64_t, std::coroutine_handle<>> sleepers_;
  const KeptBytesPtr kept_;
  std::unordered_map<std::string, SessionPtr> sessions_;
  size_t make_room_at_;  // how many sessions
  // Sessions by the owners that have claimed them. What is no longer so is found out by looking at the
  // session.
  std::unordered_map<std::string, std::set<std::string>> claimed_;
  std::set<std::string> malformed_;  // rows that were logged
  std::map<std::string, AgentQueue, std::less<>> agents_;
  std::map<ConnectionId, Worker> workers_;
  ConnectionId last_worker_ = 0;  // the one that was given work last
  std::list<std::shared_ptr<Waiter>> waiters_;
  std::map<ConnectionId, DevicePtr> devices_;
  std::set<DueEntry> due_;
  int64_t due_armed_ = 0;   // when FireDue is called next; 0: not at all
  int64_t due_bucket_ = 0;  // of the index everything before is in due_, or was
  int promoting_ = 0;
  int64_t index_rounds_ = 0;
  std::set<std::string> parked_;  // sessions
  Autonomy autonomy_;
  std::map<std::string, Policy, std::less<>> policies_;
};

}  // namespace holdfast::agent
