#include <algorithm>
#include <charconv>

#include "agent/core.h"
#include "model/instant.h"
#include "model/refusal.h"
#include "store/retry.h"

namespace holdfast::agent {
namespace {

constexpr int64_t kHorizonMillis = 5 * 60'000;   // what is due later stays in the index alone
constexpr int64_t kLateBuckets = 15;             // writers of entries may be this late
constexpr int64_t kWalkedBuckets = 7 * 24 * 60;  // that are looked at one by one
constexpr int kPromotionsMax = 64;               // at once

Event TimerEvent(const TimerRow& timer) {
  Event event;
  event.type = "timer";
  event.id = "t:" + timer.ver;
  event.autonomous = true;
  event.payload.Set("timer_id", timer.timer_id);
  if (timer.payload) event.payload.Set("payload", *timer.payload);
  return event;
}

RowChange TimerChange(std::string_view session, const TimerRow& timer, std::string_view status, int64_t now) {
  RowChange change(SessionPartition(session), TimerKey(timer.timer_id));
  std::string at = model::FormatInstant(now);
  change.If("ver = :v", ":v", timer.ver)
      .If("#status = :pending", ":pending", "pending")
      .Set("status", ":status", status)
      .Set("updated_at", ":at", at);
  return change;
}

void DeleteEntry(const DueEntry& entry, Writes* writes) {
  writes->Delete(DuePartition(ShardOf(entry.session), BucketOf(entry.due)), DueKey(entry));
}
void PutEntry(const DueEntry& entry, Writes* writes) {
  writes->Put(RowKey(DuePartition(ShardOf(entry.session), BucketOf(entry.due)), DueKey(entry)));
}

}  // namespace

RowChange Core::CancelChange(std::string_view session, const TimerRow& timer, int64_t now) {
  return TimerChange(session, timer, "cancelled", now);
}

// --- when ---

void Core::Schedule(const DueEntry& entry) {
  if (BucketOf(entry.due) >= due_bucket_) return;  // it is read when its time comes nearer
  due_.insert(entry);
  shown_timers_ = due_.size();
  ArmTimers();
}

void Core::ArmTimers() {
  if (due_.empty() || stopping_) return;
  int64_t first = due_.begin()->due;
  if (due_armed_ != 0 && due_armed_ <= first) return;
  due_armed_ = first;
  At(first, [this, first] {
    if (due_armed_ != first) return;  // an earlier one came
    due_armed_ = 0;
    FireDue();
  });
}

void Core::FireDue() {
  while (!due_.empty() && due_.begin()->due <= Now() && promoting_ < kPromotionsMax) {
    DueEntry entry = std::move(due_.extract(due_.begin()).value());
    ++promoting_;
    Spawn(Promote(std::move(entry)));
  }
  shown_timers_ = due_.size();
  if (promoting_ < kPromotionsMax) ArmTimers();
}

// --- a timer's time has come ---

Task<Status> Core::Promote(DueEntry entry) {
  Status done = Ok{};
  bool settled = false;
  Result<SessionPtr> found = Find(entry.session);
  if (found) {
    SessionPtr session = *found;
    Turnstile::Pass pass = co_await session->turnstile.Enter();
    for (int attempt = 1; attempt <= kAttemptsMax && !settled && !stopping_; ++attempt) {
      if (attempt > 1) co_await PauseBefore(attempt);
      const bool remembered = session->known;
      done = co_await Load(session);
      if (!done && IsMalformed(done.error())) break;
      if (!done) continue;
      Result<std::optional<Item>> row =
          co_await Get(SessionPartition(session->key), TimerKey(entry.timer_id));
      if (!row) {
        done = row.error();
        continue;
      }
      TimerRow timer = *row ? ReadTimer(**row) : TimerRow();
      bool stale = !*row || timer.ver != entry.version || timer.due != entry.due || !timer.pending();
      if (stale) {
        done = co_await DropEntry(entry);
        settled = done.has_value();
      } else if (remembered && (!timer.alive(session->head) || session->head.st != kActive)) {
        // Others may have moved on what is remembered: look before it is cancelled or put off.
        done = Contended();
      } else if (timer.due > Now()) {
        // The clock was set back.
        settled = true;
        Schedule(entry);
      } else if (!timer.alive(session->head) || session->head.gone()) {
        done = co_await CancelDue(session, entry, timer);
        settled = done.has_value();
      } else if (session->head.st != kActive || !AutonomyFor(session->key)) {
        // Whoever lets the session, or all of them, go on, looks at its timers again.
        session->parked = settled = true;
        parked_.insert(session->key);
        done = Ok{};
      } else if (timer.timer_id.starts_with(kHoldPrefix)) {
        done = co_await ReleaseHeld(session, entry, timer, &settled);
      } else {
        done = co_await PromoteOnce(session, entry, timer, &settled);
      }
      if (!settled) Forget(session.get());
    }
  }
  // What a store refuses for its form it refuses each time, as it does a malformed row.
  bool hopeless = !done && (IsMalformed(done.error()) || done.error().code() == ErrorCode::kValidation);
  if (!settled && !stopping_ && found && !hopeless) {
    // The entry is in the index still: try again soon.
    At(Now() + 1'000, [this, entry] { Schedule(entry); });
  }
  --promoting_;
  FireDue();
  co_return done;
}

Task<Status> Core::DropEntry(DueEntry entry) {
  DeleteItemRequest request;
  request.table_name = table_;
  request.key = RowKey(DuePartition(ShardOf(entry.session), BucketOf(entry.due)), DueKey(entry));
  Result<DeleteItemResponse> deleted = co_await Do(std::move(request));
  if (!deleted) co_return std::move(deleted).error();
  co_return Ok{};
}

Task<Status> Core::CancelDue(SessionPtr session, DueEntry entry, TimerRow timer) {
  Writes writes(table_);
  writes.Add(CancelChange(session->key, timer, Now()));
  DeleteEntry(entry, &writes);
  if (timer.timer_id.starts_with(kHoldPrefix)) {
    RowChange effect = HeldChange(session->key, timer, "failed", Now());
    effect.Set("outcome", ":outcome", "cancelled");
    writes.Add(std::move(effect));
  }
  Status written = co_await Write(writes.Take());
  if (written) counters_.timers_cancelled.fetch_add(1, std::memory_order_relaxed);
  co_return written;
}

// One try. The user's words move the head's tail, so that a timer which was alive when the head was read is
// alive when this is written, or nothing is.
Task<Status> Core::PromoteOnce(SessionPtr session, DueEntry entry, TimerRow timer, bool* settled) {
  Event event = TimerEvent(timer);
  event.seq = session->head.tail + 1;
  event.at = Now();
  event.generation = session->head.tgen;
  Head next;
  Writes writes(table_);
  AddEvent(*session, event, &next, &writes);
  writes.Add(TimerChange(session->key, timer, "promoted", event.at));
  DeleteEntry(entry, &writes);
  Status written = co_await Write(writes.Take());
  if (!written) co_return written;
  *settled = true;
  counters_.timers_promoted.fetch_add(1, std::memory_order_relaxed);
  counters_.timer_late.Add(Now() - timer.fire_at);
  Appended_(session, next, std::move(event));
  co_return Ok{};
}

// --- a held message may go out ---

RowChange Core::HeldChange(std::string_view session, const TimerRow& timer, std::string_view status,
                           int64_t now) {
  // Its timer's version is the effect's place: <seq>.<i>.
  int64_t seq = 0, i = 0;
  const char* end = timer.ver.data() + timer.ver.size();
  const char* dot = std::from_chars(timer.ver.data(), end, seq).ptr;
  if (dot != end) std::from_chars(dot + 1, end, i);
  RowChange change(SessionPartition(session), EffectKey(seq, i));
  std::string at = model::FormatInstant(now);
  change.If("#status = :held", ":held", "held").Set("status", ":status", status).Set("updated_at", ":at", at);
  return change;
}

Task<Status> Core::ReleaseHeld(SessionPtr session, DueEntry entry, TimerRow timer, bool* settled) {
  const Head& head = session->head;
  const Policy policy = PolicyOf(session->key);
  const int64_t now = Now();
  Writes writes(table_);
  if (head.auto_n >= policy.cap) {
    // There is no legal moment before the user's next words, and those cancel it.
    writes.Add(CancelChange(session->key, timer, now));
    DeleteEntry(entry, &writes);
    Status written = co_await Write(writes.Take());
    *settled = written.has_value();
    co_return written;
  }
  int64_t legal = head.auto_at ? *head.auto_at + policy.cooldown_millis : now;
  if (legal > now) {
    DueEntry later = entry;
    later.due = legal;
    RowChange change = TimerChange(session->key, timer, "pending", now);
    std::string at = model::FormatInstant(legal);
    change.Set("fire_at", ":fire_at", at).Set("due", ":due", legal);
    writes.Add(std::move(change));
    DeleteEntry(entry, &writes);
    PutEntry(later, &writes);
    Status written = co_await Write(writes.Take());
    *settled = written.has_value();
    if (written) Schedule(later);
    co_return written;
  }
  RowChange held = HeldChange(session->key, timer, "completed", now);
  std::string effect_key = held.sort_key();
  Result<std::optional<Item>> row = co_await Get(SessionPartition(session->key), effect_key);
  if (!row) co_return std::move(row).error();
  if (!*row) {
    Status dropped = co_await CancelDue(session, entry, timer);
    *settled = dropped.has_value();
    co_return dropped;
  }
  EffectRow effect = ReadEffect(**row);
  Head next = head;
  ++next.auto_n;
  ++next.pv;
  next.auto_at = now;
  Message message;
  message.n = ++next.n_tail;
  message.seq = effect.seq;
  message.i = effect.i;
  message.id = timer.id;
  message.content = RowReader(effect.payload).Text("content");
  message.autonomous = true;
  message.at_most_once = effect.at_most_once;
  message.at = now;
  message.dedupe_key = effect.dedupe_key;
  next.rx_ms = true;
  RowChange change = HeadChange(session->key);
  change.If("tgen = :g", ":g", head.tgen)
      .If("auto_n = :was", ":was", head.auto_n)
      .If("pv = :p", ":p", head.pv)
      .If("n_tail = :old_n", ":old_n", head.n_tail)
      .If("st = :st", ":st", head.st)
      .Set("auto_n", ":auto_n", next.auto_n)
      .Set("auto_at", ":auto_at", now)
      .Set("pv", ":pv", next.pv)
      .Set("n_tail", ":n", next.n_tail);
  if (head.rx_ms)
    change.IfFlag("rx_ms = :yes", ":yes", true);
  else
    change.SetFlag("rx_ms", ":yes", true);
  held.Set("n", ":n", message.n);
  writes.Add(std::move(change));
  writes.PutNew(MessageItem(session->key, message));
  writes.Add(std::move(held));
  writes.Add(TimerChange(session->key, timer, "promoted", now));
  DeleteEntry(entry, &writes);
  if (!head.rx_ms) writes.Put(RowKey(MessagePartition(ShardOf(session->key)), session->key));
  Status written = co_await Write(writes.Take());
  if (!written) co_return written;
  *settled = true;
  session->head = next;
  session->messages.AddNewest(message);
  counters_.released.fetch_add(1, std::memory_order_relaxed);
  counters_.messages.fetch_add(1, std::memory_order_relaxed);
  PumpSession(*session);
  co_return Ok{};
}

// --- the index ---

Task<Status> Core::LoadDue(int64_t from, int64_t to) {
  for (int64_t bucket = from; bucket < to; ++bucket) {
    for (int shard = 0; shard < kShards; ++shard) {
      if (stopping_) co_return Ok{};
      Result<std::vector<Item>> rows = co_await Rows(DuePartition(shard, bucket), {});
      if (!rows) co_return std::move(rows).error();
      for (const Item& row : *rows) {
        DueEntry entry;
        std::string key = RowReader(row).Text("sk");
        // An entry is deleted by the key that it is known by.
        if (ParseDueKey(key, &entry) && DueKey(entry) == key && BucketOf(entry.due) == bucket &&
            ShardOf(entry.session) == shard)
          due_.insert(std::move(entry));
        else
          NoteMalformed(MalformedRow(DuePartition(shard, bucket), key,
                                     "its key does not name a timer that is due there"));
      }
    }
  }
  shown_timers_ = due_.size();
  ArmTimers();
  co_return Ok{};
}

// Every entry of the index, wherever it is: for when nobody knows where to begin to look, or it was too long
// ago to look at each minute since.
Task<Status> Core::LoadAll() {
  const int64_t now = BucketOf(Now());
  std::vector<int64_t> lows(kShards, now - kLateBuckets);
  ScanRequest request;
  request.table_name = table_;
  request.filter_expression = "begins_with(pk, :index)";
  RowWriter values;
  values.Text(":index", "TX#");
  request.expression_attribute_values = ExpressionValues(values.Take());
  do {
    if (stopping_) co_return Ok{};
    ScanRequest page = request;
    Result<ScanResponse> got = co_await Do(std::move(page));
    if (!got) co_return Unknown(got.error());
    for (const Item& row : got->items.value_or(std::vector<Item>())) {
      DueEntry entry;
      RowReader reader(row);
      std::string key = reader.Text("sk");
      if (!ParseDueKey(key, &entry) || DueKey(entry) != key) continue;
      auto shard = static_cast<size_t>(ShardOf(entry.session));
      int64_t bucket = BucketOf(entry.due);
      if (reader.Text("pk") != DuePartition(static_cast<int>(shard), bucket)) continue;
      lows[shard] = std::min(lows[shard], bucket);
      if (bucket < due_bucket_) due_.insert(std::move(entry));
    }
    request.exclusive_start_key = std::move(got->last_evaluated_key);
  } while (request.exclusive_start_key);
  for (size_t shard = 0; shard < lows.size(); ++shard) {
    PutItemRequest put;
    put.table_name = table_;
    RowWriter row(ShardPartition(static_cast<int>(shard)), "L");
    row.Number("low", lows[shard]);
    put.item = row.Take();
    Result<PutItemResponse> written = co_await Do(std::move(put));
    if (!written) co_return Unknown(written.error());
  }
  shown_timers_ = due_.size();
  ArmTimers();
  co_return Ok{};
}

// What came due while nobody looked, in the order in which it did.
Task<Status> Core::LoadFirst() {
  const int64_t now = BucketOf(Now());
  int64_t low = now;
  bool all = false;
  for (int shard = 0; shard < kShards; ++shard) {
    for (;;) {
      if (stopping_) co_return Ok{};
      Result<std::optional<Item>> row = co_await Get(ShardPartition(shard), "L");
      if (row && *row) {
        std::optional<int64_t> known = RowReader(**row).Maybe("low");
        if (known && *known >= now - kWalkedBuckets && *known <= now + kWalkedBuckets)
          low = std::min(low, *known);
        else
          all = true;
      }
      if (row && !*row) {
        RowChange change(ShardPartition(shard), "L");
        change.Set("low", ":low", now - kLateBuckets).If("attribute_not_exists(pk)");
        low = std::min(low, now - kLateBuckets);
        Status made = co_await Change(std::move(change));
        if (!made && made.error().code() != ErrorCode::kConditionalCheckFailed) row = made.error();
      }
      if (row) break;
      co_await Sleep(1'000);
    }
  }
  const int64_t to = BucketOf(Now() + kHorizonMillis) + 1;
  // From here on what is set for these buckets goes into memory at once.
  due_bucket_ = std::max(due_bucket_, to);
  for (;;) {
    Status loaded = all ? co_await LoadAll() : Status(Ok{});
    if (loaded) all = false;
    if (loaded) loaded = co_await LoadDue(low, to);
    if (loaded) loaded_ = true;
    if (loaded || stopping_) co_return loaded;
    co_await Sleep(1'000);
  }
}

Task<Status> Core::FollowIndex() {
  const int64_t now = BucketOf(Now()), to = BucketOf(Now() + kHorizonMillis) + 1;
  const int64_t from = std::exchange(due_bucket_, std::max(due_bucket_, to));
  Status loaded = co_await LoadDue(from, to);
  if (!loaded) {
    due_bucket_ = from;
    co_return loaded;
  }
  // What another program, or a commit whose answer was lost, set and did not live to promote.
  HF_CO_CHECK_OK(co_await LoadDue(now - kLateBuckets, now + 1));
  if (++index_rounds_ % 10 == 0) HF_CO_CHECK_OK(co_await RaiseLow(now - kLateBuckets));
  co_return Ok{};
}

// Notes how far the index is known to be empty, so that the next start need not look there.
Task<Status> Core::RaiseLow(int64_t upto) {
  for (int shard = 0; shard < kShards; ++shard) {
    Result<std::optional<Item>> row = co_await Get(ShardPartition(shard), "L");
    if (!row) co_return std::move(row).error();
    if (!*row) continue;
    std::optional<int64_t> known = RowReader(**row).Maybe("low");
    if (!known || *known < 0 || *known > upto + kWalkedBuckets) continue;  // the next start mends it
    const int64_t low = *known, last = std::min(upto, low + kWalkedBuckets);
    int64_t empty = low;
    while (empty < last && !stopping_) {
      Result<std::vector<Item>> rows = co_await Rows(DuePartition(shard, empty), {}, {}, 1);
      if (!rows) co_return std::move(rows).error();
      if (!rows->empty()) break;
      ++empty;
    }
    if (empty == low) continue;
    RowChange change(ShardPartition(shard), "L");
    change.If("low = :was", ":was", low).Set("low", ":low", empty);
    Status raised = co_await Change(std::move(change));
    if (!raised && raised.error().code() != ErrorCode::kConditionalCheckFailed) co_return raised;
  }
  co_return Ok{};
}

// --- timers that had to wait ---

Task<Status> Core::Unpark(SessionPtr session) {
  session->parked = false;
  parked_.erase(session->key);
  Result<Timers> timers = co_await LoadTimers(session);
  if (!timers) {
    parked_.insert(session->key);
    co_return std::move(timers).error();
  }
  for (const auto& [id, timer] : *timers) {
    if (timer.alive(session->head)) Schedule({timer.due, session->key, timer.timer_id, timer.ver});
  }
  co_return Ok{};
}

Task<Status> Core::UnparkAll() {
  while (!parked_.empty() && autonomy_on() && !stopping_) {
    std::set<std::string> parked = std::exchange(parked_, {});
    for (const std::string& key : parked) {
      Result<SessionPtr> session = Find(key);
      if (!session) continue;
      Status done = co_await Load(*session);
      if (done) done = co_await Unpark(*session);
      if (!done && IsMalformed(done.error()))
        NoteMalformed(done.error());
      else if (!done)
        parked_.insert(key);
    }
    if (!parked_.empty()) co_await Sleep(1'000);
  }
  co_return Ok{};
}

void Core::CancelTimers(const std::string& session, const std::string& timer_id, Done<int64_t> done) {
  Begin<int64_t>([this, session, timer_id] { return DoCancelTimers(session, timer_id); }, std::move(done));
}

Core::Async<int64_t> Core::DoCancelTimers(std::string key, std::string timer_id) {
  HF_CO_TRY(SessionPtr session, Find(key));
  Turnstile::Pass pass = co_await session->turnstile.Enter();
  HF_CO_CHECK_OK(co_await LoadAgain(session));
  HF_CO_CHECK_OK(CheckOpen(*session));
  int64_t cancelled = 0;
  HF_CO_TRY(Timers timers, co_await LoadTimers(session));
  if (!timer_id.empty() && timers.find(timer_id) == timers.end())
    co_return model::Refuse("NotFound", "the session has no timer " + timer_id.substr(0, 128));
  for (const auto& [id, timer] : timers) {
    if (!timer_id.empty() && id != timer_id) continue;
    if (!timer.alive(session->head) || id.starts_with(kHoldPrefix)) {
      if (timer_id.empty()) continue;
      std::string from = timer.pending() ? "cancelled" : timer.status;
      co_return model::Refuse("IllegalTransition", "the timer " + id + " is " + from,
                              {{"entity", "Timer"},
                               {"id", timer.id},
                               {"field", "status"},
                               {"from", from},
                               {"to", "cancelled"},
                               {"allowed", AttributeValue::List({})}});
    }
    DueEntry entry{timer.due, session->key, id, timer.ver};  // GCC 12 would free one made in the call twice
    Status done = co_await CancelDue(session, std::move(entry), timer);
    // It was promoted at this very moment.
    if (!done && FailedAction(done.error()) && timer_id.empty()) continue;
    if (!done && FailedAction(done.error()))
      co_return model::Refuse("IllegalTransition", "the timer " + id + " is promoted",
                              {{"from", "promoted"}, {"to", "cancelled"}});
    if (!done) co_return Unknown(done.error());
    ++cancelled;
  }
  co_return cancelled;
}

}  // namespace holdfast::agent
