#include "wire/agent_socket.h"

#include "json/plain.h"
#include "model/refusal.h"

namespace holdfast::wire {

void AgentSocket::OnOpen(std::shared_ptr<Channel> channel) {
  channel_ = std::move(channel);
  agents_->expiry()->CloseAt(identity_.expires_at, channel_);
}

void AgentSocket::OnMessage(Channel*, std::string_view text) {
  constexpr size_t kIdBytesMax = 256;
  Echo echo;
  auto hear = [&]() -> Status {
    Result<Item> read = json::ReadPlainItem(text);
    if (!read) return model::RefuseField("message", "should be one JSON object: " + read.error().message());
    Members message{value::MapView(*read)};
    if (std::optional<value::ValueView> id = message.Take("id")) {
      bool scalar = id->type() == value::Type::kString || id->type() == value::Type::kNumber;
      if (!scalar || id->bytes().size() > kIdBytesMax)
        return model::RefuseField("id", "should be a short text or a number");
      json::AppendPlain(*id, &echo.id);
    }
    std::string type;
    message.Text("t", &type, Need::kRequired);
    return Hear(type, &message, &echo);
  };
  if (Status heard = hear(); !heard) Refuse(echo, heard.error());
}

void AgentSocket::Refuse(const Echo& echo, const Error& error) const {
  Error refused = model::FromStore(error);
  const Refusal& refusal = refused.detail()->refusal;
  if (refusal.http_status == 500)
    HF_LOG(agents_->log(), kError, "a message over a WebSocket failed", {"session", echo.session},
           {"error", refused.ToString()});
  AgentFrame frame(channel_.get(), "error");
  frame.Repeat(echo);
  frame->Number("status", refusal.http_status);
  frame->More([&](std::string* out) { AppendRefusal(refused, {}, out); });
}

Status AgentSocket::Begin() {
  constexpr int kUnderWayMax = 256;
  if (under_way_.fetch_add(1, std::memory_order_relaxed) < kUnderWayMax) return Ok{};
  Finished();
  return model::Throttled("too much is under way on this connection; wait for answers");
}

}  // namespace holdfast::wire
