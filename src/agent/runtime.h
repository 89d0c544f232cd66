// The agent runtime: durable events → effects → timers, on a Store.
//
// A session is one conversation of one user with one agent. What happens to it is an event, numbered without
// a gap. A worker claims a session that has events, decides, and commits: the session's new state, the
// messages to send and the timers to set, in one transaction. Messages are numbered too and pushed to the
// user's devices until they say they have them. A timer becomes an event when its time comes, unless the user
// spoke first.
//
//   auto runtime = Runtime::Open(store, options);
//   (*runtime)->Append({.session = "ann:guide:t1", .type = "user_message", .payload = {{"text", "hi"}}},
//   done);
//   (*runtime)->Claim({.worker = "w1", .agents = {"guide"}}, [](Result<std::vector<Work>> work) { … });
//   (*runtime)->Commit({.session = …, .epoch = …, .upto = 1, .token = "…", .effects = {…}}, done);
//
// Whatever is decided here is decided by the conditions of a transaction over the session's head
// (docs/agents.md); clocks, leases, indexes and what is cached say when something is tried, never whether it
// holds. So any number of runtimes may share one store, and any of them may die at any moment.
//
// Threads: a runtime does its work on one thread of its own. A completion is called once, on that thread; it
// must not block. All methods may be called from any thread. The destructor drops what is unfinished: its
// completions are called with kThrottling.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/policy.h"
#include "agent/rows.h"
#include "base/clock.h"
#include "base/log.h"
#include "holdfast/store.h"
#include "holdfast/value.h"
#include "model/webhook.h"

namespace holdfast::agent {

class Loop;

struct RuntimeOptions {
  std::string table = "holdfast-agents";
  // Other programs use the same table: what they did is looked for every quarter of a second.
  bool shared = false;
  // False wins over what is stored: AUTONOMY_ENABLED.
  bool autonomy_enabled = true;
  // The first parts of sessions that belong to applications of this program, not to people: the switch does
  // not govern them.
  std::vector<std::string> system_users = {"pm", "pos", "trip"};
  // Hosts that webhooks may call.
  std::vector<model::AllowedHost> webhook_hosts;
  std::string webhook_secret;  // signs their bodies, unless empty
  // Of sessions' rows that are kept in memory to save reads, all together; and how many sessions.
  size_t kept_bytes_max = 64 << 20;
  size_t sessions_max = 20'000;
  int64_t retention_millis = 0;              // older rows are removed; 0: never
  int64_t retain_every_millis = 86'400'000;  // how often they are looked for
  // What timers go by; null: the system's.
  const base::Clock* clock = nullptr;
  // For tests: null is one of its own, on `clock`.
  Loop* loop = nullptr;
  uint64_t seed = 0;  // of pauses and ids; 0: from the operating system
};

template <class T>
using Done = std::function<void(Result<T>)>;

struct AppendRequest {
  std::string session;
  std::string id;  // the caller's name for the event; empty: one is made
  std::string type = "user_message";
  Item payload;
};
struct Appended {
  int64_t seq = 0;
  std::string id;
  bool duplicate = false;
};

struct ClaimRequest {
  std::string worker;
  std::string request;  // the same one while a lease lives gives the same work again
  std::string subject;  // who asks, as their token says: nobody is given again what another has claimed
  std::vector<std::string> agents;
  int max = 8;
  int64_t lease_millis = 30'000;
  int64_t wait_millis = 20'000;
  bool system = false;  // sessions of RuntimeOptions::system_users, and no others
};
// One session in a worker's hands.
struct Work {
  std::string session;
  int64_t epoch = 0;  // proves whose it is: fencing token
  int64_t lease_until = 0;
  int64_t checkpoint_seq = 0;  // 0: there is none
  Item state;                  // what that checkpoint holds
  std::vector<Event> events;   // the next ones in order, at most 16
  int64_t autonomous_count = 0;
  std::optional<int64_t> autonomous_at;
  int64_t last_n = 0;
  Policy policy;
};

struct CommitRequest {
  std::string session;
  int64_t epoch = 0;
  int64_t upto = 0;   // the last event that it covers
  std::string token;  // the caller's name for this commit: sending it again is safe
  Item state;
  std::vector<EffectRequest> effects;
  Item usage;
  bool release = false;  // rather than wait for the session's next events
  bool skipped = false;
};
struct Refused {
  size_t i = 0;  // which effect
  std::string reason;
};
struct Committed {
  int64_t seq = 0;
  std::vector<int64_t> messages;  // their numbers
  std::vector<Refused> suppressed;
  std::optional<Work> next;
};

struct Lease {
  std::string session;
  int64_t epoch = 0;
  int64_t lease_until = 0;  // in answers
};
struct Cancel {
  std::string session;
  int64_t epoch = 0;
  std::string reason;  // user_message, pause, delete, stop
};
struct HeartbeatAnswer {
  std::vector<Lease> ok, lost;
  std::vector<Cancel> cancel;
};
struct ReleaseRequest {
  std::string session;
  int64_t epoch = 0;
  std::string error;  // not empty: the turn failed
  int64_t retry_after_millis = 0;
};

// A worker that is given work as it comes, over one connection. Calls come on the runtime's thread.
class WorkerSink {
 public:
  virtual ~WorkerSink() = default;
  virtual void OnWork(const Work& work) = 0;
  virtual void OnCancel(const Cancel& cancel) = 0;
};
struct WorkerHello {
  std::string worker;
  std::vector<std::string> agents;
  int credit = 1;  // how many sessions it works on at once
  int64_t lease_millis = 30'000;
  bool system = false;  // as in ClaimRequest
};

// A device that is told a session's messages. Calls come on the runtime's thread, one at a time.
class DeviceSink {
 public:
  virtual ~DeviceSink() = default;
  // First, once: the newest message's number and the device's cursor.
  virtual void OnReady(int64_t last_n, int64_t acked) = 0;
  // In the order of n, without a gap.
  virtual void OnMessage(const Message& message) = 0;
  // A message that will never be told.
  virtual void OnSkip(int64_t n) = 0;
  virtual void OnState(std::string_view state) = 0;
  // Last, and nothing after it: the session is gone, or the device was silent for too long.
  virtual void OnEnd(std::string_view reason) = 0;
};
struct ConnectRequest {
  std::string session;
  std::string device = "default";
  std::optional<int64_t> after;  // default: the device's cursor
};

using ConnectionId = uint64_t;

class Runtime {
 public:
  // Makes the table when it is missing, and starts what a stopped runtime left.
  static Result<std::unique_ptr<Runtime>> Open(Store* store, RuntimeOptions options, const base::Log* log);
  virtual ~Runtime() = default;

