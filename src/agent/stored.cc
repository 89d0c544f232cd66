#include "agent/stored.h"

#include "agent/keys.h"
#include "agent/row_writer.h"
#include "auth/hmac.h"
#include "json/plain.h"
#include "model/instant.h"

namespace holdfast::agent {
namespace {

using model::FormatInstant;

int64_t InstantIn(const RowReader& row, std::string_view name) {
  return model::ParseInstant(row.Text(name)).value_or(0);
}

std::optional<int64_t> MaybeInstant(const RowReader& row, std::string_view name) {
  return model::ParseInstant(row.Text(name));
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
  head.tail = row.Number("tail");
  head.done = row.Number("done");
  head.base = row.Maybe("base").value_or(1);
  head.epoch = row.Number("epoch");
  head.owner = row.Text("owner");
  head.lease_until = row.Number("lease_until");
  head.turn_at = row.Number("turn_at");
  head.ready_at = row.Number("ready_at");
  head.tgen = row.Number("tgen");
  head.n_tail = row.Number("n_tail");
  head.auto_n = row.Number("auto_n");
  head.auto_at = row.Maybe("auto_at");
  head.pv = row.Number("pv");
  head.rx_ev = row.Flag("rx_ev");
  head.rx_fx = row.Flag("rx_fx");
  head.rx_ms = row.Flag("rx_ms");
  head.st = row.Text("st");
  head.why = row.Text("why");
  head.fail_n = row.Number("fail_n");
  head.last_at = row.Number("last_at");
  return head;
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
  RowReader row(item);
  TimerRow timer;
  timer.id = row.Text("id");
  timer.timer_id = row.Text("timer_id");
  timer.fire_at = InstantIn(row, "fire_at");
  timer.payload = item.Get("payload");
  timer.status = row.Text("status");
  timer.keep = row.Flag("keep");
  timer.gen = row.Number("gen");
  timer.ver = row.Text("ver");
  timer.due = row.Number("due");
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
  effect.seq = row.Number("seq");
  effect.i = row.Number("i");
  effect.type = row.Text("type");
  effect.payload = row.Map("payload");
  effect.dedupe_key = row.Text("dedupe_key");
  effect.status = row.Text("status");
  effect.outcome = row.Text("outcome");
  effect.gen = row.Number("gen");
  effect.autonomous = row.Flag("auto");
  effect.at_most_once = row.Text("delivery") == "at_most_once";
  effect.created_at = InstantIn(row, "created_at");
  effect.updated_at = InstantIn(row, "updated_at");
  effect.attempts = row.Number("attempt_count");
  effect.last_attempt_at = MaybeInstant(row, "last_attempt_at");
  effect.next_at = row.Number("next_at");
  effect.lease_until = row.Number("lease_until");
  effect.n = row.Maybe("n");
  effect.since = row.Maybe("since").value_or(effect.created_at);
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
  event.seq = row.Number("seq");
  event.id = row.Text("id");
  event.type = row.Text("type");
  event.payload = row.Map("payload");
  event.at = InstantIn(row, "created_at");
  event.generation = row.Number("gen");
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
  message.n = row.Number("n");
  message.seq = row.Number("seq");
  message.i = row.Number("i");
  message.id = row.Text("id");
  auto payload = row.Value("payload");
  if (payload && payload->type() == AttributeValue::Type::kMap)
    message.content = RowReader(payload->map()).Text("content");
  message.autonomous = row.Flag("auto");
  message.at_most_once = row.Text("delivery") == "at_most_once";
  message.status = row.Text("status");
  message.node = row.Text("node");
  message.attempts = row.Number("attempt_count");
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
  checkpoint.seq = row.Number("seq");
  checkpoint.state = row.Map("state");
  checkpoint.chunks = row.Number("chunks");
  checkpoint.token = row.Text("token");
  checkpoint.epoch = row.Number("epoch");
  checkpoint.usage = row.Map("usage");
  checkpoint.skipped = row.Flag("skipped");
  checkpoint.created_at = InstantIn(row, "created_at");
  Item metadata = row.Map("metadata");
  checkpoint.auto_n = RowReader(metadata).Number("consecutive_autonomous_msgs");
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
