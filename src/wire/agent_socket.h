// What the WebSockets of the agent runtime share: one JSON object a message, "t" says what it is, and what
// goes wrong is told by {"t":"error",…}.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/runtime.h"
#include "auth/identity.h"
#include "wire/agents.h"
#include "wire/json_object.h"
#include "wire/members.h"
#include "wire/websocket.h"

namespace holdfast::wire {

// What an answer repeats of the message it is for.
struct Echo {
  std::string id;  // as JSON; empty: the message had none
  std::string session;
  int64_t epoch = 0;
};

// A frame under way: {"t":…, and what is added. Sent when it goes out of scope.
class AgentFrame {
 public:
  AgentFrame(Channel* channel, std::string_view type) : channel_(channel) {
    object_.emplace(&text_).Text("t", type);
  }
  ~AgentFrame() {
    object_.reset();
    channel_->Send(TakeTextFrame(std::move(text_)));
  }
  AgentFrame& Repeat(const Echo& echo) {
    if (!echo.id.empty()) object_->Raw("id", echo.id);
    object_->TextIfAny("session", echo.session);
    return *this;
  }
  JsonObject* operator->() { return &*object_; }
  JsonObject* object() { return &*object_; }

 private:
  Channel* const channel_;
  std::string text_ = std::string(kFrameRoom, '\0');
  std::optional<JsonObject> object_;
};

class AgentSocket : public ChannelHandler {
 public:
  void OnOpen(std::shared_ptr<Channel> channel) override;
  void OnMessage(Channel* channel, std::string_view text) override;

 protected:
  AgentSocket(Agents* agents, agent::Runtime* runtime, auth::Identity identity)
      : agents_(agents), runtime_(runtime), identity_(std::move(identity)) {}

  // One message, out of whose members "t" and "id" were read. What it returns is told.
  virtual Status Hear(std::string_view type, Members* message, Echo* echo) = 0;

  // From any thread once it is open, and after its end.
  AgentFrame Say(std::string_view type) const { return AgentFrame(channel_.get(), type); }
  void Refuse(const Echo& echo, const Error& error) const;

  // Something is begun that will be answered. Fails when there is too much of it.
  Status Begin();
  void Finished() { under_way_.fetch_sub(1, std::memory_order_relaxed); }

  Agents* const agents_;
  agent::Runtime* const runtime_;
  const auth::Identity identity_;
  std::shared_ptr<Channel> channel_;  // from OnOpen on the same

 private:
  std::atomic<int> under_way_{0};
};

}  // namespace holdfast::wire