  // --- what users say ---
  virtual void Append(AppendRequest request, Done<Appended> done) = 0;
  // The sink is called until OnEnd, or a little after Disconnect.
  virtual ConnectionId Connect(ConnectRequest request, std::shared_ptr<DeviceSink> sink) = 0;
  virtual void Disconnect(ConnectionId connection) = 0;
  // The device has all messages up to n.
  virtual void Acknowledge(ConnectionId connection, int64_t n) = 0;
  // The same without a connection.
  virtual void Acknowledge(const std::string& session, const std::string& device, int64_t n,
                           Done<Ok> done) = 0;

  // --- what workers do ---
  virtual void Claim(ClaimRequest request, Done<std::vector<Work>> done) = 0;
  virtual void Commit(CommitRequest request, Done<Committed> done) = 0;
  virtual void Heartbeat(std::vector<Lease> leases, Done<HeartbeatAnswer> done) = 0;
  virtual void Release(ReleaseRequest request, Done<Ok> done) = 0;
  virtual ConnectionId Attach(WorkerHello hello, std::shared_ptr<WorkerSink> sink) = 0;
  virtual void AddCredit(ConnectionId worker, int credit) = 0;
  virtual void Detach(ConnectionId worker) = 0;

  // --- what operators do ---
  virtual void Pause(const std::string& session, Done<SessionView> done) = 0;
  // From paused or blocked.
  virtual void Resume(const std::string& session, Done<SessionView> done) = 0;
  // Asks the worker that has the session to stop its turn.
  virtual void Stop(const std::string& session, Done<Ok> done) = 0;
  virtual void Delete(const std::string& session, Done<Ok> done) = 0;
  // One timer, or all that are pending when `timer_id` is empty: how many were cancelled.
  virtual void CancelTimers(const std::string& session, const std::string& timer_id, Done<int64_t> done) = 0;
  virtual void SetAutonomy(bool enabled, const std::string& by, Done<Autonomy> done) = 0;
  virtual void GetAutonomy(Done<Autonomy> done) = 0;
  virtual void PutPolicy(const std::string& agent, const Policy& policy, Done<Policy> done) = 0;
  virtual void GetPolicy(const std::string& agent, Done<Policy> done) = 0;
  virtual void ListDeadLetters(const std::string& after, int limit, Done<DeadLetterPage> done) = 0;
  virtual void Redrive(const std::string& dead_letter, Done<Ok> done) = 0;

  // --- what there is to see; AUTO-A-01 … 12 ---
  virtual void GetSession(const std::string& session, Done<SessionView> done) = 0;
  // By its id.
  virtual void GetEvent(const std::string& session, const std::string& id, Done<Event> done) = 0;
  virtual void ListEvents(const std::string& session, int64_t after, int limit, Done<EventPage> done) = 0;
  virtual void ListMessages(const std::string& session, int64_t after, int limit, Done<MessagePage> done) = 0;
  // Of all checkpoints, or of one; `status` empty: any. In the order of (seq, i).
  virtual void ListEffects(const std::string& session, std::optional<int64_t> checkpoint,
                           const std::string& status, Done<std::vector<EffectView>> done) = 0;
  virtual void GetEffect(const std::string& session, int64_t seq, int64_t i, Done<EffectView> done) = 0;
  virtual void ListTimers(const std::string& session, const std::string& status,
                          Done<std::vector<TimerView>> done) = 0;
  // 0: the newest.
  virtual void GetCheckpoint(const std::string& session, int64_t seq, Done<CheckpointView> done) = 0;

  // Whether the timers that were set before the start are known: until then they come late. Everything else
  // is served.
  virtual bool IsLoaded() const = 0;
  // Counters and histograms in Prometheus' text form.
  virtual std::string Metrics() const = 0;

  // Waits for an answer, for callers that may block:
  //   Runtime::Await<Appended>([&](Done<Appended> done) { runtime->Append(request, std::move(done)); });
  template <class T>
  static Result<T> Await(const std::function<void(Done<T>)>& start);
};

template <class T>
Result<T> Runtime::Await(const std::function<void(Done<T>)>& start) {
  std::promise<Result<T>> answer;
  start([&](Result<T> result) { answer.set_value(std::move(result)); });
  return answer.get_future().get();
}

}  // namespace holdfast::agent
