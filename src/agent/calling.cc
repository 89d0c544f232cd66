#include <algorithm>
#include <limits>

#include "agent/core.h"
#include "agent/webhook_caller.h"
#include "json/plain.h"
#include "model/instant.h"
#include "model/refusal.h"

namespace holdfast::agent {
namespace {

constexpr int64_t kLeaseMillis = 30'000;
constexpr int64_t kCallsMax = 12;
constexpr int64_t kTryingMillis = 86'400'000;
constexpr int64_t kFirstPauseMillis = 1'000, kLongestPauseMillis = 300'000;
constexpr size_t kResultBytesMax = 64 << 10;

bool IsWanted(const EffectRow& effect) {
  return effect.type == "webhook" && (effect.status == "pending" || effect.status == "executing");
}
int64_t DueAt(const EffectRow& effect) {
  return effect.status == "pending" ? effect.next_at : effect.lease_until + 1;
}

// Our own mistake, which the same words will not mend.
bool IsFinal(int status) {
  return status >= 400 && status < 500 && status != 408 && status != 409 && status != 429;
}

// As JSON if it is some, else as text.
AttributeValue ResultOf(int status, const std::string& body) {
  AttributeMap result{{"status", status}};
  Result<AttributeValue> json = json::ReadPlainValue(body);
  result.emplace("body", json ? *std::move(json) : AttributeValue(body.substr(0, kResultBytesMax)));
  return AttributeValue::Map(std::move(result));
}

}  // namespace

Status Core::CheckWebhooks(const std::vector<EffectRequest>& effects) const {
  for (size_t i = 0; i < effects.size(); ++i) {
    if (effects[i].type != "webhook") continue;
    Status allowed = caller_->Check(RowReader(effects[i].payload).Text("url"));
    if (!allowed)
      return model::RefuseField("effects[" + std::to_string(i) + "].url",
                                "may not be called: " + allowed.error().message());
  }
  return Ok{};
}

void Core::Drive(const SessionPtr& session) {
  if (stopping_ || std::exchange(session->driving, true)) return;
  Spawn(DriveAll(session));
}

Task<Status> Core::DriveAll(SessionPtr session) {
  Status loaded = co_await Load(session);
  if (loaded && session->head.st == kDeleting) {
    Status deleted = co_await DeleteRows(session);
    session->driving = false;
    co_return deleted;
  }
  Result<std::vector<Item>> rows = co_await Rows(SessionPartition(session->key), "F#");
  session->driving = false;
  if (!rows) {
    At(Now() + kFirstPauseMillis, [this, session] { Drive(session); });
    co_return Unknown(rows.error());
  }
  int64_t next = std::numeric_limits<int64_t>::max();
  bool wanted = false;
  for (const Item& row : *rows) {
    EffectRow effect = ReadEffect(row);
    if (!IsWanted(effect)) continue;
    if (!effect.sound) {
      NoteMalformed(MalformedRow(SessionPartition(session->key), RowReader(row).Text("sk"),
                                 "the stored effect is not valid"));
      continue;
    }
    wanted = true;
    if (DueAt(effect) <= Now())
      Spawn(CallWebhook(session, std::move(effect)));
    else
      next = std::min(next, DueAt(effect));
  }
  if (next != std::numeric_limits<int64_t>::max()) At(next, [this, session] { Drive(session); });
  if (!wanted) ArmTidy(session);
  co_return Ok{};
}

Task<Status> Core::CallWebhook(SessionPtr session, EffectRow effect) {
  const int64_t now = Now();
  RowChange change(SessionPartition(session->key), EffectKey(effect.seq, effect.i));
  std::string at = model::FormatInstant(now);
  effect.attempts += 1;
  change.If("attempt_count = :was", ":was", effect.attempts - 1)
      .If("(#status = :pending OR (#status = :executing AND lease_until < :now))", ":pending", "pending")
      .Value(":now", now)
      .Set("status", ":executing", "executing")
      .Set("attempt_count", ":attempts", effect.attempts)
      .Set("last_attempt_at", ":at", at)
      .Set("updated_at", ":at2", at)
      .Set("lease_until", ":lease", now + kLeaseMillis);
  Status claimed = co_await Change(std::move(change));
  if (!claimed) {
    bool lost = claimed.error().code() == ErrorCode::kConditionalCheckFailed;
    At(Now() + kFirstPauseMillis, [this, session] { Drive(session); });
    if (lost) co_return Ok{};
    co_return Unknown(claimed.error());
  }
  counters_.webhook_attempts.fetch_add(1, std::memory_order_relaxed);
  std::string body = "null";
  if (auto given = RowReader(effect.payload).Value("body")) {
    body.clear();
    json::AppendPlain(*given, &body);
  }
  struct Answering {
    Core* core;
    std::string url, body, key;
    std::optional<Result<model::WebhookAnswer>> answer = std::nullopt;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> waiter) {
      auto done = [this, waiter](Result<model::WebhookAnswer> result) {
        answer.emplace(std::move(result));
        core->loop_->Post([waiter] { waiter.resume(); });
      };
      if (core->caller_->Call(std::move(url), std::move(body), key, done)) return true;
      answer.emplace(model::Refuse("Unavailable", "too many webhooks wait to be called"));
      return false;
    }
    Result<model::WebhookAnswer> await_resume() { return *std::move(answer); }
  };
  Answering answering{this, RowReader(effect.payload).Text("url"), std::move(body),
                      EffectId(session->key, effect.seq, effect.i)};
  Result<model::WebhookAnswer> answer = co_await answering;
  if (stopping_ && !answer) co_return Ok{};
  Status finished = co_await FinishWebhook(session, std::move(effect), std::move(answer));
  co_return finished;
}

