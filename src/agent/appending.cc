#include "agent/core.h"
#include "model/refusal.h"
#include "store/retry.h"

namespace holdfast::agent {
namespace {

constexpr size_t kPayloadBytesMax = 256 << 10;

Status CheckPayload(const AppendRequest& request, bool system) {
  if (!request.id.empty() && !IsEventId(request.id))
    return model::RefuseField("id", "should be 1 to 128 letters, digits and _ . : -",
                              request.id.substr(0, 100));
  if (!request.id.empty() && (request.id.starts_with("r:") || request.id.starts_with("t:")))
    return model::RefuseField("id", "should not begin with r: or t:, which the runtime's own do", request.id);
  if (request.payload.SizeBytes() > kPayloadBytesMax)
    return model::Refuse("ItemTooLarge",
                         "a payload has at most " + std::to_string(kPayloadBytesMax) + " bytes");
  if (request.type == "command" && system) return Ok{};
  if (request.type == "tool_result" || request.type == "timer" || request.type == "approval")
    return model::Refuse("ReservedEventType",
                         "only the runtime itself appends events of type " + request.type);
  if (request.type != "user_message")
    return model::RefuseField("type", "should be user_message", request.type);
  auto text = request.payload.Get("text");
  if (!text || text->type() != AttributeValue::Type::kString)
    return model::RefuseField("payload.text", "should be a text");
  if (request.payload.size() != 1) return model::RefuseField("payload", "should have text and nothing else");
  return Ok{};
}

}  // namespace

void Core::Append(AppendRequest request, Done<Appended> done) {
  Begin<Appended>([this, request = std::move(request)]() mutable { return DoAppend(std::move(request)); },
                  std::move(done));
}

Core::Async<Appended> Core::DoAppend(AppendRequest request) {
  HF_CO_TRY(SessionPtr session, Find(request.session));
  HF_CO_CHECK_OK(CheckPayload(request, IsSystem(request.session)));
  Event event;
  event.id = request.id.empty() ? random_.Uuid() : std::move(request.id);
  event.type = std::move(request.type);
  event.payload = std::move(request.payload);
  Extra none;
  Result<Appended> appended = co_await AppendEvent(std::move(session), std::move(event), none);
  co_return appended;
}

// A counter bumped alone, before its event, would leave a gap at a crash: head, event and name are one
// transaction.
void Core::AddEvent(const Session& session, const Event& event, Head* next, Writes* writes) {
  const Head& head = session.head;
  *next = head;
  next->exists = true;
  next->tail = event.seq;
  next->last_at = event.at;
  next->rx_ev = true;
  if (event.type == "user_message") {
    next->tgen = event.generation;
    int64_t debounce = PolicyOf(session.key).debounce_millis;
    if (debounce > 0) next->ready_at = event.at + debounce;
  }
  if (!head.exists) {
    writes->PutNew(HeadRow(session.key, *next));
  } else {
    RowChange change = HeadChange(session.key);
    change.If("tail = :t", ":t", head.tail)
        .If("st = :st", ":st", head.st)
        .Set("tail", ":tail", next->tail)
        .Set("last_at", ":at", next->last_at);
    if (next->tgen != head.tgen) change.Set("tgen", ":tgen", next->tgen);
    if (next->ready_at != head.ready_at) change.Set("ready_at", ":ready", next->ready_at);
    // Another node may have taken the session from the queue since.
    if (head.rx_ev)
      change.IfFlag("rx_ev = :true", ":true", true);
    else
      change.SetFlag("rx_ev", ":true", true);
    writes->Add(std::move(change));
  }
  writes->PutNew(EventItem(session.key, event));
  std::string pk = SessionPartition(session.key);
  RowWriter name(pk, DedupeKey(event.id));
  name.Number("seq", event.seq);
  writes->PutNew(name.Take());
  if (!head.rx_ev)
    writes->Put(RowKey(ReadyPartition(AgentOf(session.key), ShardOf(session.key)), session.key));
}

Core::Async<Appended> Core::AppendEvent(SessionPtr session, Event event, Extra with) {
  constexpr size_t kNameAction = 2;
  Turnstile::Pass pass = co_await session->turnstile.Enter();
  bool unknown = false;  // an earlier try may have been carried out
  for (int attempt = 1; attempt <= kAttemptsMax; ++attempt) {
    if (stopping_) co_return Stopping();
    HF_CO_CHECK_OK(co_await Load(session));
    HF_CO_CHECK_OK(CheckOpen(*session));
    const Head& head = session->head;
    event.seq = head.tail + 1;
    event.at = Now();
    event.generation = head.tgen + (event.type == "user_message" ? 1 : 0);
    Head next;
    Writes writes(table_);
    AddEvent(*session, event, &next, &writes);
    if (with) with(&writes);
    Status written = co_await Write(writes.Take());
    if (written) {
      Appended answer{event.seq, event.id, false};
      Appended_(session, next, std::move(event));
      co_return answer;
    }
    counters_.append_conflicts.fetch_add(1, std::memory_order_relaxed);
    Forget(session.get());
    const Error& error = written.error();
    std::optional<size_t> failed = FailedAction(error);
    bool retry = store::MayPass(error) || error.code() == ErrorCode::kTransactionCanceled ||
                 error.code() == ErrorCode::kTransactionInProgress;
    // Present: it was accepted before, or just now by a try whose answer was lost.
    if (!failed || *failed == kNameAction || unknown || !retry) {
      Result<std::optional<Item>> name = co_await Get(SessionPartition(session->key), DedupeKey(event.id));
      if (!name) co_return Unknown(name.error());
      if (*name) {
        int64_t seq = RowReader(**name).Count("seq");
        bool ours = !failed || unknown;
        if (!ours) counters_.duplicates.fetch_add(1, std::memory_order_relaxed);
        Status loaded = co_await Load(session);
        if (loaded) Dispatch(session);
        co_return Appended{seq, event.id, !ours};
      }
      if (!failed) unknown = true;
    }
    if (!retry) co_return Unknown(error);
    if (attempt == kAttemptsMax) co_return GaveUp(error);
    co_await PauseBefore(attempt);
  }
  co_return Contended();
}

void Core::Appended_(const SessionPtr& session, const Head& next, Event event) {
  Count(event);
  bool spoken = event.type == "user_message";
  bool joins = (session->events.empty() ? session->head.done : session->events.back().seq) + 1 == event.seq;
  session->head = next;
  // Nobody may ever ask for the events of an agent that nobody serves: they are in the table.
  if (joins && IsServed(*session)) session->events.Add(std::move(event));
  if (spoken && PolicyOf(session->key).interrupt == Interrupt::kInterrupt) Ask(session, "user_message");
  Dispatch(session);
}

void Core::Count(const Event& event) {
  auto& counter = event.type == "user_message"  ? counters_.user_messages
                  : event.type == "timer"       ? counters_.timer_events
                  : event.type == "tool_result" ? counters_.tool_results
                                                : counters_.commands;
  counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace holdfast::agent
