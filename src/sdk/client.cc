#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "base/thread.h"
#include "holdfast/agent.h"
#include "sdk/link.h"
#include "sdk/loop.h"
#include "sdk/protocol.h"

namespace holdfast::sdk {
namespace {

// Sent and not answered; beyond this a server is taken for too slow.
constexpr size_t kUnansweredMax = 10'000;

class Network final : public AgentNetwork {
 public:
  explicit Network(std::unique_ptr<Loop> loop)
      : loop_(std::move(loop)), thread_([this] {
          base::NameThread("agent-network");
          loop_->Run();
        }) {}
  ~Network() override {
    loop_->Stop();
    thread_.join();
  }
  Loop* loop() { return loop_.get(); }

 private:
  const std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

class Client final : public AgentClient, private LinkHandler {
 public:
  using Done = std::function<void(Result<SentMessage>)>;

  Client(Loop* loop, AgentClientOptions options, Address address)
      : options_(std::move(options)),
        id_prefix_("c-" + random_.Uuid().substr(0, 18) + "-"),
        loop_(loop),
        link_(loop, this, std::move(address)),
        knows_cursor_(options_.after.has_value()),
        cursor_(options_.after.value_or(0)) {
    loop_->Post([this] { Connect(); });
  }
  ~Client() override;

  void Send(std::string_view text, Done done) override;
  void StopTurn() override {
    base::MutexLock lock(&mu_);
    if (connected_) link_.Send(R"({"t":"stop"})");
  }
  int64_t cursor() const override { return cursor_; }

 private:
  struct Unanswered {
    std::string id;
    std::string text;
    Done done;
  };

  void Connect();
  void Reconnect(int64_t pause_millis);
  void OnOpen() override {}
  void OnText(std::string_view text) override;
  void OnBatch() override;
  void OnClosed(const Error& why, bool refused) override;

  void TakeReady(const ServerMessage& ready);
  void TakeMessage(const ServerMessage& message);
  void Answer(std::string_view id, const Result<SentMessage>& answer);
  void EndAll(const Error& why);

  const AgentClientOptions options_;
  base::Random random_;
  const std::string id_prefix_;

  // Of the loop's thread.
  Loop* const loop_;
  Link link_;
  ServerReader reader_;
  Loop::TimerId reconnect_{};
  int tries_ = 0;
  bool knows_cursor_;
  int64_t acknowledged_ = 0;
  std::atomic<int64_t> cursor_;

