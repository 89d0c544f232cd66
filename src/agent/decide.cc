#include "agent/decide.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "agent/keys.h"
#include "agent/row_writer.h"
#include "model/instant.h"
#include "model/refusal.h"

namespace holdfast::agent {
namespace {

using model::RefuseField;

constexpr size_t kContentBytesMax = 256 << 10;
constexpr int64_t kTimerMillisMax = 10LL * 366 * 86'400'000;

std::string FieldOf(size_t i, std::string_view name) {
  return "effects[" + std::to_string(i) + "]." + std::string(name);
}

Status CheckFields(size_t i, const Item& payload, std::initializer_list<std::string_view> known) {
  value::MapView map(payload);
  for (uint32_t at = 0; at < map.size(); ++at) {
    std::string_view name = map.At(at).name;
    if (std::find(known.begin(), known.end(), name) == known.end())
      return RefuseField(FieldOf(i, name), "is no field of this effect");
  }
  return Ok{};
}

Result<std::string> TextField(size_t i, const Item& payload, std::string_view name) {
  auto value = payload.Get(name);
  if (!value || value->type() != AttributeValue::Type::kString)
    return RefuseField(FieldOf(i, name), "should be a text");
  return value->AsText();
}

Status NormaliseSend(size_t i, const EffectRequest& effect) {
  HF_CHECK_OK(CheckFields(i, effect.payload, {"content"}));
  HF_TRY(std::string content, TextField(i, effect.payload, "content"));
  if (content.size() > kContentBytesMax)
    return model::Refuse("ItemTooLarge",
                         "a message has at most " + std::to_string(kContentBytesMax) + " bytes");
  return Ok{};
}

Result<std::string> TimerIdOf(size_t i, const Item& payload) {
  HF_TRY(std::string id, TextField(i, payload, "timer_id"));
  if (!IsTimerId(id))
    return RefuseField(FieldOf(i, "timer_id"), "should be 1 to 128 letters, digits and _ . : -",
                       id.substr(0, 100));
  return id;
}

Status NormaliseTimer(size_t i, int64_t now, EffectRequest* effect) {
  HF_CHECK_OK(CheckFields(i, effect->payload, {"timer_id", "fire_at", "delay_ms", "payload"}));
  HF_TRY(std::string id, TimerIdOf(i, effect->payload));
  auto at = effect->payload.Get("fire_at"), delay = effect->payload.Get("delay_ms");
  if (at.has_value() == delay.has_value())
    return RefuseField(FieldOf(i, "fire_at"), "should be given, or delay_ms, and not both");
  std::optional<int64_t> fire_at;
  if (delay) {
    fire_at = delay->AsInt64();
    if (!fire_at || *fire_at < 0 || *fire_at > kTimerMillisMax)
      return RefuseField(FieldOf(i, "delay_ms"), "should be milliseconds, at most ten years of them");
    *fire_at += now;
  } else {
    fire_at = at->type() == AttributeValue::Type::kString ? model::ParseInstant(at->AsText()) : at->AsInt64();
    if (!fire_at || *fire_at < 0 || *fire_at > now + kTimerMillisMax)
      return RefuseField(FieldOf(i, "fire_at"),
                         "should be an instant, or milliseconds since 1970, within ten years");
  }
  effect->payload.Remove("delay_ms");
  effect->payload.Set("fire_at", model::FormatInstant(*fire_at));
  return Ok{};
}

Status NormaliseWebhook(size_t i, const EffectRequest& effect) {
  HF_CHECK_OK(CheckFields(i, effect.payload, {"url", "body"}));
  return TextField(i, effect.payload, "url").transform([](const std::string&) { return Ok{}; });
}

// One commit on its way to a decision.
class Deciding {
 public:
  Deciding(const Situation& situation, const CommitRequest& request)
      : is_(situation),
        request_(request),
        last_(situation.events.back()),
        checkpoint_id_(CheckpointId(is_.session, last_.seq)) {
    decision_.next = is_.head;
  }

  Result<Decision> Run() {
    Begin();
    for (size_t i = 0; i < request_.effects.size(); ++i) HF_CHECK_OK(Effect(i, request_.effects[i]));
    HF_CHECK_OK(CheckTimers());
    Finish();
    return std::move(decision_);
  }

 private:
  void Begin() {
    Head& next = decision_.next;
    bool spoken = std::any_of(is_.events.begin(), is_.events.end(),
                              [](const Event& event) { return event.type == "user_message"; });
    autonomous_ = std::all_of(is_.events.begin(), is_.events.end(),
                              [](const Event& event) { return event.autonomous; });
    if (spoken) {
      next.auto_n = 0;
      next.auto_at.reset();
    }
    next.done = last_.seq;
    next.fail_n = 0;
  }

