#include <algorithm>

#include "agent/core.h"
#include "json/plain.h"
#include "model/refusal.h"
#include "store/retry.h"

namespace holdfast::agent {
namespace {

constexpr size_t kInlineBytesMax = 300 << 10;  // a larger state has rows of its own
constexpr size_t kChunkBytes = 300 << 10;
constexpr size_t kStateBytesMax = 8 << 20;
constexpr size_t kWritesMax = 100;

Status CheckRequest(const CommitRequest& request) {
  if (!IsEventId(request.token))
    return model::RefuseField("token", "should be 1 to 128 letters, digits and _ . : -",
                              request.token.substr(0, 100));
  if (request.upto < 1) return model::RefuseField("upto", "should be the number of an event");
  return Ok{};
}

}  // namespace

void Core::Commit(CommitRequest request, Done<Committed> done) {
  Begin<Committed>([this, request = std::move(request)]() mutable { return DoCommit(std::move(request)); },
                   std::move(done));
}

// The answer to a commit that was carried out before, if this is it.
Core::Async<std::optional<Committed>> Core::SameCommit(SessionPtr session, std::string token, int64_t upto) {
  if (session->head.done < upto) co_return std::nullopt;
  Result<std::shared_ptr<const Checkpoint>> checkpoint = co_await LoadCheckpoint(session, upto);
  if (!checkpoint) co_return std::move(checkpoint).error();
  if (!*checkpoint || (*checkpoint)->token != token) co_return std::nullopt;
  co_return AnswerOf(**checkpoint);
}

// A state that is too large for a row is written before the commit that names it. What a failed commit leaves
// behind is removed with the session's old rows.
Task<Status> Core::WriteChunks(SessionPtr session, std::string text, int64_t seq, std::string token,
                               int64_t* chunks) {
  for (size_t begin = 0; begin < text.size(); begin += kChunkBytes) {
    PutItemRequest request;
    request.table_name = table_;
    RowWriter row(SessionPartition(session->key), ChunkKey(seq, token, (*chunks)++));
    row.Bytes("bytes", std::string_view(text).substr(begin, kChunkBytes));
    request.item = row.Take();
    Result<PutItemResponse> put = co_await Do(std::move(request));
    if (!put) co_return Unknown(put.error());
  }
  co_return Ok{};
}

Core::Async<Timers> Core::LoadTimers(SessionPtr session) {
  Result<std::vector<Item>> rows = co_await Rows(SessionPartition(session->key), "T#");
  if (!rows) co_return Unknown(rows.error());
  Timers timers;
  for (const Item& row : *rows) {
    TimerRow timer = ReadTimer(row);
    std::string id = timer.timer_id;
    timers.emplace(std::move(id), std::move(timer));
  }
  co_return timers;
}

Core::Async<Committed> Core::DoCommit(CommitRequest request) {
  HF_CO_TRY(SessionPtr session, Find(request.session));
  HF_CO_CHECK_OK(CheckRequest(request));
  HF_CO_CHECK_OK(NormaliseEffects(Now(), &request.effects));
  HF_CO_CHECK_OK(CheckWebhooks(request.effects));
  if (request.state.SizeBytes() > kStateBytesMax)
    co_return model::Refuse("ItemTooLarge",
                            "a state has at most " + std::to_string(kStateBytesMax) + " bytes");

  Turnstile::Pass pass = co_await session->turnstile.Enter();
  int64_t chunks = 0;
  for (int attempt = 1; attempt <= kAttemptsMax; ++attempt) {
    if (stopping_) co_return Stopping();
    const bool remembered = session->known;
    HF_CO_CHECK_OK(co_await Load(session));
    HF_CO_CHECK_OK(CheckOpen(*session));
    Result<std::optional<Committed>> same = co_await SameCommit(session, request.token, request.upto);
    if (!same) co_return std::move(same).error();
    if (*same) {
      // When its answer was lost, nobody here knows of its timers.
      HF_CO_CHECK_OK(co_await Unpark(session));
      Dispatch(session);
      co_return **std::move(same);
    }
    bool fenced = session->head.epoch != request.epoch || session->head.owner.empty() ||
                  session->head.done >= request.upto || session->head.st == kBlocked;
    // Others may have moved on what is remembered: nobody is refused for that.
    if (remembered && (fenced || request.upto > session->head.tail)) {
      Forget(session.get());
      continue;
    }
    if (fenced) {
      counters_.fenced.fetch_add(1, std::memory_order_relaxed);
      co_return Fenced(session->key);
    }
    // What another node handed out is not known here.
    bool handed =
        options_.shared || session->handed_epoch != request.epoch || request.upto <= session->handed;
    if (request.upto > session->head.tail || !handed)
      co_return model::RefuseField("upto", "should be an event that was handed out",
                                   std::to_string(request.upto));
    HF_CO_TRY(std::vector<Event> events, co_await LoadEvents(session, request.upto));
    if (events.empty() || events.back().seq != request.upto)
      co_return MalformedRow(SessionPartition(session->key), EventKey(request.upto), "it is missing");
    Timers timers;
    bool needs_timers =
        std::any_of(request.effects.begin(), request.effects.end(), [](const EffectRequest& effect) {
          return effect.type == "schedule_timer" || effect.type == "cancel_timer";
        });
    if (needs_timers) {
      HF_CO_TRY(timers, co_await LoadTimers(session));
    }
    Policy policy = PolicyOf(session->key);
    Situation situation{session->key, session->head, events, policy, timers, AutonomyFor(session->key),
                        Now()};
    HF_CO_TRY(Decision decision, Decide(situation, request));
    if (request.state.SizeBytes() > kInlineBytesMax) {
      if (chunks == 0) {
        std::string text;
        json::AppendPlainItem(value::MapView(request.state), &text);
        HF_CO_CHECK_OK(co_await WriteChunks(session, std::move(text), request.upto, request.token, &chunks));
      }
      decision.checkpoint.chunks = chunks;
    }
    Head& next = decision.next;
    bool drained = next.done == next.tail;
    // Only who stays connected can be given the session's next event without asking for it.
    bool stays = session->worker != 0 && workers_.count(session->worker) > 0;
    bool keeps = !request.release && (!drained || stays);
    Writes writes = WritesOf(*session, request, keeps, drained && !keeps, &decision);
    if (writes.size() > kWritesMax)
      co_return model::Refuse("TransactionTooLarge", "the commit writes more than 100 rows");
    Status written = co_await Write(writes.Take());
    if (!written) {
      Forget(session.get());
      const Error& error = written.error();
      bool retry = error.code() == ErrorCode::kTransactionCanceled ||
                   error.code() == ErrorCode::kTransactionInProgress || store::MayPass(error);
      if (error.code() == ErrorCode::kTransactionCanceled && IsTooLarge(error)) co_return TooLarge();
      if (error.code() == ErrorCode::kValidation) co_return Unknown(error);
      if (attempt == kAttemptsMax) co_return retry ? GaveUp(error) : Unknown(error);
      co_await PauseBefore(attempt);
      continue;
    }
    Committed answer = decision.answer;
    Written(session, &decision, keeps);
    if (keeps && !drained) {
      Result<Work> work = Work();
      if (session->head.st == kActive) work = co_await MakeWork(session);
      if (work && !work->events.empty()) {
        HandOn(session.get());
        answer.next = *std::move(work);
      } else {
        ReturnCredit(session.get());
        Dispatch(session);
      }
    }
    co_return answer;
  }
  co_return Contended();
}

// The worker goes on with the session's next events. It may have been taken for gone, by a clock that was
// ahead: then its room is taken again, and the events are not given to it a second time.
void Core::HandOn(Session* session) {
  session->head.turn_at = Now();
  if (std::exchange(session->in_turn, true)) return;
  auto worker = workers_.find(session->worker);
  if (worker != workers_.end()) ++worker->second.in_use;
}

bool Core::IsTooLarge(const Error& error) {
  return error.detail() != nullptr &&
         std::any_of(error.detail()->reasons.begin(), error.detail()->reasons.end(),
                     [](const CancellationReason& reason) { return reason.code == "ValidationError"; });
}
Error Core::TooLarge() {
  return model::Refuse("ItemTooLarge", "a row of the commit is larger than 400 KB");
}

// The transaction of a decision, conditional on the head that it was taken from.
Writes Core::WritesOf(const Session& session, const CommitRequest& request, bool keeps, bool drains,
                      Decision* decision) {
  const Head& head = session.head;
  Head& next = decision->next;
  const int64_t now = decision->checkpoint.created_at;
  std::string pk = SessionPartition(session.key);
  int shard = ShardOf(session.key);
  Writes writes(table_);
  RowChange change = HeadChange(session.key);
  change.If("epoch = :e", ":e", request.epoch)
      .If("done = :d", ":d", head.done)
      .If("pv = :p", ":p", head.pv)
      .If("st = :st", ":st", head.st)
      .Set("done", ":done", next.done)
      .Set("fail_n", ":zero", int64_t{0});
  if (decision->autonomous_send) change.If("tgen = :g", ":g", head.tgen);
  if (next.auto_n != head.auto_n) change.Set("auto_n", ":auto_n", next.auto_n);
  if (next.auto_at != head.auto_at) {
    if (next.auto_at)
      change.Set("auto_at", ":auto_at", *next.auto_at);
    else
      change.Remove("auto_at");
  }
  if (keeps) {
    next.lease_until = now + (session.lease_millis > 0 ? session.lease_millis : 30'000);
    next.turn_at = now;
    change.Set("lease_until", ":lease", next.lease_until).Set("turn_at", ":turn", now);
  } else {
    next.owner.clear();
    next.lease_until = 0;
    change.Remove("owner").Set("lease_until", ":zero_lease", int64_t{0});
  }
  if (drains && head.rx_ev) {
    next.rx_ev = false;
    change.If("tail = :t", ":t", head.tail).SetFlag("rx_ev", ":no", false);
  }
  if (!decision->messages.empty()) {
    change.Set("n_tail", ":n", next.n_tail);
    next.rx_ms = true;
    if (head.rx_ms)
      change.IfFlag("rx_ms = :yes_ms", ":yes_ms", true);
    else
      change.SetFlag("rx_ms", ":yes_ms", true);
  }
  if (decision->webhooks) {
    next.rx_fx = true;
    if (head.rx_fx)
      change.IfFlag("rx_fx = :yes_fx", ":yes_fx", true);
    else
      change.SetFlag("rx_fx", ":yes_fx", true);
  }
  writes.Add(std::move(change));
  writes.PutNew(CheckpointItem(session.key, decision->checkpoint));
  for (const Message& message : decision->messages) writes.PutNew(MessageItem(session.key, message));
  for (const EffectRow& effect : decision->effects) writes.PutNew(EffectItem(session.key, effect));
  for (const TimerRow& timer : decision->timers) {
    writes.Put(TimerItem(session.key, timer));
    if (timer.pending())
      writes.Put(RowKey(DuePartition(shard, BucketOf(timer.due)),
                        DueKey({timer.due, session.key, timer.timer_id, timer.ver})));
  }
  for (const TimerRow& timer : decision->cancelled) writes.Add(CancelChange(session.key, timer, now));
  if (drains && head.rx_ev) writes.Delete(ReadyPartition(AgentOf(session.key), shard), session.key);
  if (next.rx_ms && !head.rx_ms) writes.Put(RowKey(MessagePartition(shard), session.key));
  if (next.rx_fx && !head.rx_fx) writes.Put(RowKey(WebhookPartition(shard), session.key));
  return writes;
}

// What the decision means for those who wait.
void Core::Written(const SessionPtr& session, Decision* decision, bool keeps) {
  const Head& next = decision->next;
  counters_.commits.fetch_add(1, std::memory_order_relaxed);
  counters_.turn.Add(Now() - session->head.turn_at);
  CountRefused(*decision);
  session->head = next;
  while (!session->events.empty() && session->events.front().seq <= next.done) session->events.pop_front();
  session->checkpoint.Keep(std::make_shared<const Checkpoint>(std::move(decision->checkpoint)));
  for (const Message& message : decision->messages) session->messages.AddNewest(message);
  for (const TimerRow& timer : decision->timers) {
    if (timer.pending()) Schedule({timer.due, session->key, timer.timer_id, timer.ver});
  }
  bool more = next.tail > next.done;
  if (!keeps || !more) ReturnCredit(session.get());
  if (!keeps) session->worker = 0;
  if (!decision->messages.empty()) PumpSession(*session);
  if (decision->webhooks) Drive(session);
  if (!keeps) Dispatch(session);
  if (!more) ArmTidy(session);
  Match(QueueOf(session->key));
}

void Core::CountRefused(const Decision& decision) {
  auto count = [](Counters::Counter& counter) { counter.fetch_add(1, std::memory_order_relaxed); };
  counters_.messages.fetch_add(decision.messages.size(), std::memory_order_relaxed);
  for (const TimerRow& timer : decision.timers) {
    if (timer.pending()) count(counters_.timers_set);
  }
  counters_.timers_cancelled.fetch_add(decision.cancelled.size(), std::memory_order_relaxed);
  for (const Refused& refused : decision.answer.suppressed) {
    if (refused.reason == "disabled") count(counters_.refused_disabled);
    if (refused.reason == "superseded") count(counters_.refused_superseded);
    if (refused.reason == "cap") count(counters_.refused_cap);
    if (refused.reason == "cooldown") count(counters_.refused_cooldown);
    if (refused.reason == "held") count(counters_.held);
  }
}

}  // namespace holdfast::agent
