#include <algorithm>

#include "agent/core.h"
#include "auth/hmac.h"
#include "json/plain.h"
#include "model/refusal.h"
#include "store/retry.h"

namespace holdfast::agent {
namespace {

constexpr int64_t kEventsMax = 16;        // of one piece of work
constexpr size_t kReadyMax = 10'000;      // sessions that wait here for one agent; others wait in the index
constexpr int64_t kFailuresMax = 5;       // of one event, before it counts as poison
constexpr int64_t kDetachMillis = 2'000;  // for a worker to come back
constexpr std::string_view kConnected =
    "|ws:";  // in an owner's name: it was given the session over a connection

Status CheckAgents(const std::vector<std::string>& agents) {
  if (agents.empty() || agents.size() > 64)
    return model::RefuseField("agents", "should be 1 to 64 names of agents");
  for (const std::string& agent : agents) {
    if (!ParseSessionKey("u:" + agent + ":t"))
      return model::RefuseField("agents", "should be names of letters, digits, _ and -",
                                agent.substr(0, 100));
  }
  return Ok{};
}

// The applications' own sessions go to the applications' own workers, whatever the agents are called.
constexpr char kSystemMark = '~';  // no agent's name has it

void Mark(std::vector<std::string>* agents) {
  for (std::string& agent : *agents) agent.insert(agent.begin(), kSystemMark);
}

}  // namespace

// --- who gets what ---

std::string Core::QueueOf(std::string_view session) const {
  std::string agent(AgentOf(session));
  return IsSystem(session) ? kSystemMark + agent : agent;
}

bool Core::IsServed(const Session& session) const {
  auto queue = agents_.find(QueueOf(session.key));
  return queue != agents_.end() && queue->second.scanned;
}

bool Core::Serve(const std::string& agent) {
  AgentQueue& queue = agents_[agent];
  queue.used_at = Now();
  return !std::exchange(queue.scanned, true);
}

bool Core::IsIdleHere(const Session& session) const {
  return session.worker != 0 && !session.in_turn && session.worker_epoch == session.head.epoch &&
         !session.head.owner.empty();
}

// The owner's connection was to a start of this program that is over. Where others share the table, another
// program may have it.
bool Core::IsOrphan(const Session& session) const {
  const std::string& owner = session.head.owner;
  return !options_.shared && owner.find(kConnected) != std::string::npos &&
         owner.find(node_) == std::string::npos;
}

bool Core::IsClaimable(const Session& session) const {
  const Head& head = session.head;
  if (head.tail <= head.done || head.st != kActive || head.ready_at > Now()) return false;
  if (head.owner.empty() || head.lease_until < Now() || IsIdleHere(session)) return true;
  return IsOrphan(session) && Now() >= started_at_ + kDetachMillis;
}

void Core::Dispatch(const SessionPtr& session) {
  const Head& head = session->head;
  if (stopping_ || !session->known || session->queued || head.tail <= head.done || head.st != kActive) return;
  if (!IsServed(*session)) return;  // the index has it for whoever will
  if (head.ready_at > Now()) {
    if (!std::exchange(session->ready_armed, true)) AtFor(session, head.ready_at, &Core::Ready);
    return;
  }
  if (!IsClaimable(*session)) return ArmLapse(session);
  if (session->ready_since == 0) session->ready_since = Now();
  // Whoever worked on it last keeps it, without a word to the store, while its lease has some time to live.
  if (IsIdleHere(*session) && head.lease_until - Now() > session->lease_millis * 2 / 3) {
    auto worker = workers_.find(session->worker);
    if (worker != workers_.end() && worker->second.in_use < worker->second.hello.credit) {
      ++worker->second.in_use;
      session->in_turn = true;
      Spawn(GiveMore(session, session->worker));
      return;
    }
  }
  std::string agent = QueueOf(session->key);
  AgentQueue& queue = agents_[agent];
  if (queue.ready.size() >= kReadyMax) {
    queue.more = true;
    return;
  }
  session->queued = true;
  queue.ready.push_back(session);
  Match(agent);
}

void Core::Ready(const SessionPtr& session) {
  session->ready_armed = false;
  if (session->known) return Dispatch(session);
  Spawn(Lapse(session));  // it was forgotten meanwhile
}

// Takes from the index what there was no room for.
void Core::Refill(const std::string& agent) {
  auto queue = agents_.find(agent);
  if (queue == agents_.end() || !queue->second.ready.empty()) return;
  if (std::exchange(queue->second.more, false)) Spawn(ScanReady(agent, kShards));
}

// A worker with room, each in its turn.
Worker* Core::PickWorker(const std::string& agent) {
  auto fits = [&](const Worker& worker) {
    const std::vector<std::string>& agents = worker.hello.agents;
    return worker.in_use < worker.hello.credit &&
           std::find(agents.begin(), agents.end(), agent) != agents.end();
  };
  for (auto from = workers_.upper_bound(last_worker_); from != workers_.end(); ++from) {
    if (fits(from->second)) return &from->second;
  }
  for (auto& [id, worker] : workers_) {
    if (fits(worker)) return &worker;
  }
  return nullptr;
}

void Core::Match(const std::string& agent) {
  auto found = agents_.find(agent);
  if (found == agents_.end()) return;
  AgentQueue& queue = found->second;
  while (!queue.ready.empty()) {
    if (Worker* worker = PickWorker(agent)) {
      SessionPtr session = std::move(queue.ready.front());
      queue.ready.pop_front();
      session->queued = false;
      ++worker->in_use;
      last_worker_ = worker->id;
      Spawn(Give(std::move(session), worker->id));
      Refill(agent);
      continue;
    }
    auto waiter = std::find_if(waiters_.begin(), waiters_.end(), [&](const std::shared_ptr<Waiter>& one) {
      return std::find(one->agents.begin(), one->agents.end(), agent) != one->agents.end();
    });
    if (waiter == waiters_.end()) return;
    std::shared_ptr<Waiter> woken = *waiter;
    waiters_.erase(waiter);
    woken->woken = true;
    loop_->Post([woken] { woken->handle.resume(); });
    return;  // it takes from the queue itself
  }
}

// To the worker that has the session. Nobody else was asked, and the commit will be: a check here would prove
// nothing.
Task<Status> Core::GiveMore(SessionPtr session, ConnectionId id) {
  Turnstile::Pass pass = co_await session->turnstile.Enter();
  Status loaded = co_await Load(session);
  Result<Work> work = loaded ? Work() : Result<Work>(loaded.error());
  if (loaded) work = co_await MakeWork(session);
  auto worker = workers_.find(id);
  bool has = session->in_turn && session->worker == id && session->worker_epoch == session->head.epoch;
  if (!work || work->events.empty() || worker == workers_.end() || !has) {
    if (session->worker == id) ReturnCredit(session.get());
    pass.Leave();
    if (worker == workers_.end() && session->worker == id) session->worker = 0;
    Dispatch(session);
    if (!work) co_return std::move(work).error();
    co_return Ok{};
  }
  session->head.turn_at = Now();
  session->ready_since = 0;
  worker->second.sink->OnWork(*work);
  co_return Ok{};
}

Task<Status> Core::Give(SessionPtr session, ConnectionId id) {
  auto give_back = [&] {
    if (auto worker = workers_.find(id); worker != workers_.end()) Free(&worker->second);
  };
  auto worker = workers_.find(id);
  if (worker == workers_.end()) {
    Dispatch(session);
    co_return Ok{};
  }
  std::string owner = worker->second.hello.worker + std::string(kConnected) + node_ + ":" + random_.Uuid();
  int64_t lease_millis = worker->second.hello.lease_millis;
  Result<std::optional<Work>> claimed = co_await TryClaim(session, owner, lease_millis);
  worker = workers_.find(id);
  if (!claimed || !*claimed || worker == workers_.end()) {
    give_back();
    if (claimed && *claimed && !IsClaimable(*session)) {
      // The worker went while its claim was under way.
      session->worker = id;
      session->worker_epoch = session->head.epoch;
      Detach(id);
    } else {
      if (!claimed) co_await PauseBefore(4);
      Dispatch(session);
    }
    Match(QueueOf(session->key));
    if (!claimed) co_return std::move(claimed).error();
    co_return Ok{};
  }
  session->worker = id;
  session->in_turn = true;
  session->worker_epoch = (*claimed)->epoch;
  worker->second.sink->OnWork(**claimed);
  co_return Ok{};
}

// --- claims ---

void Core::Claim(ClaimRequest request, Done<std::vector<Work>> done) {
  Begin<std::vector<Work>>(
      [this, request = std::move(request)]() mutable { return DoClaim(std::move(request)); },
      std::move(done));
}

Core::Async<std::vector<Work>> Core::DoClaim(ClaimRequest request) {
  HF_CO_CHECK_OK(CheckAgents(request.agents));
  if (request.system) Mark(&request.agents);
  const int64_t deadline = Now() + request.wait_millis;
  std::string owner = request.worker + "|" + (request.request.empty() ? random_.Uuid() : request.request);
  if (!request.subject.empty()) owner += "|" + auth::Hex(auth::Sha256(request.subject)).substr(0, 16);
  std::vector<Work> work;
  std::set<const Session*> passed_over;
  for (const std::string& agent : request.agents) {
    if (Serve(agent)) HF_CO_CHECK_OK(co_await ScanReady(agent, kShards));
  }
  if (!request.request.empty()) {
    HF_CO_TRY(work, co_await ClaimedBefore(owner, request.agents));
    if (!work.empty()) co_return work;
  }
  for (;;) {
    for (const std::string& agent : request.agents) {
      if (Serve(agent)) HF_CO_CHECK_OK(co_await ScanReady(agent, kShards));
      while (work.size() < static_cast<size_t>(request.max)) {
        Refill(agent);
        auto queue = agents_.find(agent);
        if (queue == agents_.end() || queue->second.ready.empty()) break;
        SessionPtr session = std::move(queue->second.ready.front());
        queue->second.ready.pop_front();
        session->queued = false;
        Result<std::optional<Work>> claimed = co_await TryClaim(session, owner, request.lease_millis);
        if (claimed && *claimed) {
          session->worker = 0;
          session->in_turn = true;
          work.push_back(**std::move(claimed));
        } else if (!claimed && IsMalformed(claimed.error())) {
          NoteMalformed(claimed.error());
        } else if (!claimed && work.empty()) {
          Dispatch(session);
          co_return std::move(claimed).error();
        } else {
          // Another has it, or it has nothing to do after all. Those behind it must not wait for that.
          Dispatch(session);
          if (!claimed || !passed_over.insert(session.get()).second) break;
        }
      }
    }
    if (!work.empty() || stopping_ || Now() >= deadline) co_return work;
    auto waiter = std::make_shared<Waiter>();
    waiter->agents = request.agents;
    struct Wait {
      Core* core;
      std::shared_ptr<Waiter> waiter;
      int64_t deadline;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> handle) {
        waiter->handle = handle;
        core->waiters_.push_back(waiter);
        core->At(deadline, [core = core, waiter = waiter] {
          if (std::exchange(waiter->woken, true)) return;
          core->waiters_.remove(waiter);
          waiter->handle.resume();
        });
      }
      void await_resume() const noexcept {}
    };
    Wait wait{this, waiter, deadline};
    co_await wait;
  }
}