  Status Effect(size_t i, const EffectRequest& effect) {
    std::string key = DedupeKeyOf(checkpoint_id_, effect.type, effect.payload);
    if (!keys_.insert(key).second && !is_.policy.allow_equal) {
      RowWriter decision;
      decision.Text("dedupe_key", key).Flag("duplicate", true).Text("reason", "duplicate");
      decision_.checkpoint.decisions.push_back(decision.Take());
      return Ok{};
    }
    EffectRow row;
    row.seq = last_.seq;
    row.i = static_cast<int64_t>(i);
    row.type = effect.type;
    row.payload = effect.payload;
    row.dedupe_key = std::move(key);
    row.autonomous = autonomous_;
    row.at_most_once = effect.at_most_once;
    row.gen = last_.generation;
    row.created_at = row.updated_at = is_.now;
    if (effect.type == "send_message") return Send(std::move(row));
    if (effect.type == "schedule_timer") return Schedule(effect, std::move(row));
    if (effect.type == "cancel_timer") return CancelTimer(std::move(row));
    row.status = "pending";
    row.next_at = is_.now;
    decision_.webhooks = true;
    Keep(std::move(row));
    return Ok{};
  }

  // Why an autonomous message may not go out now; empty when it may.
  std::string_view WhyNot() const {
    const Head& next = decision_.next;
    if (!is_.autonomy) return "disabled";
    if (is_.head.tgen > last_.generation) return "superseded";
    if (next.auto_n >= is_.policy.cap) return "cap";
    bool cooling = next.auto_at && is_.now < *next.auto_at + is_.policy.cooldown_millis;
    return cooling || decision_.autonomous_send ? "cooldown" : std::string_view();
  }

  OnRefusal PolicyFor(std::string_view reason) const {
    if (reason == "superseded")
      return is_.policy.on_superseded == OnRefusal::kReject ? OnRefusal::kReject : OnRefusal::kSuppress;
    if (reason == "cap") return is_.policy.on_cap;
    if (reason == "cooldown") return is_.policy.on_cooldown;
    return OnRefusal::kSuppress;
  }

  Status Send(EffectRow row) {
    std::string_view reason = autonomous_ ? WhyNot() : std::string_view();
    if (reason.empty()) {
      Accept(row);
      return Ok{};
    }
    OnRefusal policy = PolicyFor(reason);
    if (policy == OnRefusal::kReject) {
      return model::Refuse("Rejected", "the agent's policy refuses this message: " + std::string(reason),
                           {{"reason", std::string(reason)}, {"i", row.i}});
    }
    if (policy == OnRefusal::kHold) {
      row.status = "held";
      if (reason == "cooldown") Arm(row);
    } else {
      row.status = "failed";
      row.outcome = reason;
    }
    Keep(std::move(row), policy == OnRefusal::kHold ? "held" : reason);
    return Ok{};
  }

  void Accept(const EffectRow& row) {
    Head& next = decision_.next;
    Message message;
    message.n = ++next.n_tail;
    message.seq = row.seq;
    message.i = row.i;
    message.id = EffectId(is_.session, row.seq, row.i);
    message.content = RowReader(row.payload).Text("content");
    message.autonomous = autonomous_;
    message.at_most_once = row.at_most_once;
    message.at = is_.now;
    if (autonomous_) {
      ++next.auto_n;
      next.auto_at = std::max(is_.now, next.auto_at.value_or(0));
      decision_.autonomous_send = true;
    }
    message.dedupe_key = row.dedupe_key;
    RowWriter decision;
    std::string key = MessageKey(message.n);
    decision.Text("dedupe_key", row.dedupe_key).Text("row", key);
    decision_.checkpoint.decisions.push_back(decision.Take());
    decision_.messages.push_back(std::move(message));
  }

  // A held message goes out at the first moment when it may.
  void Arm(const EffectRow& row) {
    std::string position = std::to_string(row.seq) + "." + std::to_string(row.i);
    TimerRow timer;
    timer.id = EffectId(is_.session, row.seq, row.i);
    timer.timer_id = std::string(kHoldPrefix) + position;
    timer.fire_at = timer.due = decision_.next.auto_at.value_or(is_.now) + is_.policy.cooldown_millis;
    timer.gen = row.gen;
    timer.ver = position;
    timer.created_at = timer.updated_at = is_.now;
    decision_.timers.push_back(std::move(timer));
  }

  Status Schedule(const EffectRequest& effect, EffectRow row) {
    if (!is_.autonomy) {
      row.status = "failed";
      row.outcome = "disabled";
      Keep(std::move(row), "disabled");
      return Ok{};
    }
    RowReader payload(row.payload);
    TimerRow timer;
    timer.id = EffectId(is_.session, row.seq, row.i);
    timer.timer_id = payload.Text("timer_id");
    timer.fire_at = model::ParseInstant(payload.Text("fire_at")).value_or(0);
    timer.due = std::max(timer.fire_at, is_.now);
    timer.payload = row.payload.Get("payload");
    timer.keep = effect.keep;
    timer.gen = last_.generation;
    timer.ver = std::to_string(row.seq) + "." + std::to_string(row.i);
    timer.created_at = timer.updated_at = is_.now;
    bool late = is_.head.tgen > last_.generation && !effect.keep;
    if (late) timer.status = "cancelled";
    row.status = "completed";
    row.outcome = late ? "superseded" : "scheduled";
    ForgetTimer(timer.timer_id);
    decision_.timers.push_back(std::move(timer));
    Keep(std::move(row), late ? "superseded" : std::string_view());
    return Ok{};
  }