Task<Status> Core::FinishWebhook(SessionPtr session, EffectRow effect, Result<model::WebhookAnswer> answer) {
  const int64_t now = Now();
  std::string at = model::FormatInstant(now);
  RowChange change(SessionPartition(session->key), EffectKey(effect.seq, effect.i));
  change.If("#status = :executing", ":executing", "executing")
      .If("attempt_count = :attempts", ":attempts", effect.attempts);
  bool good = answer && answer->status >= 200 && answer->status < 300;
  if (good) {
    // The result and the effect's end are one transaction: whoever repeats the call repeats both or neither.
    Event event;
    event.id = "r:" + EffectId(session->key, effect.seq, effect.i);
    event.type = "tool_result";
    event.autonomous = effect.autonomous;
    event.payload.Set("tool_id", "webhook");
    event.payload.Set("payload", ResultOf(answer->status, answer->body));
    change.Set("status", ":completed", "completed").Set("updated_at", ":at", at);
    auto ends = std::make_shared<RowChange>(std::move(change));
    Extra with = [ends](Writes* writes) { writes->Add(*ends); };
    Result<Appended> appended = co_await AppendEvent(session, std::move(event), with);
    if (!appended) co_return std::move(appended).error();
    counters_.webhooks_completed.fetch_add(1, std::memory_order_relaxed);
    Drive(session);
    co_return Ok{};
  }
  std::string problem =
      answer ? "it answered with status " + std::to_string(answer->status) : answer.error().message();
  bool refused = !answer && model::RefusalName(answer.error()) == "NotConfigured";
  bool dead = refused || (answer && IsFinal(answer->status)) || effect.attempts >= kCallsMax ||
              now - effect.since > kTryingMillis;
  Writes writes(table_);
  if (dead) {
    change.Set("status", ":dead", "dead")
        .Set("outcome", ":why", problem.substr(0, 1000))
        .Set("updated_at", ":at", at);
    std::string row = EffectKey(effect.seq, effect.i);
    RowWriter letter(DeadPartition(ShardOf(session->key)), Padded(now, 13) + "#" + session->key + "#" + row);
    letter.Text("session_key", session->key)
        .Text("row", row)
        .Text("reason", problem.substr(0, 1000))
        .Number("at", now);
    writes.Put(letter.Take());
    counters_.dead_letters.fetch_add(1, std::memory_order_relaxed);
  } else {
    int64_t pause =
        std::min(kFirstPauseMillis << std::min<int64_t>(effect.attempts - 1, 20), kLongestPauseMillis);
    pause += static_cast<int64_t>(random_.Below(static_cast<uint64_t>(pause / 5 * 2 + 1))) - pause / 5;
    if (answer) pause = std::max(pause, std::min(answer->retry_after_seconds * 1000, kTryingMillis));
    change.Set("status", ":pending", "pending")
        .Set("outcome", ":why", problem.substr(0, 1000))
        .Set("next_at", ":next", now + pause)
        .Set("updated_at", ":at", at);
  }
  writes.Add(std::move(change));
  Status written = co_await Write(writes.Take());
  Drive(session);
  // Its lease lapsed and somebody else has it: theirs counts.
  if (!written && FailedAction(written.error())) co_return Ok{};
  co_return written;
}

Task<Status> Core::ScanWebhooks() {
  for (int shard = 0; shard < kShards && !stopping_; ++shard) {
    Result<std::vector<Item>> rows = co_await Rows(WebhookPartition(shard), {});
    if (!rows) co_return Unknown(rows.error());
    for (const Item& row : *rows) {
      Result<SessionPtr> session = Find(RowReader(row).Text("sk"));
      if (session) Drive(*session);
    }
  }
  co_return Ok{};
}

}  // namespace holdfast::agent