void Core::NoteOwner(const Session& session) {
  const std::string& owner = session.head.owner;
  if (!owner.empty() && owner.find(kConnected) == std::string::npos) claimed_[owner].insert(session.key);
}

Core::Async<std::vector<Work>> Core::ClaimedBefore(std::string owner, std::vector<std::string> agents) {
  std::vector<SessionPtr> sessions;
  if (auto keys = claimed_.find(owner); keys != claimed_.end()) {
    for (const std::string& key : keys->second) {
      auto found = sessions_.find(key);
      if (found == sessions_.end()) continue;
      const Session& session = *found->second;
      bool has = session.known && session.head.owner == owner && session.head.lease_until >= Now() &&
                 std::find(agents.begin(), agents.end(), QueueOf(key)) != agents.end();
      if (has) sessions.push_back(found->second);
    }
  }
  std::vector<Work> work;
  for (const SessionPtr& session : sessions) {
    Turnstile::Pass pass = co_await session->turnstile.Enter();
    if (options_.shared) HF_CO_CHECK_OK(co_await LoadAgain(session));
    HF_CO_CHECK_OK(co_await Load(session));
    if (session->head.owner != owner) continue;
    Result<Work> again = co_await MakeWork(session);
    if (again && !again->events.empty()) work.push_back(*std::move(again));
  }
  co_return work;
}

