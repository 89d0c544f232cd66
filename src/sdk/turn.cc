#include "sdk/turn.h"

#include <utility>

#include "json/plain.h"
#include "sdk/protocol.h"

namespace holdfast::sdk {
const Item& WorkTurn::state() const {
  if (!state_) {
    // The server has read it before: it is sound.
    state_ = work_.state.empty() ? Item() : json::ReadPlainItem(work_.state).value_or(Item());
  }
  return *state_;
}

void WorkTurn::SetState(Item state) {
  if (const Error* defect = state.defect()) defect_ = *defect;
  state_ = std::move(state);
  state_is_new_ = true;
}

std::string* WorkTurn::BeginEffect(std::string_view type) {
  effects_.append(effects_.empty() ? "{\"type\":\"" : ",{\"type\":\"").append(type).push_back('"');
  return &effects_;
}

void WorkTurn::AppendItem(std::string_view name, const Item& item, std::string* out) {
  if (const Error* defect = item.defect()) defect_ = *defect;
  out->append(",\"").append(name).append("\":");
  json::AppendPlainItem(value::MapView(item), out);
}

void WorkTurn::Send(std::string_view content, Delivery delivery) {
  std::string* out = BeginEffect("send_message");
  AppendMember("content", content, out);
  if (delivery == Delivery::kAtMostOnce) AppendMember("delivery", "at_most_once", out);
  out->push_back('}');
}

void WorkTurn::ScheduleTimer(const AgentTimer& timer) {
  std::string* out = BeginEffect("schedule_timer");
  AppendMember("timer_id", timer.timer_id, out);
  if (timer.at_millis)
    AppendMember("fire_at", *timer.at_millis, out);
  else
    AppendMember("delay_ms", timer.delay_millis, out);
  if (!timer.payload.empty()) AppendItem("payload", timer.payload, out);
  if (timer.keep) out->append(",\"keep\":true");
  out->push_back('}');
}

void WorkTurn::CancelTimer(std::string_view timer_id) {
  std::string* out = BeginEffect("cancel_timer");
  AppendMember("timer_id", timer_id, out);
  out->push_back('}');
}

void WorkTurn::Webhook(std::string_view url, const Item& body) {
  std::string* out = BeginEffect("webhook");
  AppendMember("url", url, out);
  AppendItem("body", body, out);
  out->push_back('}');
}

Result<std::string> WorkTurn::Outcome() const {
  if (defect_) return *defect_;
  std::string out;
  out.reserve(work_.state.size() + effects_.size() + 256);
  AppendMember("session", work_.session, &out);
  AppendMember("epoch", work_.epoch, &out);
  AppendMember("upto", work_.events.back().seq, &out);
  out.append(",\"checkpoint\":");
  if (state_is_new_)
    json::AppendPlainItem(value::MapView(*state_), &out);
  else
    out.append(work_.state.empty() ? "{}" : work_.state);
  out.append(",\"effects\":[").append(effects_).push_back(']');
  return out;
}

}  // namespace holdfast::sdk
