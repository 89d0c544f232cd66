// What the agent runtime tells, as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/runtime.h"
#include "wire/json_object.h"

namespace holdfast::wire {

void AppendJson(const agent::Appended& appended, std::string* out);
void AppendJson(const agent::SessionView& session, std::string* out);
void AppendJson(const agent::MessagePage& page, std::string* out);
void AppendJson(const agent::EffectView& effect, std::string* out);
void AppendJson(const std::vector<agent::EffectView>& effects, std::string* out);
void AppendJson(const std::vector<agent::TimerView>& timers, std::string* out);
void AppendJson(const agent::CheckpointView& checkpoint, std::string* out);
void AppendJson(const agent::Autonomy& autonomy, std::string* out);
void AppendJson(const agent::Policy& policy, std::string* out);
void AppendJson(const agent::DeadLetterPage& page, std::string* out);
void AppendJson(const std::vector<agent::Work>& work, std::string* out);
void AppendJson(const agent::Committed& committed, std::string* out);
void AppendJson(const agent::HeartbeatAnswer& answer, std::string* out);
inline void AppendJson(const Ok&, std::string* out) {
  out->append("{}");
}
// Events do not know whose they are.
void AppendEvent(std::string_view session, const agent::Event& event, std::string* out);
void AppendEvents(std::string_view session, const agent::EventPage& page, std::string* out);

// Into an object that has other members too: the frames of WebSockets.
void AddWork(const agent::Work& work, JsonObject* object);
void AddCommitted(const agent::Committed& committed, JsonObject* object);
void AddLeases(const agent::HeartbeatAnswer& answer, JsonObject* object);

}  // namespace holdfast::wire