Core::Async<std::optional<Work>> Core::TryClaim(SessionPtr session, std::string owner, int64_t lease_millis) {
  Turnstile::Pass pass = co_await session->turnstile.Enter();
  for (int attempt = 1; attempt <= kAttemptsMax; ++attempt) {
    if (stopping_) co_return Stopping();
    HF_CO_CHECK_OK(co_await Load(session));
    if (!IsClaimable(*session)) co_return std::nullopt;
    const Head& head = session->head;
    const int64_t now = Now();
    Head next = head;
    next.owner = owner;
    next.epoch = head.epoch + 1;
    next.lease_until = now + lease_millis;
    next.turn_at = now;
    RowChange change = HeadChange(session->key);
    // What is handed out follows `done`: another node may have taken a commit of the last owner since.
    change.If("epoch = :e", ":e", head.epoch)
        .If("done = :d", ":d", head.done)
        .If("tail > done AND st = :active", ":active", kActive)
        .Set("owner", ":owner", next.owner)
        .Set("epoch", ":epoch", next.epoch)
        .Set("lease_until", ":lease", next.lease_until)
        .Set("turn_at", ":turn", next.turn_at)
        .If("ready_at <= :turn");
    // One that does nothing may be passed over: were it to commit after all, it would be fenced.
    bool passed_over = !head.owner.empty() && head.lease_until >= now;
    if (!passed_over) change.If("(attribute_not_exists(#owner) OR lease_until < :turn)");
    Status written = co_await Change(std::move(change));
    if (!written) {
      Forget(session.get());
      HF_CO_CHECK_OK(co_await Load(session));
      bool ours = session->head.owner == owner && session->head.epoch == next.epoch;
      if (!ours) {
        if (written.error().code() != ErrorCode::kConditionalCheckFailed && !store::MayPass(written.error()))
          co_return Unknown(written.error());
        if (attempt == kAttemptsMax) co_return GaveUp(written.error());
        co_await PauseBefore(attempt);
        continue;
      }
    } else {
      if (!head.owner.empty() && !passed_over) counters_.lease_lapsed.fetch_add(1, std::memory_order_relaxed);
      session->head = next;
    }
    NoteOwner(*session);
    counters_.claims.fetch_add(1, std::memory_order_relaxed);
    if (session->ready_since != 0) counters_.claim_wait.Add(now - std::exchange(session->ready_since, 0));
    ReturnCredit(session.get());
    session->worker = 0;
    session->in_turn = true;
    session->lease_millis = lease_millis;
    session->cancel.clear();
    ArmLapse(session);
    Result<Work> work = co_await MakeWork(session);
    if (!work) co_return std::move(work).error();
    if (work->events.empty()) co_return std::nullopt;
    co_return *std::move(work);
  }
  co_return Contended();
}

