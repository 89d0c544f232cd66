#include "wire/agent_json.h"

#include "json/plain.h"

namespace holdfast::wire {
namespace {

void AddMap(std::string_view name, const Item& item, JsonObject* object) {
  json::AppendPlainItem(value::MapView(item), object->Name(name));
}

void AppendLease(const agent::Lease& lease, std::string* out) {
  JsonObject object(out);
  object.Text("session", lease.session).Number("epoch", lease.epoch);
  if (lease.lease_until != 0) object.Number("lease_until", lease.lease_until);
}

// The same policy stands in the work of many sessions: it is written out once.
const std::string& PolicyJson(const agent::Policy& policy) {
  thread_local agent::Policy last;
  thread_local std::string text;
  if (text.empty() || last != policy) {
    text.clear();
    json::AppendPlainItem(value::MapView(agent::PolicyItem(policy)), &text);
    last = policy;
  }
  return text;
}

void AppendWork(const agent::Work& work, std::string* out) {
  JsonObject object(out);
  AddWork(work, &object);
}

}  // namespace

void AppendJson(const agent::Appended& appended, std::string* out) {
  JsonObject(out).Number("seq", appended.seq).Text("id", appended.id).Flag("duplicate", appended.duplicate);
}

void AppendJson(const agent::SessionView& session, std::string* out) {
  std::optional<int64_t> lease;
  if (session.lease_until != 0) lease = session.lease_until;
  JsonObject(out)
      .Text("session_key", session.session)
      .Text("state", session.state)
      .TextIfAny("reason", session.reason)
      .Number("last_seq", session.last_seq)
      .Number("event_seq", session.event_seq)
      .TextOrNull("checkpoint_id", session.checkpoint_id)
      .Number("last_n", session.last_n)
      .Number("epoch", session.epoch)
      .TextOrNull("owner", session.owner)
      .InstantOrNull("lease_until", lease)
      .Number("consecutive_autonomous_msgs", session.consecutive_autonomous)
      .InstantOrNull("last_autonomous_at", session.last_autonomous_at)
      .Instant("updated_at", session.updated_at);
}

void AppendEvent(std::string_view session, const agent::Event& event, std::string* out) {
  JsonObject object(out);
  object.Text("id", event.id).Text("session_key", session).Number("seq", event.seq).Text("type", event.type);
  AddMap("payload", event.payload, &object);
  object.Instant("created_at", event.at);
}

void AppendEvents(std::string_view session, const agent::EventPage& page, std::string* out) {
  JsonObject object(out);
  AppendJsonList(page.events, object.Name("items"),
                 [&](const agent::Event& event, std::string* to) { AppendEvent(session, event, to); });
  object.NumberOrNull("next", page.next);
}

void AppendJson(const agent::MessagePage& page, std::string* out) {
  JsonObject object(out);
  AppendJsonList(page.messages, object.Name("items"), [](const agent::Message& message, std::string* to) {
    JsonObject(to)
        .Number("n", message.n)
        .Text("id", message.id)
        .Number("seq", message.seq)
        .Number("i", message.i)
        .Text("content", message.content)
        .Flag("auto", message.autonomous)
        .Text("delivery", message.at_most_once ? "at_most_once" : "at_least_once")
        .Instant("created_at", message.at);
  });
  object.NumberOrNull("next", page.next);
}

void AppendJson(const agent::EffectView& effect, std::string* out) {
  JsonObject object(out);
  object.Text("id", effect.id)
      .Text("session_key", effect.session)
      .Text("checkpoint_id", effect.checkpoint_id)
      .Text("type", effect.type);
  AddMap("payload", effect.payload, &object);
  object.Text("dedupe_key", effect.dedupe_key)
      .Text("status", effect.status)
      .TextIfAny("outcome", effect.outcome);
  if (effect.n) object.Number("n", *effect.n);
  object.TextIfAny("delivery", effect.delivery)
      .Instant("created_at", effect.created_at)
      .Instant("updated_at", effect.updated_at)
      .Number("attempt_count", effect.attempt_count);
  if (effect.last_attempt_at) object.Instant("last_attempt_at", *effect.last_attempt_at);
}

void AppendJson(const std::vector<agent::EffectView>& effects, std::string* out) {
  AppendJsonList(effects, JsonObject(out).Name("items"),
                 [](const agent::EffectView& effect, std::string* to) { AppendJson(effect, to); });
}

void AppendJson(const std::vector<agent::TimerView>& timers, std::string* out) {
  AppendJsonList(timers, JsonObject(out).Name("items"), [](const agent::TimerView& timer, std::string* to) {
    JsonObject object(to);
    object.Text("id", timer.id)
        .Text("session_key", timer.session)
        .Text("timer_id", timer.timer_id)
        .Instant("fire_at", timer.fire_at);
    Item payload{{"payload", timer.payload.value_or(AttributeValue())}};
    json::AppendPlain(*value::MapView(payload).Find("payload"), object.Name("payload"));
    object.Text("status", timer.status)
        .Flag("keep", timer.keep)
        .Instant("created_at", timer.created_at)
        .Instant("updated_at", timer.updated_at);
  });
}

void AppendJson(const agent::CheckpointView& checkpoint, std::string* out) {
  JsonObject object(out);
  object.Text("id", checkpoint.id);
  AddMap("state", checkpoint.state, &object);
  JsonObject(object.Name("metadata"))
      .Number("event_seq", checkpoint.seq)
      .Number("consecutive_autonomous_msgs", checkpoint.consecutive_autonomous)
      .InstantOrNull("last_autonomous_at", checkpoint.last_autonomous_at);
  AppendJsonList(checkpoint.decisions, object.Name("decisions"), [](const Item& decision, std::string* to) {
    json::AppendPlainItem(value::MapView(decision), to);
  });
  object.Instant("created_at", checkpoint.created_at);
  if (checkpoint.skipped) object.Flag("skipped", true);
}

void AppendJson(const agent::Autonomy& autonomy, std::string* out) {
  std::optional<int64_t> at;
  if (autonomy.at != 0) at = autonomy.at;
  JsonObject(out)
      .Flag("enabled", autonomy.enabled)
      .TextOrNull("by", autonomy.by)
      .InstantOrNull("at", at)
      .Flag("forced_off", autonomy.forced_off);
}

void AppendJson(const agent::Policy& policy, std::string* out) {
  out->append(PolicyJson(policy));
}

void AppendJson(const agent::DeadLetterPage& page, std::string* out) {
  JsonObject object(out);
  AppendJsonList(page.letters, object.Name("items"), [](const agent::DeadLetter& letter, std::string* to) {
    JsonObject(to)
        .Text("id", letter.id)
        .Text("session_key", letter.session)
        .Text("effect_id", letter.effect_id)
        .Text("reason", letter.reason)
        .Instant("created_at", letter.at);
  });
  object.TextOrNull("next", page.next);
}

void AppendJson(const std::vector<agent::Work>& work, std::string* out) {
  AppendJsonList(work, JsonObject(out).Name("work"), &AppendWork);
}

void AppendJson(const agent::Committed& committed, std::string* out) {
  JsonObject object(out);
  AddCommitted(committed, &object);
}

void AppendJson(const agent::HeartbeatAnswer& answer, std::string* out) {
  JsonObject object(out);
  AddLeases(answer, &object);
  AppendJsonList(answer.cancel, object.Name("cancel"), [](const agent::Cancel& cancel, std::string* to) {
    JsonObject(to)
        .Text("session", cancel.session)
        .Number("epoch", cancel.epoch)
        .Text("reason", cancel.reason);
  });
}

void AddWork(const agent::Work& work, JsonObject* object) {
  object->Text("session", work.session).Number("epoch", work.epoch).Number("lease_until", work.lease_until);
  if (work.checkpoint_seq == 0) {
    object->Raw("checkpoint", "null");
  } else {
    JsonObject checkpoint(object->Name("checkpoint"));
    checkpoint.Number("seq", work.checkpoint_seq);
    AddMap("data", work.state, &checkpoint);
  }
  AppendJsonList(work.events, object->Name("events"), [](const agent::Event& event, std::string* to) {
    JsonObject one(to);
    one.Number("seq", event.seq).Text("id", event.id).Text("type", event.type);
    AddMap("payload", event.payload, &one);
    one.Number("at", event.at).Text("origin", event.autonomous ? "auto" : "user");
  });
  JsonObject(object->Name("state"))
      .Number("auto_n", work.autonomous_count)
      .NumberOrNull("auto_at", work.autonomous_at)
      .Number("n_tail", work.last_n);
  object->Raw("policy", PolicyJson(work.policy));
}

void AddCommitted(const agent::Committed& committed, JsonObject* object) {
  object->Number("seq", committed.seq);
  AppendJsonList(committed.messages, object->Name("messages"), &json::AppendInteger);
  AppendJsonList(committed.suppressed, object->Name("suppressed"),
                 [](const agent::Refused& refused, std::string* to) {
                   JsonObject(to).Number("i", static_cast<int64_t>(refused.i)).Text("reason", refused.reason);
                 });
  if (committed.next)
    AppendWork(*committed.next, object->Name("next"));
  else
    object->Raw("next", "null");
}

void AddLeases(const agent::HeartbeatAnswer& answer, JsonObject* object) {
  AppendJsonList(answer.ok, object->Name("ok"), &AppendLease);
  AppendJsonList(answer.lost, object->Name("lost"), &AppendLease);
}

}  // namespace holdfast::wire
