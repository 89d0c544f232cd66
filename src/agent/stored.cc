#include "agent/stored.h"

#include <algorithm>
#include <charconv>

#include "agent/keys.h"
#include "agent/row_writer.h"
#include "auth/hmac.h"
#include "json/plain.h"
#include "model/instant.h"
#include "model/refusal.h"

namespace holdfast::agent {
namespace {

using model::FormatInstant;

int64_t InstantIn(const RowReader& row, std::string_view name) {
  return model::ParseInstant(row.Text(name)).value_or(0);
}

std::optional<int64_t> MaybeInstant(const RowReader& row, std::string_view name) {
  return model::ParseInstant(row.Text(name));
}

// The number that a row's key ends with (E#000000000007), or else the one that the row itself names: where
// the two differ it is the key that other rows and conditions refer to.
int64_t PositionIn(const RowReader& row, std::string_view name) {
  std::string sk = row.Text("sk");
  int64_t number = 0;
  const char* begin = sk.data() + sk.rfind('#') + 1;
  auto [end, failed] = std::from_chars(begin, sk.data() + sk.size(), number);
  bool fits = failed == std::errc() && end == sk.data() + sk.size() && end != begin && number >= 0;
  return fits ? std::min(number, RowReader::kCountMax) : row.Count(name);
}

RowWriter Row(std::string_view session, std::string_view sk) {
  RowWriter row(SessionPartition(session), sk);
  row.Text("session_key", session);
  return row;
}

// What messages and other effects have in common.
void WriteEffect(std::string_view session, int64_t seq, int64_t i, std::string_view type,
                 std::string_view dedupe_key, int64_t created_at, RowWriter* row) {
  row->Text("id", EffectId(session, seq, i))
      .Text("checkpoint_id", CheckpointId(session, seq))
      .Text("type", type)
      .Text("dedupe_key", dedupe_key)
      .Text("created_at", FormatInstant(created_at))
      .Number("seq", seq)
      .Number("i", i);
}

}  // namespace

Error MalformedRow(std::string_view pk, std::string_view sk, std::string_view why) {
  std::string message = "the row " + std::string(pk.substr(0, 200)) + " / " + std::string(sk.substr(0, 200)) +
                        " is malformed: " + std::string(why);
  return model::Refuse("MalformedRow", std::move(message));
}

bool IsMalformed(const Error& error) {
  return model::RefusalName(error) == "MalformedRow";
}

Item HeadRow(std::string_view session, const Head& head) {
  RowWriter row = Row(session, kHeadKey);
  row.Number("tail", head.tail)
      .Number("done", head.done)
      .Number("base", head.base)
      .Number("epoch", head.epoch)
      .Number("lease_until", head.lease_until)
      .Number("turn_at", head.turn_at)
      .Number("ready_at", head.ready_at)
      .Number("tgen", head.tgen)
      .Number("n_tail", head.n_tail)
      .Number("auto_n", head.auto_n)
      .Number("pv", head.pv)
      .Flag("rx_ev", head.rx_ev)
      .Flag("rx_fx", head.rx_fx)
      .Flag("rx_ms", head.rx_ms)
      .Text("st", head.st)
      .Number("fail_n", head.fail_n)
      .Number("last_at", head.last_at);
  if (!head.owner.empty()) row.Text("owner", head.owner);
  if (head.auto_at) row.Number("auto_at", *head.auto_at);
  if (!head.why.empty()) row.Text("why", head.why);
  return row.Take();
}

Head ReadHead(const Item& item) {
  RowReader row(item);
  Head head;
  head.exists = true;
  head.tail = row.Count("tail");
  head.done = row.Count("done");
  head.base = row.Maybe("base") ? row.Count("base") : 1;
  head.epoch = row.Count("epoch");
  head.owner = row.Text("owner");
  head.lease_until = row.Millis("lease_until");
  head.turn_at = row.Millis("turn_at");
  head.ready_at = row.Millis("ready_at");
  head.tgen = row.Count("tgen");
  head.n_tail = row.Count("n_tail");
  head.auto_n = row.Count("auto_n");
  if (row.Maybe("auto_at")) head.auto_at = row.Millis("auto_at");
  head.pv = row.Count("pv");
  head.rx_ev = row.Flag("rx_ev");
  head.rx_fx = row.Flag("rx_fx");
  head.rx_ms = row.Flag("rx_ms");
  head.st = row.Text("st");
  head.why = row.Text("why");
  head.fail_n = row.Count("fail_n");
  head.last_at = row.Millis("last_at");
  return head;
}

Status CheckHead(const Item& item) {
  RowReader row(item);
  auto malformed = [&](std::string_view name, std::string_view rule) {
    return MalformedRow(row.Text("pk"), kHeadKey, std::string(name) + " " + std::string(rule));
  };
  for (std::string_view name :
       {"tail", "done", "base", "epoch", "tgen", "n_tail", "auto_n", "pv", "fail_n"}) {
    std::optional<int64_t> number = row.Maybe(name);
    if (row.Value(name) && (!number || *number < 0 || *number > RowReader::kCountMax))
      return malformed(name, "should be a counter");
  }
  for (std::string_view name : {"lease_until", "turn_at", "ready_at", "auto_at", "last_at"}) {
    std::optional<int64_t> number = row.Maybe(name);
    if (row.Value(name) && (!number || *number < 0 || *number > RowReader::kMillisMax))
      return malformed(name, "should be milliseconds since 1970");
  }
  for (std::string_view name : {"rx_ev", "rx_fx", "rx_ms"}) {
    auto flag = row.Value(name);
    bool fits =
        !flag || flag->type() == AttributeValue::Type::kTrue || flag->type() == AttributeValue::Type::kFalse;
    if (!fits) return malformed(name, "should be a flag");
  }
  if (auto owner = row.Value("owner"); owner && owner->type() != AttributeValue::Type::kString)
    return malformed("owner", "should be a text");
  std::string st = row.Text("st");
  if (st != kActive && st != kPaused && st != kBlocked && st != kDeleting && st != kDeleted)
    return malformed("st", "should be the state of a session");
  if (row.Number("done") > row.Number("tail")) return malformed("done", "should be at most tail");
  return Ok{};
}

Item TimerItem(std::string_view session, const TimerRow& timer) {
  RowWriter row = Row(session, TimerKey(timer.timer_id));
  row.Text("id", timer.id)
      .Text("timer_id", timer.timer_id)
      .Text("fire_at", FormatInstant(timer.fire_at))
      .Text("status", timer.status)
      .Flag("keep", timer.keep)
      .Number("gen", timer.gen)
      .Text("ver", timer.ver)
      .Number("due", timer.due)
      .Text("created_at", FormatInstant(timer.created_at))
      .Text("updated_at", FormatInstant(timer.updated_at));
  Item item = row.Take();
  if (timer.payload) item.Set("payload", *timer.payload);
  return item;
}

TimerRow ReadTimer(const Item& item) {
  constexpr std::string_view kTimers = "T#";
  RowReader row(item);
  TimerRow timer;
  timer.id = row.Text("id");
  std::string sk = row.Text("sk");
  timer.timer_id = sk.starts_with(kTimers) ? sk.substr(kTimers.size()) : row.Text("timer_id");
  timer.fire_at = InstantIn(row, "fire_at");
  timer.payload = item.Get("payload");
  timer.status = row.Text("status");
  timer.keep = row.Flag("keep");
  timer.gen = row.Count("gen");
  timer.ver = row.Text("ver");
  timer.due = row.Millis("due");
  timer.created_at = InstantIn(row, "created_at");
  timer.updated_at = InstantIn(row, "updated_at");
  return timer;
}

Item EffectItem(std::string_view session, const EffectRow& effect) {
  RowWriter row = Row(session, EffectKey(effect.seq, effect.i));
  WriteEffect(session, effect.seq, effect.i, effect.type, effect.dedupe_key, effect.created_at, &row);
  row.Map("payload", effect.payload)
      .Text("status", effect.status)
      .Text("updated_at", FormatInstant(effect.updated_at))
      .Number("gen", effect.gen)
      .Number("attempt_count", effect.attempts)
      .Number("next_at", effect.next_at)
      .Number("lease_until", effect.lease_until)
      .Flag("auto", effect.autonomous);
  if (!effect.outcome.empty()) row.Text("outcome", effect.outcome);
  if (effect.last_attempt_at) row.Text("last_attempt_at", FormatInstant(*effect.last_attempt_at));
  if (effect.type == "send_message")
    row.Text("delivery", effect.at_most_once ? "at_most_once" : "at_least_once");
  return row.Take();
}

EffectRow ReadEffect(const Item& item) {
  RowReader row(item);
  EffectRow effect;
  effect.i = PositionIn(row, "i");
  effect.seq = row.Count("seq");
  // F#000000000003#1
  std::string sk = row.Text("sk");
  if (size_t first = sk.find('#'), last = sk.rfind('#'); first != last) {
    int64_t seq = -1;
    auto [end, failed] = std::from_chars(sk.data() + first + 1, sk.data() + last, seq);
    if (failed == std::errc() && end == sk.data() + last && seq >= 0)
      effect.seq = std::min(seq, RowReader::kCountMax);
  }
  effect.type = row.Text("type");
  effect.payload = row.Map("payload");
  effect.dedupe_key = row.Text("dedupe_key");
  effect.status = row.Text("status");
  effect.outcome = row.Text("outcome");
  effect.gen = row.Count("gen");
  effect.autonomous = row.Flag("auto");
  effect.at_most_once = row.Text("delivery") == "at_most_once";
  effect.created_at = InstantIn(row, "created_at");
  effect.updated_at = InstantIn(row, "updated_at");
  effect.attempts = row.Count("attempt_count");
  effect.sound = sk == EffectKey(effect.seq, effect.i) && row.Maybe("attempt_count") == effect.attempts;
  effect.last_attempt_at = MaybeInstant(row, "last_attempt_at");
  effect.next_at = row.Millis("next_at");
  effect.lease_until = row.Millis("lease_until");
  if (row.Maybe("n")) effect.n = row.Count("n");
  effect.since = row.Maybe("since") ? row.Millis("since") : effect.created_at;
  return effect;
}

Item EventItem(std::string_view session, const Event& event) {
  RowWriter row = Row(session, EventKey(event.seq));
  row.Text("id", event.id)
      .Number("seq", event.seq)
      .Text("type", event.type)
      .Map("payload", event.payload)
      .Text("created_at", FormatInstant(event.at))
      .Number("gen", event.generation)
      .Text("origin", event.autonomous ? "auto" : "user");
  return row.Take();
}

Event ReadEvent(const Item& item) {
  RowReader row(item);
  Event event;
  event.seq = PositionIn(row, "seq");
  event.id = row.Text("id");
  event.type = row.Text("type");
  event.payload = row.Map("payload");
  event.at = InstantIn(row, "created_at");
  event.generation = row.Count("gen");
  event.autonomous = row.Text("origin") == "auto";
  return event;
}

Item MessageItem(std::string_view session, const Message& message) {
  RowWriter row = Row(session, MessageKey(message.n));
  WriteEffect(session, message.seq, message.i, "send_message", message.dedupe_key, message.at, &row);
  RowWriter payload;
  payload.Text("content", message.content);
  row.Map("payload", payload.Take())
      .Number("n", message.n)
      .Flag("auto", message.autonomous)
      .Text("delivery", message.at_most_once ? "at_most_once" : "at_least_once");
  return row.Take();
}

Message ReadMessage(const Item& item) {
  RowReader row(item);
  Message message;
  message.n = PositionIn(row, "n");
  message.seq = row.Count("seq");
  message.i = row.Count("i");
  message.id = row.Text("id");
  auto payload = row.Value("payload");
  if (payload && payload->type() == AttributeValue::Type::kMap)
    message.content = RowReader(payload->map()).Text("content");
  message.autonomous = row.Flag("auto");
  message.at_most_once = row.Text("delivery") == "at_most_once";
  message.status = row.Text("status");
  message.node = row.Text("node");
  message.attempts = row.Count("attempt_count");
  message.attempted_at = MaybeInstant(row, "last_attempt_at");
  message.dedupe_key = row.Text("dedupe_key");
  message.at = InstantIn(row, "created_at");
  return message;
}

Item CheckpointItem(std::string_view session, const Checkpoint& checkpoint) {
  RowWriter metadata;
  metadata.Number("event_seq", checkpoint.seq).Number("consecutive_autonomous_msgs", checkpoint.auto_n);
  std::string at = checkpoint.auto_at ? FormatInstant(*checkpoint.auto_at) : std::string();
  if (checkpoint.auto_at)
    metadata.Text("last_autonomous_at", at);
  else
    metadata.Null("last_autonomous_at");

  RowWriter row = Row(session, CheckpointKey(checkpoint.seq));
  row.Text("id", CheckpointId(session, checkpoint.seq))
      .Number("seq", checkpoint.seq)
      .Map("metadata", metadata.Take())
      .Text("created_at", FormatInstant(checkpoint.created_at))
      .Text("token", checkpoint.token)
      .Number("epoch", checkpoint.epoch);
  if (checkpoint.chunks > 0)
    row.Number("chunks", checkpoint.chunks);
  else
    row.Map("state", checkpoint.state);
  if (!checkpoint.usage.empty()) row.Map("usage", checkpoint.usage);
  if (checkpoint.skipped) row.Flag("skipped", true);
  value::FlatWriter& writer = row.writer();
  writer.Name("decisions");
  writer.BeginList();
  for (const Item& decision : checkpoint.decisions) {
    std::string map(1, static_cast<char>(AttributeValue::Type::kMap));
    map.append(decision.flat());
    writer.Copy(value::ValueView(map));
  }
  writer.EndList();
  return row.Take();
}

Checkpoint ReadCheckpoint(const Item& item) {
  RowReader row(item);
  Checkpoint checkpoint;
  checkpoint.seq = PositionIn(row, "seq");
  checkpoint.state = row.Map("state");
  checkpoint.chunks = row.Count("chunks");
  checkpoint.token = row.Text("token");
  checkpoint.epoch = row.Count("epoch");
  checkpoint.usage = row.Map("usage");
  checkpoint.skipped = row.Flag("skipped");
  checkpoint.created_at = InstantIn(row, "created_at");
  Item metadata = row.Map("metadata");
  checkpoint.auto_n = RowReader(metadata).Count("consecutive_autonomous_msgs");
  checkpoint.auto_at = MaybeInstant(RowReader(metadata), "last_autonomous_at");
  if (auto decisions = row.Value("decisions");
      decisions && decisions->type() == AttributeValue::Type::kList) {
    for (uint32_t i = 0; i < decisions->entries().size(); ++i) {
      value::ValueView one = decisions->element(i);
      if (one.type() == AttributeValue::Type::kMap)
        checkpoint.decisions.push_back(Item::FromFlat(std::string(one.payload())));
    }
  }
  return checkpoint;
}

std::string DedupeKeyOf(std::string_view checkpoint_id, std::string_view type, const Item& payload) {
  std::string text(checkpoint_id);
  text.append("\n").append(type).append("\n");
  // Maps are stored in the order of their names.
  json::AppendPlainItem(value::MapView(payload), &text);
  return auth::Hex(auth::Sha256(text));
}

}  // namespace holdfast::agent