// Requires: the head is known.
Core::Async<Work> Core::MakeWork(SessionPtr session) {
  Result<std::vector<Event>> events = co_await LoadEvents(session, session->head.done + kEventsMax);
  if (!events) co_return std::move(events).error();
  Result<std::shared_ptr<const Checkpoint>> checkpoint = co_await LoadCheckpoint(session, session->head.done);
  if (!checkpoint) co_return std::move(checkpoint).error();
  const Head& head = session->head;
  Work work;
  work.session = session->key;
  work.epoch = head.epoch;
  work.lease_until = head.lease_until;
  if (*checkpoint) {
    work.checkpoint_seq = (*checkpoint)->seq;
    work.state = (*checkpoint)->state;
  }
  work.events = *std::move(events);
  work.autonomous_count = head.auto_n;
  work.autonomous_at = head.auto_at;
  work.last_n = head.n_tail;
  work.policy = PolicyOf(session->key);
  if (!work.events.empty()) session->handed = work.events.back().seq;
  session->handed_epoch = work.epoch;
  co_return work;
}

Core::Async<std::vector<Event>> Core::LoadEvents(SessionPtr session, int64_t upto) {
  const int64_t from = session->head.done + 1, to = std::min(upto, session->head.tail);
  Recent<Event>& kept = session->events;
  std::vector<Event> events;
  while (!kept.empty() && kept.front().seq < from) kept.pop_front();
  if (to < from) co_return events;
  if (!kept.empty() && kept.front().seq == from && kept.back().seq >= to) {
    for (const Event& event : kept) {
      if (event.seq <= to) events.push_back(event);
    }
    co_return events;
  }
  Result<std::vector<Item>> rows =
      co_await Rows(SessionPartition(session->key), "E#", EventKey(from - 1), to - from + 1);
  if (!rows) co_return Unknown(rows.error());
  kept.clear();
  bool room = true;
  for (const Item& row : *rows) {
    Event event = ReadEvent(row);
    if (event.seq < from || event.seq > to) {
      NoteMalformed(MalformedRow(SessionPartition(session->key), RowReader(row).Text("sk"),
                                 "its key should end with the number of an event"));
      continue;
    }
    room = room && kept.Add(event);
    events.push_back(std::move(event));
  }
  co_return events;
}

