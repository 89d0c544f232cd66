#include <algorithm>

#include "agent/core.h"
#include "model/refusal.h"
#include "store/retry.h"

namespace holdfast::agent {
namespace {

Error NoSession(const std::string& key) {
  return model::Refuse("NotFound", "there is no session " + key);
}

// A dead letter's name outside: its key with dots, which no part of it holds, for what URLs reserve.
std::string LetterId(int shard, std::string key) {
  std::replace(key.begin(), key.end(), '#', '.');
  return std::to_string(shard) + "." + key;
}

}  // namespace

// --- states ---

void Core::Pause(const std::string& session, Done<SessionView> done) {
  Begin<SessionView>([this, session] { return DoPause(session); }, std::move(done));
}

Core::Async<SessionView> Core::DoPause(std::string key) {
  HF_CO_TRY(SessionPtr session, Find(key));
  Turnstile::Pass pass = co_await session->turnstile.Enter();
  for (int attempt = 1; attempt <= kAttemptsMax; ++attempt) {
    if (stopping_) co_return Stopping();
    HF_CO_CHECK_OK(co_await LoadAgain(session));
    if (!session->head.exists) co_return NoSession(key);
    HF_CO_CHECK_OK(CheckOpen(*session));
    if (session->head.st == kPaused) co_return ViewOf(*session);
    if (session->head.st != kActive)
      co_return model::Refuse("IllegalTransition", "the session is " + session->head.st,
                              {{"from", session->head.st}, {"to", std::string(kPaused)}});
    RowChange change = HeadChange(key);
    change.If("st = :was", ":was", kActive).Set("st", ":st", kPaused);
    Status changed = co_await Change(std::move(change));
    if (changed) {
      session->head.st = kPaused;
      Ask(session, "pause");
      TellState(*session);
      co_return ViewOf(*session);
    }
    Forget(session.get());
    if (changed.error().code() != ErrorCode::kConditionalCheckFailed && !store::MayPass(changed.error()))
      co_return Unknown(changed.error());
    if (attempt == kAttemptsMax) co_return GaveUp(changed.error());
    co_await PauseBefore(attempt);
  }
  co_return Contended();
}

void Core::Resume(const std::string& session, Done<SessionView> done) {
  Begin<SessionView>([this, session] { return DoResume(session); }, std::move(done));
}

Core::Async<SessionView> Core::DoResume(std::string key) {
  HF_CO_TRY(SessionPtr session, Find(key));
  Turnstile::Pass pass = co_await session->turnstile.Enter();
  for (int attempt = 1; attempt <= kAttemptsMax; ++attempt) {
    if (stopping_) co_return Stopping();
    HF_CO_CHECK_OK(co_await LoadAgain(session));
    if (!session->head.exists) co_return NoSession(key);
    HF_CO_CHECK_OK(CheckOpen(*session));
    if (session->head.st == kActive) {
      // Resumed before, perhaps by a try whose answer was lost.
      Dispatch(session);
      HF_CO_CHECK_OK(co_await Unpark(session));
      co_return ViewOf(*session);
    }
    RowChange change = HeadChange(key);
    change.If("st = :was", ":was", session->head.st)
        .Set("st", ":st", kActive)
        .Set("fail_n", ":zero", int64_t{0})
        .Remove("why");
    Status changed = co_await Change(std::move(change));
    if (changed) {
      session->head.st = kActive;
      session->head.why.clear();
      session->head.fail_n = 0;
      TellState(*session);
      Dispatch(session);
      Status unparked = co_await Unpark(session);
      if (!unparked) co_return std::move(unparked).error();
      co_return ViewOf(*session);
    }
    Forget(session.get());
    if (changed.error().code() != ErrorCode::kConditionalCheckFailed && !store::MayPass(changed.error()))
      co_return Unknown(changed.error());
    if (attempt == kAttemptsMax) co_return GaveUp(changed.error());
    co_await PauseBefore(attempt);
  }
  co_return Contended();
}

void Core::Stop(const std::string& session, Done<Ok> done) {
  Begin<Ok>([this, session] { return DoStop(session); }, std::move(done));
}

Core::Async<Ok> Core::DoStop(std::string key) {
  HF_CO_TRY(SessionPtr session, Find(key));
  HF_CO_CHECK_OK(co_await Load(session));
  if (!session->head.exists) co_return NoSession(key);
  Ask(session, "stop");
  co_return Ok{};
}

// --- deletion ---

void Core::Delete(const std::string& session, Done<Ok> done) {
  Begin<Ok>([this, session] { return DoDelete(session); }, std::move(done));
}

// Marked first, with a new epoch, so that nobody who is at work on it can write any more; what is left to do
// is in the runner's queue until it is done.
Core::Async<Ok> Core::DoDelete(std::string key) {
  HF_CO_TRY(SessionPtr session, Find(key));
  {
    Turnstile::Pass pass = co_await session->turnstile.Enter();
    for (int attempt = 1;; ++attempt) {
      if (stopping_) co_return Stopping();
      HF_CO_CHECK_OK(co_await LoadAgain(session));
      if (!session->head.exists) co_return NoSession(key);
      if (session->head.st == kDeleted) co_return Ok{};
      if (session->head.st == kDeleting) break;
      Writes writes(table_);
      RowChange change = HeadChange(key);
      change.If("epoch = :e", ":e", session->head.epoch)
          .If("tail = :t", ":t", session->head.tail)
          .Set("st", ":st", kDeleting)
          .Set("epoch", ":epoch", session->head.epoch + 1)
          .SetFlag("rx_fx", ":yes", true)
          .Remove("owner");
      writes.Add(std::move(change));
      writes.Put(RowKey(WebhookPartition(ShardOf(key)), key));
      Status written = co_await Write(writes.Take());
      if (written) {
        Ask(session, "delete");
        ReturnCredit(session.get());
        session->worker = 0;
        HF_CO_CHECK_OK(co_await LoadAgain(session));
        break;
      }
      Forget(session.get());
      if (written.error().code() != ErrorCode::kTransactionCanceled && !store::MayPass(written.error()))
        co_return Unknown(written.error());
      if (attempt == kAttemptsMax) co_return GaveUp(written.error());
      co_await PauseBefore(attempt);
    }
  }
  std::set<ConnectionId> devices = session->devices;
  for (ConnectionId id : devices) {
    if (auto found = devices_.find(id); found != devices_.end())
      End(found->second, "the session was deleted");
  }
  Drive(session);
  co_return Ok{};
}

Task<Status> Core::DeleteRows(SessionPtr session) {
  constexpr size_t kBatch = 25;
  const std::string pk = SessionPartition(session->key);
  const int shard = ShardOf(session->key);
  Result<std::vector<Item>> rows = co_await Rows(pk, {});
  if (!rows) co_return Unknown(rows.error());
  std::vector<Item> keys;
  for (const Item& row : *rows) {
    std::string sk = RowReader(row).Text("sk");
    if (sk.starts_with("T#")) {
      TimerRow timer = ReadTimer(row);
      keys.push_back(RowKey(DuePartition(shard, BucketOf(timer.due)),
                            DueKey({timer.due, session->key, timer.timer_id, timer.ver})));
    }
    if (sk != kHeadKey) keys.push_back(RowKey(pk, sk));
  }
  keys.push_back(RowKey(ReadyPartition(AgentOf(session->key), shard), session->key));
  keys.push_back(RowKey(MessagePartition(shard), session->key));
  for (size_t begin = 0; begin < keys.size(); begin += kBatch) {
    std::vector<WriteRequest> batch;
    for (size_t i = begin; i < std::min(begin + kBatch, keys.size()); ++i)
      batch.push_back({.delete_request = DeleteRequest{keys[i]}});
    while (!batch.empty()) {
      if (stopping_) co_return Ok{};
      BatchWriteItemRequest request;
      request.request_items[table_] = std::move(batch);
      batch.clear();
      Result<BatchWriteItemResponse> written = co_await Do(std::move(request));
      if (!written) co_return Unknown(written.error());
      if (!written->unprocessed_items.empty()) batch = std::move(written->unprocessed_items.begin()->second);
    }
  }
  // What is left says that there was a session: late writers find it gone.
  Turnstile::Pass pass = co_await session->turnstile.Enter();
  HF_CO_CHECK_OK(co_await LoadAgain(session));
  Writes writes(table_);
  RowChange change = HeadChange(session->key);
  change.If("st = :deleting", ":deleting", kDeleting)
      .Set("st", ":st", kDeleted)
      .Set("last_at", ":at", Now())
      .SetFlag("rx_ev", ":no", false)
      .SetFlag("rx_fx", ":no2", false)
      .SetFlag("rx_ms", ":no3", false);
  writes.Add(std::move(change));
  writes.Delete(WebhookPartition(shard), session->key);
  Status written = co_await Write(writes.Take());
  Forget(session.get());
  if (!written && FailedAction(written.error())) co_return Ok{};
  co_return written;
}

// --- the switch and the policies ---

Autonomy Core::AutonomyNow() const {
  Autonomy now = autonomy_;
  now.forced_off = !options_.autonomy_enabled;
  now.enabled = autonomy_on();
  return now;
}

Task<Status> Core::ReadConfig() {
  Result<std::vector<Item>> rows = co_await Rows(std::string(kConfigPartition), {});
  if (!rows && rows.error().code() == ErrorCode::kResourceNotFound) {
    // Somebody emptied the store: it begins anew, as a new one would.
    Result<CreateTableResponse> made = co_await Do(TableRequest(table_));
    if (!made && made.error().code() != ErrorCode::kResourceInUse) co_return Unknown(made.error());
    rows = co_await Rows(std::string(kConfigPartition), {});
  }
  if (!rows) co_return Unknown(rows.error());
  bool was_on = autonomy_on();
  std::map<std::string, Policy, std::less<>> policies;
  Autonomy autonomy;
  for (const Item& row : *rows) {
    RowReader reader(row);
    std::string sk = reader.Text("sk");
    if (sk == kAutonomyKey) autonomy = {reader.Flag("enabled"), reader.Text("by"), reader.Millis("at")};
    if (!sk.starts_with("agent#")) continue;
    Result<Policy> policy = ReadPolicy(reader.Map("policy"));
    if (policy) policies.emplace(sk.substr(std::string_view("agent#").size()), *std::move(policy));
  }
  autonomy_ = autonomy;
  policies_ = std::move(policies);
  if (!was_on && autonomy_on()) Spawn(UnparkAll());
  co_return Ok{};
}

void Core::SetAutonomy(bool enabled, const std::string& by, Done<Autonomy> done) {
  Begin<Autonomy>([this, enabled, by] { return DoSetAutonomy(enabled, by); }, std::move(done));
}

Core::Async<Autonomy> Core::DoSetAutonomy(bool enabled, std::string by) {
  PutItemRequest request;
  request.table_name = table_;
  RowWriter row(kConfigPartition, kAutonomyKey);
  row.Flag("enabled", enabled).Text("by", by).Number("at", Now());
  request.item = row.Take();
  Result<PutItemResponse> put = co_await Do(std::move(request));
  if (!put) co_return Unknown(put.error());
  HF_CO_CHECK_OK(co_await ReadConfig());
  if (log_ != nullptr)
    HF_LOG(*log_, kInfo, "autonomy switched", {"enabled", enabled ? "true" : "false"}, {"by", by});
  co_return AutonomyNow();
}

void Core::GetAutonomy(Done<Autonomy> done) {
  loop_->Post([this, done = std::move(done)] { done(AutonomyNow()); });
}

void Core::PutPolicy(const std::string& agent, const Policy& policy, Done<Policy> done) {
  Begin<Policy>([this, agent, policy] { return DoPutPolicy(agent, policy); }, std::move(done));
}

Core::Async<Policy> Core::DoPutPolicy(std::string agent, Policy policy) {
  if (!ParseSessionKey("u:" + agent + ":t"))
    co_return model::RefuseField("agent", "should be letters, digits, _ and -", agent.substr(0, 100));
  PutItemRequest request;
  request.table_name = table_;
  RowWriter row(kConfigPartition, PolicyKey(agent));
  row.Map("policy", PolicyItem(policy));
  request.item = row.Take();
  Result<PutItemResponse> put = co_await Do(std::move(request));
  if (!put) co_return Unknown(put.error());
  HF_CO_CHECK_OK(co_await ReadConfig());
  co_return policy;
}

void Core::GetPolicy(const std::string& agent, Done<Policy> done) {
  loop_->Post([this, agent, done = std::move(done)] {
    auto found = policies_.find(agent);
    done(found == policies_.end() ? Policy() : found->second);
  });
}

// --- dead letters ---

void Core::ListDeadLetters(const std::string& after, int limit, Done<DeadLetterPage> done) {
  Begin<DeadLetterPage>([this, after, limit] { return DoListDeadLetters(after, limit); }, std::move(done));
}

// Shard by shard; within one, oldest first.
Core::Async<DeadLetterPage> Core::DoListDeadLetters(std::string after, int limit) {
  DeadLetterPage page;
  int shard = 0;
  std::string from;
  if (size_t dot = after.find('.'); dot != std::string::npos) {
    shard = std::atoi(after.c_str());
    from = after.substr(dot + 1);
    std::replace(from.begin(), from.end(), '.', '#');
    if (shard < 0 || shard >= kShards) co_return model::RefuseField("after", "is no dead letter");
  } else if (!after.empty()) {
    co_return model::RefuseField("after", "is no dead letter");
  }
  for (; shard < kShards; ++shard, from.clear()) {
    int64_t room = limit + 1 - static_cast<int64_t>(page.letters.size());
    Result<std::vector<Item>> rows = co_await Rows(DeadPartition(shard), {}, from, room);
    if (!rows) co_return Unknown(rows.error());
    for (const Item& row : *rows) {
      RowReader reader(row);
      DeadLetter letter;
      letter.id = LetterId(shard, reader.Text("sk"));
      letter.session = reader.Text("session_key");
      std::string key = reader.Text("row");
      size_t hash = key.find('#', 2);
      int64_t seq = std::atoll(key.c_str() + 2);
      letter.effect_id = key.starts_with("F#") && hash != std::string::npos
                             ? EffectId(letter.session, seq, std::atoll(key.c_str() + hash + 1))
                             : CheckpointId(letter.session, seq);
      letter.reason = reader.Text("reason");
      letter.at = reader.Millis("at");
      page.letters.push_back(std::move(letter));
    }
    if (static_cast<int>(page.letters.size()) > limit) {
      page.letters.resize(static_cast<size_t>(limit));
      page.next = page.letters.empty() ? std::string() : page.letters.back().id;
      break;
    }
  }
  co_return page;
}

void Core::Redrive(const std::string& dead_letter, Done<Ok> done) {
  Begin<Ok>([this, dead_letter] { return DoRedrive(dead_letter); }, std::move(done));
}

Core::Async<Ok> Core::DoRedrive(std::string id) {
  Error missing = model::Refuse("NotFound", "there is no dead letter " + id.substr(0, 200));
  size_t dot = id.find('.');
  if (dot == std::string::npos) co_return missing;
  int shard = std::atoi(id.c_str());
  std::string sk = id.substr(dot + 1);
  std::replace(sk.begin(), sk.end(), '.', '#');
  std::string pk = DeadPartition(shard);
  Result<std::optional<Item>> row = co_await Get(pk, sk);
  if (!row) co_return Unknown(row.error());
  if (!*row) co_return missing;
  std::string key = RowReader(**row).Text("session_key"), effect = RowReader(**row).Text("row");
  HF_CO_TRY(SessionPtr session, Find(key));
  Writes writes(table_);
  writes.Delete(pk, sk);
  if (effect.starts_with("E#")) {
    // The session goes on with the event that blocked it.
    Status deleted = co_await Write(writes.Take());
    if (!deleted) co_return Unknown(deleted.error());
    Result<SessionView> resumed = co_await DoResume(key);
    if (!resumed) co_return std::move(resumed).error();
    co_return Ok{};
  }
  {
    Turnstile::Pass pass = co_await session->turnstile.Enter();
    HF_CO_CHECK_OK(co_await LoadAgain(session));
    HF_CO_CHECK_OK(CheckOpen(*session));
    RowChange change(SessionPartition(key), effect);
    change.If("#status = :dead", ":dead", "dead")
        .Set("status", ":pending", "pending")
        .Set("attempt_count", ":zero", int64_t{0})
        .Set("since", ":now", Now())
        .Set("next_at", ":now2", Now());
    writes.Add(std::move(change));
    RowChange head = HeadChange(key);
    head.If("st = :st", ":st", session->head.st).SetFlag("rx_fx", ":yes", true);
    writes.Add(std::move(head));
    writes.Put(RowKey(WebhookPartition(ShardOf(key)), key));
    Status written = co_await Write(writes.Take());
    Forget(session.get());
    if (!written && FailedAction(written.error()))
      co_return model::Refuse("IllegalTransition", "the effect is not dead any more", {{"to", "pending"}});
    if (!written) co_return Unknown(written.error());
  }
  Drive(session);
  co_return Ok{};
}

}  // namespace holdfast::agent
