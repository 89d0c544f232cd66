#include <algorithm>

#include "agent/core.h"
#include "model/instant.h"

namespace holdfast::agent {
namespace {

constexpr int64_t kIdleMillis = 5'000;     // before a session's entries in the indexes are looked at
constexpr int64_t kUnusedMillis = 60'000;  // before it is forgotten
constexpr int64_t kTimersKeptMillis = 86'400'000;
constexpr int64_t kTombstoneMillis = 30LL * 86'400'000;

bool IsOlder(const Item& row, std::string_view name, int64_t before) {
  std::optional<int64_t> at = model::ParseInstant(RowReader(row).Text(name));
  return at && *at < before;
}

}  // namespace

// What says "there is something to do here" is taken back when nothing has happened for a while, not at each
// commit and acknowledgement: an entry too many costs a reader a look, taking it back and making it again
// would cost two writes an event.
void Core::ArmTidy(const SessionPtr& session) {
  if (stopping_ || std::exchange(session->tidy_armed, true)) return;
  AtFor(session, Now() + kIdleMillis, &Core::TidyNow);
}

void Core::TidyNow(const SessionPtr& session) {
  session->tidy_armed = false;
  if (stopping_) return;
  if (session->known && Now() - session->head.last_at < kIdleMillis) return ArmTidy(session);
  Spawn(Tidy(session));
}

Task<Status> Core::Tidy(SessionPtr session) {
  Turnstile::Pass pass = co_await session->turnstile.Enter();
  HF_CO_CHECK_OK(co_await Load(session));
  const Head head = session->head;
  if (!head.exists || head.gone()) co_return Ok{};
  const int shard = ShardOf(session->key);
  const std::string pk = SessionPartition(session->key);
  const bool busy = session->in_turn;
  if (head.rx_ev && head.tail == head.done && !busy) {
    Writes writes(table_);
    RowChange change = HeadChange(session->key);
    change.If("tail = :t", ":t", head.tail)
        .If("done = :d", ":d", head.done)
        .If("epoch = :e", ":e", head.epoch)
        .SetFlag("rx_ev", ":no", false)
        .Set("lease_until", ":zero", int64_t{0})
        .Remove("owner");
    writes.Add(std::move(change));
    writes.Delete(ReadyPartition(AgentOf(session->key), shard), session->key);
    Status written = co_await Write(writes.Take());
    if (!written) {
      Forget(session.get());
      if (FailedAction(written.error())) co_return Ok{};
      co_return written;
    }
    session->head.rx_ev = false;
    session->head.owner.clear();
    session->head.lease_until = 0;
    session->worker = 0;
  }
  if (head.rx_ms) {
    HF_CO_TRY(std::vector<Item> cursors, co_await Rows(pk, "K#"));
    for (const Item& cursor : cursors) {
      if (RowReader(cursor).Number("n") < head.n_tail) continue;
      Writes writes(table_);
      RowWriter values;
      values.Number(":n", head.n_tail);
      writes.Check(pk, RowReader(cursor).Text("sk"), "n >= :n", values.Take());
      RowChange change = HeadChange(session->key);
      change.If("n_tail = :n", ":n", head.n_tail).SetFlag("rx_ms", ":no", false);
      writes.Add(std::move(change));
      writes.Delete(MessagePartition(shard), session->key);
      Status written = co_await Write(writes.Take());
      if (written)
        session->head.rx_ms = false;
      else
        Forget(session.get());
      break;
    }
  }
  if (session->known && session->head.rx_fx && !session->driving) {
    HF_CO_TRY(std::vector<Item> effects, co_await Rows(pk, "F#"));
    bool wanted = std::any_of(effects.begin(), effects.end(), [](const Item& row) {
      std::string status = RowReader(row).Text("status");
      return RowReader(row).Text("type") == "webhook" && (status == "pending" || status == "executing");
    });
    if (wanted) co_return Ok{};
    Writes writes(table_);
    RowChange change = HeadChange(session->key);
    change.If("done = :d", ":d", session->head.done)
        .If("st = :st", ":st", session->head.st)
        .SetFlag("rx_fx", ":no", false);
    writes.Add(std::move(change));
    writes.Delete(WebhookPartition(shard), session->key);
    Status written = co_await Write(writes.Take());
    if (written)
      session->head.rx_fx = false;
    else
      Forget(session.get());
  }
  co_return Ok{};
}

// Its rows do not say all that is known of it here.
bool Core::IsPinned(const SessionPtr& session) {
  return session->queued || !session->devices.empty() || session->in_turn || session->driving ||
         !session->turnstile.idle() || session.use_count() > 1;
}

void Core::DropUnused() {
  std::erase_if(sessions_, [&](const auto& entry) {
    const Session& session = *entry.second;
    bool armed = session.lapse_armed || session.ready_armed || session.tidy_armed;
    return !armed && Now() - session.used_at >= kUnusedMillis && !IsPinned(entry.second);
  });
  shown_sessions_ = sessions_.size();
  for (auto at = claimed_.begin(); at != claimed_.end();) {
    std::erase_if(at->second, [&](const std::string& key) {
      auto session = sessions_.find(key);
      return session == sessions_.end() || session->second->head.owner != at->first;
    });
    at = at->second.empty() ? claimed_.erase(at) : std::next(at);
  }
  std::set<std::string> served;
  for (const auto& [id, worker] : workers_)
    served.insert(worker.hello.agents.begin(), worker.hello.agents.end());
  for (const std::shared_ptr<Waiter>& waiter : waiters_)
    served.insert(waiter->agents.begin(), waiter->agents.end());
  for (auto at = agents_.begin(); at != agents_.end();) {
    const AgentQueue& queue = at->second;
    if (served.contains(at->first) || Now() - queue.used_at < kUnusedMillis) {
      ++at;
      continue;
    }
    for (const SessionPtr& session : queue.ready) session->queued = false;
    at = agents_.erase(at);
  }
}

// Evicts the least recently used half. A timer of an evicted session acts on the session that is loaded
// again.
void Core::MakeRoom() {
  if (sessions_.size() < make_room_at_) return;
  std::vector<int64_t> used;
  for (const auto& [key, session] : sessions_) {
    if (!IsPinned(session)) used.push_back(session->used_at);
  }
  if (!used.empty()) {
    auto middle = used.begin() + static_cast<ptrdiff_t>(used.size() / 2);
    std::nth_element(used.begin(), middle, used.end());
    std::erase_if(sessions_, [&](const auto& entry) {
      return entry.second->used_at <= *middle && !IsPinned(entry.second);
    });
  }
  make_room_at_ = std::max(options_.sessions_max, sessions_.size() + sessions_.size() / 4);
}

// --- old rows ---

// All sessions, a page at a time; nothing else reads the whole table.
Task<Status> Core::Retain() {
  std::optional<Item> from;
  do {
    if (stopping_) co_return Ok{};
    ScanRequest request;
    request.table_name = table_;
    request.filter_expression = "sk = :head";
    RowWriter values;
    values.Text(":head", kHeadKey);
    request.expression_attribute_values = ExpressionValues(values.Take());
    request.exclusive_start_key = from;
    Result<ScanResponse> page = co_await Do(std::move(request));
    if (!page) co_return Unknown(page.error());
    from = std::move(page->last_evaluated_key);
    if (!page->items) continue;
    for (const Item& row : *page->items) {
      Result<SessionPtr> session = Find(RowReader(row).Text("session_key"));
      if (!session) continue;
      Status pruned = co_await Prune(*session);
      if (!pruned && !IsMalformed(pruned.error())) co_return pruned;
      if (!pruned) NoteMalformed(pruned.error());
    }
  } while (from);
  co_return Ok{};
}

// Timers that are over are removed after a day, and a deleted session's head after thirty. Of the rest what
// is older than the retention, was processed and told; the newest checkpoint stays.
Task<Status> Core::Prune(SessionPtr session) {
  const std::string pk = SessionPartition(session->key);
  std::vector<Item> keys;
  Turnstile::Pass pass = co_await session->turnstile.Enter();
  HF_CO_CHECK_OK(co_await LoadAgain(session));
  const Head head = session->head;
  if (head.st == kDeleted && Now() - head.last_at > kTombstoneMillis) {
    DeleteItemRequest request;
    request.table_name = table_;
    request.key = RowKey(pk, kHeadKey);
    Result<DeleteItemResponse> deleted = co_await Do(std::move(request));
    Forget(session.get());
    if (!deleted) co_return Unknown(deleted.error());
    co_return Ok{};
  }
  if (head.gone()) co_return Ok{};
  HF_CO_TRY(std::vector<Item> timers, co_await Rows(pk, "T#"));
  for (const Item& row : timers) {
    if (!ReadTimer(row).alive(head) && IsOlder(row, "updated_at", Now() - kTimersKeptMillis))
      keys.push_back(RowKey(pk, RowReader(row).Text("sk")));
  }
  if (options_.retention_millis > 0)
    HF_CO_CHECK_OK(co_await FindOld(session, Now() - options_.retention_millis, &keys));
  for (Item& key : keys) {
    if (stopping_) co_return Ok{};
    DeleteItemRequest request;
    request.table_name = table_;
    request.key = std::move(key);
    Result<DeleteItemResponse> deleted = co_await Do(std::move(request));
    if (!deleted) co_return Unknown(deleted.error());
  }
  co_return Ok{};
}

Task<Status> Core::FindOld(SessionPtr session, int64_t before, std::vector<Item>* keys) {
  const std::string pk = SessionPartition(session->key);
  const Head head = session->head;
  Result<int64_t> cursor = co_await NewestCursor(session->key);
  if (!cursor) co_return std::move(cursor).error();
  int64_t base = head.base;
  HF_CO_TRY(std::vector<Item> events, co_await Rows(pk, "E#"));
  for (const Item& row : events) {
    Event event = ReadEvent(row);
    if (event.seq > head.done || event.at >= before) break;
    keys->push_back(RowKey(pk, EventKey(event.seq)));
    keys->push_back(RowKey(pk, DedupeKey(event.id)));
    if (event.seq < head.done) keys->push_back(RowKey(pk, CheckpointKey(event.seq)));
    base = event.seq + 1;
  }
  HF_CO_TRY(std::vector<Item> messages, co_await Rows(pk, "M#"));
  for (const Item& row : messages) {
    Message message = ReadMessage(row);
    if (message.n > *cursor || message.at >= before) break;
    keys->push_back(RowKey(pk, MessageKey(message.n)));
  }
  HF_CO_TRY(std::vector<Item> effects, co_await Rows(pk, "F#"));
  for (const Item& row : effects) {
    EffectRow effect = ReadEffect(row);
    bool over = effect.status != "pending" && effect.status != "executing" &&
                (effect.status != "held" || effect.gen != head.tgen);
    if (over && effect.updated_at < before) keys->push_back(RowKey(pk, EffectKey(effect.seq, effect.i)));
  }
  HF_CO_TRY(std::vector<Item> chunks, co_await Rows(pk, "CC#"));
  for (const Item& row : chunks) {
    std::string sk = RowReader(row).Text("sk");
    if (sk < ChunkPrefix(head.done, "") && base > head.base) keys->push_back(RowKey(pk, sk));
  }
  if (base == head.base) co_return Ok{};
  // The head says first that they are gone: nobody looks for what is half removed.
  RowChange change = HeadChange(session->key);
  change.If("done >= :base_done", ":base_done", base - 1).Set("base", ":base", base);
  Status raised = co_await Change(std::move(change));
  if (raised) session->head.base = base;
  co_return raised;
}

}  // namespace holdfast::agent