  base::Mutex mu_;  // before the link's
  bool connected_ HF_GUARDED_BY(mu_) = false;
  std::optional<Error> ended_ HF_GUARDED_BY(mu_);
  int64_t next_id_ HF_GUARDED_BY(mu_) = 1;
  std::deque<Unanswered> unanswered_ HF_GUARDED_BY(mu_);
};

Client::~Client() {
  loop_->PostAndWait([this] {
    loop_->Cancel(reconnect_);
    link_.Close();
    EndAll(Error(ErrorCode::kIo, "the client was closed before the server answered"));
  });
}

void Client::Connect() {
  std::string target = "/v1/connect?session=" + options_.session + "&device=" + options_.device;
  if (knows_cursor_) target += "&after=" + std::to_string(cursor_);
  link_.Open(target, TokenOf(options_.server));
}

void Client::Reconnect(int64_t pause_millis) {
  {
    base::MutexLock lock(&mu_);
    connected_ = false;
  }
  link_.Close();
  reconnect_ = loop_->After(pause_millis, [this] { Connect(); });
}

void Client::OnClosed(const Error& why, bool refused) {
  if (!refused) return Reconnect(PauseMillis(tries_++, &random_));
  EndAll(why);
  if (options_.on_end) options_.on_end(why);
}

void Client::Send(std::string_view text, Done done) {
  base::MutexLock lock(&mu_);
  if (ended_ || unanswered_.size() >= kUnansweredMax) {
    Error why = ended_ ? *ended_ : Error(ErrorCode::kThrottling, "too many messages wait for the server");
    if (done) loop_->Post([done = std::move(done), why] { done(why); });
    return;
  }
  Unanswered& said = unanswered_.emplace_back();
  said.id = id_prefix_ + std::to_string(next_id_++);
  said.text = R"({"t":"user")";
  AppendMember("id", said.id, &said.text);
  AppendMember("text", text, &said.text);
  said.text.push_back('}');
  said.done = std::move(done);
  if (connected_) link_.Send(said.text);
}

void Client::OnText(std::string_view text) {
  Result<ServerMessage> message = reader_.Read(text);
  if (!message) return;
  if (message->t == "msg" || message->t == "skip") {
    TakeMessage(*message);
  } else if (message->t == "ok") {
    Answer(message->id, SentMessage{.seq = message->seq, .duplicate = message->duplicate});
  } else if (message->t == "error") {
    Answer(message->id, Refuse(message->error, static_cast<int>(message->status), message->message));
  } else if (message->t == "ready") {
    TakeReady(*message);
  } else if (message->t == "state" && options_.on_state) {
    options_.on_state(message->state);
  }
}

void Client::TakeReady(const ServerMessage& ready) {
  tries_ = 0;
  acknowledged_ = ready.ack;
  if (!std::exchange(knows_cursor_, true)) cursor_ = ready.ack;
  base::MutexLock lock(&mu_);
  connected_ = true;
  for (const Unanswered& said : unanswered_) link_.Send(said.text);
}

// Each number once and in order, whatever the server repeats; after a gap it is asked to begin again.
void Client::TakeMessage(const ServerMessage& message) {
  if (message.n > cursor_ + 1) return Reconnect(PauseMillis(tries_++, &random_));
  if (message.n <= cursor_) {
    acknowledged_ = std::min(acknowledged_, message.n - 1);  // it does not know that we have it
    return;
  }
  if (message.t == "msg" && options_.on_message) {
    options_.on_message({.n = message.n,
                         .id = message.id,
                         .content = message.content,
                         .autonomous = message.autonomous,
                         .at_millis = message.at});
  }
  cursor_ = message.n;
}

// One acknowledgement for all that was read together.
void Client::OnBatch() {
  if (cursor_ <= acknowledged_ || !knows_cursor_) return;
  acknowledged_ = cursor_;
  std::string ack = R"({"t":"ack")";
  AppendMember("n", acknowledged_, &ack);
  link_.Send(ack.append("}"));
}

void Client::Answer(std::string_view id, const Result<SentMessage>& answer) {
  Done done;
  {
    base::MutexLock lock(&mu_);
    auto said = std::find_if(unanswered_.begin(), unanswered_.end(),
                             [&](const Unanswered& one) { return one.id == id; });
    if (said == unanswered_.end()) return;
    done = std::move(said->done);
    unanswered_.erase(said);
  }
  if (done) done(answer);
}

void Client::EndAll(const Error& why) {
  std::deque<Unanswered> left;
  {
    base::MutexLock lock(&mu_);
    ended_ = why;
    connected_ = false;
    left.swap(unanswered_);
  }
  for (Unanswered& said : left) {
    if (said.done) said.done(why);
  }
}

bool HoldsOnly(std::string_view text, std::string_view marks) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
}

}  // namespace
}  // namespace holdfast::sdk

namespace holdfast {

Result<std::unique_ptr<AgentNetwork>> StartAgentNetwork() {
  HF_TRY(auto loop, sdk::Loop::Open());
  return std::make_unique<sdk::Network>(std::move(loop));
}

Result<std::unique_ptr<AgentClient>> OpenAgentClient(AgentNetwork* network, AgentClientOptions options) {
  HF_TRY(sdk::Address address, sdk::ParseServerUrl(options.server.url));
  if (!sdk::HoldsOnly(options.session, "_-:"))
    return ValidationError("a session is named user:agent:thread, each of A-Z a-z 0-9 _ -");
  if (!sdk::HoldsOnly(options.device, "_-") || options.device.size() > 64)
    return ValidationError("a device is named by 1 to 64 of A-Z a-z 0-9 _ -");
  return std::make_unique<sdk::Client>(static_cast<sdk::Network*>(network)->loop(), std::move(options),
                                       std::move(address));
}

}  // namespace holdfast
