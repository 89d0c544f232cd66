// The WebSocket of a user's device: it is told the session's messages, and says what the user says.
//
// A device that does not read as fast as there are messages is told no more than fits. Once there is room it
// is taken off the runtime and put on again, which tells it anew what it has not acknowledged; what it was
// told before is passed over.
#include <algorithm>

#include "base/mutex.h"
#include "model/refusal.h"
#include "wire/agent_requests.h"
#include "wire/agent_socket.h"

namespace holdfast::wire {
namespace {

class DeviceSocket final : public AgentSocket, public std::enable_shared_from_this<DeviceSocket> {
 public:
  DeviceSocket(Agents* agents, agent::Runtime* runtime, const auth::Identity& identity,
               agent::ConnectRequest request)
      : AgentSocket(agents, runtime, identity), request_(std::move(request)) {}

  void OnOpen(std::shared_ptr<Channel> channel) override {
    AgentSocket::OnOpen(std::move(channel));
    Connect();
  }
  void OnRoom(Channel*) override {
    {
      base::MutexLock lock(&mu_);
      if (!behind_) return;
      behind_ = false;
    }
    runtime_->Disconnect(connection_);
    Connect();
  }
  void OnClosed(Channel*) override {
    if (!agents_->left()) runtime_->Disconnect(connection_);
  }

 protected:
  Status Hear(std::string_view type, Members* message, Echo* echo) override {
    if (type == "user") return Speak(message, *echo);
    if (type == "ack") return Acknowledge(message);
    if (type == "stop") return Stop(message, *echo);
    return model::RefuseField("t", "should be one of user, ack, stop");
  }

 private:
  // What the runtime tells; on its thread. Each is for one time on the runtime.
  class Listener final : public agent::DeviceSink {
   public:
    Listener(std::shared_ptr<DeviceSocket> socket, uint64_t number)
        : socket_(std::move(socket)), number_(number) {}

    void OnReady(int64_t last_n, int64_t acked) override {
      if (number_ == 1) socket_->Say("ready")->Number("n", last_n).Number("ack", acked);
    }
    void OnMessage(const agent::Message& message) override {
      socket_->Tell(number_, message.n, [&] {
        socket_->Say("msg")
            ->Number("n", message.n)
            .Text("id", message.id)
            .Flag("auto", message.autonomous)
            .Text("content", message.content)
            .Number("at", message.at);
      });
    }
    void OnSkip(int64_t n) override {
      socket_->Tell(number_, n, [&] { socket_->Say("skip")->Number("n", n); });
    }
    void OnState(std::string_view state) override { socket_->Say("state")->Text("st", state); }
    void OnEnd(std::string_view reason) override { socket_->channel_->Close(kCloseTryLater, reason); }

   private:
    const std::shared_ptr<DeviceSocket> socket_;
    const uint64_t number_;
  };

  void Connect() {
    uint64_t number = 0;
    {
      base::MutexLock lock(&mu_);
      number = ++listener_;
    }
    connection_ = runtime_->Connect(request_, std::make_shared<Listener>(shared_from_this(), number));
  }

  // One message, unless the device is behind or this is no longer who tells it.
  template <class Say>
  void Tell(uint64_t listener, int64_t n, const Say& say) {
    base::MutexLock lock(&mu_);
    if (behind_ || n <= told_ || listener != listener_) return;
    say();
    told_ = n;
    behind_ = channel_->waiting_bytes() >= kRoomBytes;
  }

  Status Speak(Members* message, const Echo& echo) {
    agent::AppendRequest request;
    request.session = request_.session;
    message->Name("id", &request.id, Need::kOptional, kEventIdCharacters);
    std::string text;
    message->Text("text", &text, Need::kRequired, SIZE_MAX);
    HF_CHECK_OK(message->End());
    request.payload = Item{{"text", std::move(text)}};
    HF_CHECK_OK(Begin());
    runtime_->Append(std::move(request),
                     [self = shared_from_this(), echo](const Result<agent::Appended>& appended) {
                       self->Finished();
                       if (!appended) return self->Refuse(echo, appended.error());
                       AgentFrame frame = self->Say("ok");
                       frame->Text("id", appended->id).Number("seq", appended->seq);
                       if (appended->duplicate) frame->Flag("duplicate", true);
                     });
    return Ok{};
  }

  Status Acknowledge(Members* message) {
    int64_t n = 0;
    message->Whole("n", &n, {0}, Need::kRequired);
    HF_CHECK_OK(message->End());
    {
      base::MutexLock lock(&mu_);
      n = std::min(n, told_);
    }
    // What is told anew begins here.
    if (n > request_.after.value_or(0)) request_.after = n;
    runtime_->Acknowledge(connection_, n);
    return Ok{};
  }

  Status Stop(Members* message, const Echo& echo) {
    HF_CHECK_OK(message->End());
    HF_CHECK_OK(Begin());
    runtime_->Stop(request_.session, [self = shared_from_this(), echo](const Status& stopped) {
      self->Finished();
      if (!stopped) self->Refuse(echo, stopped.error());
    });
    return Ok{};
  }

  // Of the I/O thread.
  agent::ConnectRequest request_;
  agent::ConnectionId connection_ = 0;

  base::Mutex mu_;
  uint64_t listener_ HF_GUARDED_BY(mu_) = 0;  // the one that tells
  int64_t told_ HF_GUARDED_BY(mu_) = 0;
  bool behind_ HF_GUARDED_BY(mu_) = false;
};

}  // namespace

std::shared_ptr<ChannelHandler> MakeDeviceSocket(Agents* agents, agent::Runtime* runtime,
                                                 const auth::Identity& identity,
                                                 agent::ConnectRequest request) {
  return std::make_shared<DeviceSocket>(agents, runtime, identity, std::move(request));
}

}  // namespace holdfast::wire