  Status CancelTimer(EffectRow row) {
    std::string id = RowReader(row.payload).Text("timer_id");
    bool found = ForgetTimer(id);
    auto stored = is_.timers.find(id);
    if (stored != is_.timers.end() && stored->second.alive(is_.head)) {
      decision_.cancelled.push_back(stored->second);
      found = true;
    }
    row.status = "completed";
    row.outcome = found ? "cancelled" : "not_pending";
    Keep(std::move(row));
    return Ok{};
  }

  // What this commit itself wanted of the timer before: a row can be written once.
  bool ForgetTimer(const std::string& id) {
    auto is_it = [&](const TimerRow& timer) { return timer.timer_id == id; };
    std::erase_if(decision_.cancelled, is_it);
    return std::erase_if(decision_.timers, is_it) > 0;
  }

  void Keep(EffectRow row, std::string_view refused = {}) {
    RowWriter decision;
    std::string key = EffectKey(row.seq, row.i);
    decision.Text("dedupe_key", row.dedupe_key).Text("row", key);
    if (!refused.empty()) decision.Text("reason", refused);
    decision_.checkpoint.decisions.push_back(decision.Take());
    decision_.effects.push_back(std::move(row));
  }

  Status CheckTimers() const {
    if (decision_.timers.empty()) return Ok{};
    std::set<std::string_view> pending;
    for (const auto& [id, timer] : is_.timers) {
      if (timer.alive(is_.head)) pending.insert(id);
    }
    for (const TimerRow& timer : decision_.cancelled) pending.erase(timer.timer_id);
    for (const TimerRow& timer : decision_.timers) {
      if (timer.pending()) pending.insert(timer.timer_id);
    }
    auto internal = [](std::string_view id) { return id.starts_with(kHoldPrefix); };
    auto own = static_cast<size_t>(std::count_if(pending.begin(), pending.end(), std::not_fn(internal)));
    if (own <= kTimersMax) return Ok{};
    return model::Refuse("TransactionTooLarge",
                         "a session has at most " + std::to_string(kTimersMax) + " pending timers");
  }

  void Finish() {
    Checkpoint& checkpoint = decision_.checkpoint;
    checkpoint.seq = last_.seq;
    checkpoint.state = request_.state;
    checkpoint.token = request_.token;
    checkpoint.epoch = request_.epoch;
    checkpoint.usage = request_.usage;
    checkpoint.skipped = request_.skipped;
    checkpoint.auto_n = decision_.next.auto_n;
    checkpoint.auto_at = decision_.next.auto_at;
    checkpoint.created_at = is_.now;
    decision_.answer = AnswerOf(checkpoint);
  }

  const Situation& is_;
  const CommitRequest& request_;
  const Event& last_;
  const std::string checkpoint_id_;
  bool autonomous_ = false;
  std::set<std::string> keys_;
  Decision decision_;
};

}  // namespace

Status NormaliseEffects(int64_t now, std::vector<EffectRequest>* effects) {
  if (effects->size() > kEffectsMax) {
    return model::Refuse("TransactionTooLarge",
                         "a commit has at most " + std::to_string(kEffectsMax) + " effects");
  }
  for (size_t i = 0; i < effects->size(); ++i) {
    EffectRequest& effect = (*effects)[i];
    if (effect.type == "send_message") {
      HF_CHECK_OK(NormaliseSend(i, effect));
    } else if (effect.type == "schedule_timer") {
      HF_CHECK_OK(NormaliseTimer(i, now, &effect));
    } else if (effect.type == "cancel_timer") {
      HF_CHECK_OK(CheckFields(i, effect.payload, {"timer_id"}));
      HF_CHECK_OK(TimerIdOf(i, effect.payload).transform([](const std::string&) { return Ok{}; }));
    } else if (effect.type == "webhook") {
      HF_CHECK_OK(NormaliseWebhook(i, effect));
    } else {
      return RefuseField(FieldOf(i, "type"),
                         "should be send_message, schedule_timer, cancel_timer or webhook",
                         effect.type.substr(0, 100));
    }
  }
  return Ok{};
}

Result<Decision> Decide(const Situation& situation, const CommitRequest& request) {
  return Deciding(situation, request).Run();
}

Committed AnswerOf(const Checkpoint& checkpoint) {
  Committed answer;
  answer.seq = checkpoint.seq;
  for (size_t i = 0; i < checkpoint.decisions.size(); ++i) {
    RowReader decision(checkpoint.decisions[i]);
    if (std::string reason = decision.Text("reason"); !reason.empty())
      answer.suppressed.push_back({i, reason});
    std::string row = decision.Text("row");
    if (row.starts_with("M#")) {
      int64_t n = 0;
      std::from_chars(row.data() + 2, row.data() + row.size(), n);
      answer.messages.push_back(n);
    }
  }
  return answer;
}

}  // namespace holdfast::agent