// Null for the beginning, when there is none.
Core::Async<std::shared_ptr<const Checkpoint>> Core::LoadCheckpoint(SessionPtr session, int64_t seq) {
  std::shared_ptr<const Checkpoint> none;
  if (seq == 0) co_return none;
  if (auto kept = session->checkpoint.get(); kept && kept->seq == seq) co_return kept;
  Result<std::optional<Item>> row = co_await Get(SessionPartition(session->key), CheckpointKey(seq));
  if (!row) co_return Unknown(row.error());
  if (!*row) co_return none;
  auto checkpoint = std::make_shared<Checkpoint>(ReadCheckpoint(**row));
  if (checkpoint->chunks > 0) {
    Result<std::vector<Item>> chunks =
        co_await Rows(SessionPartition(session->key), ChunkPrefix(seq, checkpoint->token));
    if (!chunks) co_return Unknown(chunks.error());
    std::string text;
    for (const Item& chunk : *chunks) {
      if (auto bytes = chunk.Get("bytes")) text.append(bytes->AsText());
    }
    HF_CO_TRY(checkpoint->state, json::ReadPlainItem(text));
  }
  if (seq == session->head.done) session->checkpoint.Keep(checkpoint);
  co_return std::shared_ptr<const Checkpoint>(checkpoint);
}

// --- workers that stay ---

ConnectionId Core::Attach(WorkerHello hello, std::shared_ptr<WorkerSink> sink) {
  ConnectionId id = ++next_connection_;
  loop_->Post([this, id, hello = std::move(hello), sink = std::move(sink)]() mutable {
    if (stopping_) return;
    if (hello.system) Mark(&hello.agents);
    std::vector<std::string> agents = hello.agents;
    workers_.emplace(id, Worker{id, hello, sink});
    shown_workers_ = workers_.size();
    for (const std::string& agent : agents) {
      if (Serve(agent)) Spawn(ScanReady(agent, kShards));
      Match(agent);
    }
  });
  return id;
}

void Core::AddCredit(ConnectionId id, int credit) {
  loop_->Post([this, id, credit] {
    auto worker = workers_.find(id);
    if (worker == workers_.end()) return;
    worker->second.hello.credit = std::clamp(worker->second.hello.credit + credit, 0, 100'000);
    for (const std::string& agent : worker->second.hello.agents) Match(agent);
  });
}

void Core::Detach(ConnectionId id) {
  loop_->Post([this, id] {
    if (auto worker = workers_.find(id); worker != workers_.end()) {
      // They count as served for a while: it may come back.
      for (const std::string& agent : worker->second.hello.agents) {
        if (auto queue = agents_.find(agent); queue != agents_.end()) queue->second.used_at = Now();
      }
    }
    workers_.erase(id);
    shown_workers_ = workers_.size();
    // It may have lost its connection only, and come back with its commits.
    At(Now() + kDetachMillis, [this, id] {
      std::vector<SessionPtr> left;
      for (const auto& [key, session] : sessions_) {
        if (session->worker == id) left.push_back(session);
      }
      for (const SessionPtr& session : left) {
        session->in_turn = false;
        Dispatch(session);
      }
    });
  });
}

void Core::ReturnCredit(Session* session) {
  if (!std::exchange(session->in_turn, false) || session->worker == 0) return;
  auto worker = workers_.find(session->worker);
  if (worker == workers_.end()) return;
  Free(&worker->second);
}

// It has room for whatever waits, of any of its agents.
void Core::Free(Worker* worker) {
  --worker->in_use;
  for (const std::string& agent : worker->hello.agents) {
    auto queue = agents_.find(agent);
    if (queue != agents_.end() && !queue->second.ready.empty()) loop_->Post([this, agent] { Match(agent); });
  }
}

void Core::Ask(const SessionPtr& session, std::string reason) {
  if (!session->in_turn) return;
  session->cancel = std::move(reason);
  auto worker = workers_.find(session->worker);
  if (worker == workers_.end()) return;
  worker->second.sink->OnCancel({session->key, session->head.epoch, session->cancel});
  session->cancel.clear();
}

// --- leases ---

void Core::ArmLapse(const SessionPtr& session) {
  if (session->head.owner.empty() || std::exchange(session->lapse_armed, true)) return;
  int64_t lapses = session->head.lease_until + 1;
  if (IsOrphan(*session)) lapses = std::min(lapses, std::max(started_at_ + kDetachMillis, Now() + 1));
  AtFor(session, lapses, &Core::Lapsed);
}

void Core::Lapsed(const SessionPtr& session) {
  session->lapse_armed = false;
  if (!stopping_) Spawn(Lapse(session));
}

Task<Status> Core::Lapse(SessionPtr session) {
  Status loaded = co_await Load(session);
  if (!loaded && IsMalformed(loaded.error())) co_return loaded;
  if (!loaded) {
    co_await Sleep(1'000);
    ArmLapse(session);
    co_return loaded;
  }
  const int64_t until = session->head.lease_until;
  if (until < Now()) ReturnCredit(session.get());
  Dispatch(session);
  bool waits = session->in_turn || session->head.tail > session->head.done;
  if (waits && until >= Now()) ArmLapse(session);
  co_return Ok{};
}

// A worker that stays has its room back when others have its session.
void Core::CheckTurn(Session* session) {
  bool has = session->worker_epoch == session->head.epoch && !session->head.owner.empty();
  if (session->worker == 0 || !session->in_turn || has) return;
  ReturnCredit(session);
}

void Core::Heartbeat(std::vector<Lease> leases, Done<HeartbeatAnswer> done) {
  Begin<HeartbeatAnswer>(
      [this, leases = std::move(leases)]() mutable { return DoHeartbeat(std::move(leases)); },
      std::move(done));
}

Core::Async<HeartbeatAnswer> Core::DoHeartbeat(std::vector<Lease> leases) {
  HeartbeatAnswer answer;
  for (Lease& lease : leases) {
    HF_CO_TRY(SessionPtr session, Find(lease.session));
    Status renewed = co_await Renew(session, lease.epoch, &lease.lease_until);
    if (!renewed && model::RefusalName(renewed.error()) != "Fenced") co_return std::move(renewed).error();
    if (!renewed) {
      answer.lost.push_back(lease);
      continue;
    }
    answer.ok.push_back(lease);
    if (!session->cancel.empty())
      answer.cancel.push_back({lease.session, lease.epoch, std::exchange(session->cancel, {})});
  }
  co_return answer;
}

Task<Status> Core::Renew(SessionPtr session, int64_t epoch, int64_t* lease_until) {
  constexpr int64_t kLeaseMillis = 30'000;  // of one that was given before this start
  Turnstile::Pass pass = co_await session->turnstile.Enter();
  for (int attempt = 1; attempt <= kAttemptsMax; ++attempt) {
    if (stopping_) co_return Stopping();
    const bool remembered = session->known;
    HF_CO_CHECK_OK(co_await Load(session));
    Head next = session->head;
    bool too_long = Now() - next.turn_at > PolicyOf(session->key).turn_max_millis;
    if (next.epoch != epoch || next.owner.empty() || next.gone() || too_long) {
      // Others may have moved on what is remembered.
      if (remembered) {
        Forget(session.get());
        continue;
      }
      counters_.fenced.fetch_add(1, std::memory_order_relaxed);
      co_return Fenced(session->key);
    }
    next.lease_until = Now() + (session->lease_millis > 0 ? session->lease_millis : kLeaseMillis);
    RowChange change = HeadChange(session->key);
    change.If("epoch = :e", ":e", epoch)
        .If("attribute_exists(#owner)")
        .Set("lease_until", ":lease", next.lease_until);
    Status written = co_await Change(std::move(change));
    if (written) {
      session->head.lease_until = *lease_until = next.lease_until;
      co_return Ok{};
    }
    Forget(session.get());
    if (written.error().code() != ErrorCode::kConditionalCheckFailed && !store::MayPass(written.error()))
      co_return Unknown(written.error());
    if (attempt == kAttemptsMax) co_return GaveUp(written.error());
    co_await PauseBefore(attempt);
  }
  co_return Contended();
}

void Core::Release(ReleaseRequest request, Done<Ok> done) {
  Begin<Ok>([this, request = std::move(request)]() mutable { return DoRelease(std::move(request)); },
            std::move(done));
}

Core::Async<Ok> Core::DoRelease(ReleaseRequest request) {
  HF_CO_TRY(SessionPtr session, Find(request.session));
  bool poison = false, unknown = false;
  {
    Turnstile::Pass pass = co_await session->turnstile.Enter();
    for (int attempt = 1;; ++attempt) {
      if (stopping_) co_return Stopping();
      if (attempt > kAttemptsMax) co_return Contended();
      const bool remembered = session->known;
      HF_CO_CHECK_OK(co_await Load(session));
      Head next = session->head;
      if (next.epoch != request.epoch || next.owner.empty()) {
        if (remembered) {
          Forget(session.get());
          continue;
        }
        // Released by a try whose answer was lost.
        if (unknown && next.epoch == request.epoch) break;
        counters_.fenced.fetch_add(1, std::memory_order_relaxed);
        co_return Fenced(session->key);
      }
      const int64_t now = Now();
      next.owner.clear();
      next.lease_until = 0;
      if (!request.error.empty()) ++next.fail_n;
      if (request.retry_after_millis > 0) next.ready_at = now + request.retry_after_millis;
      poison = next.fail_n >= kFailuresMax && !request.error.empty();
      bool block = poison && !PolicyOf(session->key).skip_poison;
      Writes writes(table_);
      RowChange change = HeadChange(session->key);
      change.If("epoch = :e", ":e", request.epoch)
          .If("attribute_exists(#owner)")
          .If("done = :d", ":d", next.done)
          .Remove("owner")
          .Set("lease_until", ":zero", int64_t{0})
          .Set("fail_n", ":fails", next.fail_n)
          .Set("ready_at", ":ready", next.ready_at);
      if (block) {
        next.st = kBlocked;
        next.why = "poison";
        change.Set("st", ":st", next.st).Set("why", ":why", next.why);
      }
      writes.Add(std::move(change));
      if (block) {
        std::string event = EventKey(next.done + 1);
        RowWriter letter(DeadPartition(ShardOf(session->key)),
                         Padded(now, 13) + "#" + session->key + "#" + event);
        letter.Text("session_key", session->key)
            .Text("row", event)
            .Text("reason", "poison: " + request.error.substr(0, 1000))
            .Number("at", now);
        writes.Put(letter.Take());
      }
      Status written = co_await Write(writes.Take());
      if (written) {
        ReturnCredit(session.get());
        session->worker = 0;
        session->head = next;
        if (!request.error.empty()) counters_.failures.fetch_add(1, std::memory_order_relaxed);
        if (block) counters_.dead_letters.fetch_add(1, std::memory_order_relaxed);
        if (block) TellState(*session);
        poison = poison && !block;
        break;
      }
      Forget(session.get());
      unknown = unknown || written.error().code() != ErrorCode::kTransactionCanceled;
      if (written.error().code() != ErrorCode::kTransactionCanceled && !store::MayPass(written.error()))
        co_return Unknown(written.error());
      if (attempt == kAttemptsMax) co_return GaveUp(written.error());
      co_await PauseBefore(attempt);
    }
  }
  if (poison) {
    counters_.poisoned.fetch_add(1, std::memory_order_relaxed);
    Status skipped = co_await SkipEvent(session);
    if (!skipped) co_return std::move(skipped).error();
  }
  Dispatch(session);
  Match(QueueOf(session->key));
  co_return Ok{};
}

// An event that no worker can process is committed as one that changes nothing.
Task<Status> Core::SkipEvent(SessionPtr session) {
  Result<std::optional<Work>> work = co_await TryClaim(session, "runtime|" + random_.Uuid(), 30'000);
  if (!work) co_return std::move(work).error();
  if (!*work) co_return Ok{};
  CommitRequest commit;
  commit.session = session->key;
  commit.epoch = (*work)->epoch;
  commit.upto = (*work)->events.front().seq;
  commit.token = "skip-" + random_.Uuid();
  commit.state = (*work)->state;
  commit.release = commit.skipped = true;
  Result<Committed> done = co_await DoCommit(std::move(commit));
  if (!done) co_return std::move(done).error();
  co_return Ok{};
}

// --- what others appended, or a stopped runtime left ---

Task<Status> Core::ScanReady(std::string agent, int shards) {
  for (int i = 0; i < shards; ++i) {
    if (stopping_) co_return Ok{};
    AgentQueue& queue = agents_[agent];
    if (queue.ready.size() >= kReadyMax) {
      queue.more = true;
      co_return Ok{};
    }
    int shard = queue.scan_shard;
    queue.scan_shard = (queue.scan_shard + 1) % kShards;
    std::string_view name = agent;
    if (name.starts_with(kSystemMark)) name.remove_prefix(1);
    HF_CO_CHECK_OK(co_await ScanShard(agent, ReadyPartition(name, shard)));
  }
  co_return Ok{};
}

Task<Status> Core::ScanShard(std::string agent, std::string partition) {
  constexpr int64_t kPageRows = 256;
  for (std::string after;;) {
    Result<std::vector<Item>> rows = co_await Rows(partition, {}, after, kPageRows);
    if (!rows) co_return Unknown(rows.error());
    for (const Item& row : *rows) {
      if (stopping_) co_return Ok{};
      auto queue = agents_.find(agent);
      if (queue == agents_.end()) co_return Ok{};  // nobody serves it any more
      if (queue->second.ready.size() >= kReadyMax) {
        queue->second.more = true;
        co_return Ok{};
      }
      after = RowReader(row).Text("sk");
      Result<SessionPtr> session = Find(after);
      if (!session) continue;
      bool stale =
          !(*session)->known || (options_.shared && (*session)->turnstile.idle() && !(*session)->queued);
      if (stale) {
        Turnstile::Pass pass = co_await (*session)->turnstile.Enter();
        Status loaded = co_await LoadAgain(*session);
        if (!loaded && IsMalformed(loaded.error())) {
          NoteMalformed(loaded.error());
          continue;
        }
        HF_CO_CHECK_OK(std::move(loaded));
      }
      Dispatch(*session);
      if ((*session)->head.tail == (*session)->head.done) ArmTidy(*session);
    }
    if (static_cast<int64_t>(rows->size()) < kPageRows) co_return Ok{};
  }
}

Task<Status> Core::PollReady() {
  std::vector<std::string> wanted;
  for (const auto& [agent, queue] : agents_) {
    if (queue.scanned) wanted.push_back(agent);
  }
  // In a shared table a quarter of the shards at a time: each is looked at once a second.
  for (std::string& agent : wanted)
    HF_CO_CHECK_OK(co_await ScanReady(agent, options_.shared ? kShards / 4 : kShards));
  co_return Ok{};
}

}  // namespace holdfast::agent
