// WebSockets on the real server, over real sockets.
#include "wire/channel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "wire/channel_testing.h"
#include "wire/http_server.h"

namespace holdfast::wire {
namespace {

using testing::Becomes;
using testing::Client;
using testing::ClientFrame;
using testing::WriteCertificate;

// Sends back what it is told; a few words do something else.
class Echo final : public ChannelHandler {
 public:
  void OnOpen(std::shared_ptr<Channel> channel) override {
    channel->Send("welcome");
    base::MutexLock lock(&mu_);
    channels_.push_back(std::move(channel));
  }
  void OnMessage(Channel* channel, std::string_view text) override {
    if (text == "leave") {
      channel->Send("as you wish");
      return channel->Close(4001, "asked to");
    }
    channel->Send(text);
  }
  void OnClosed(Channel* channel) override {
    EXPECT_FALSE(channel->Send("too late"));
    ++closed_;
  }

  std::vector<std::shared_ptr<Channel>> channels() {
    base::MutexLock lock(&mu_);
    return channels_;
  }
  int closed() const { return closed_; }

 private:
  base::Mutex mu_;
  std::vector<std::shared_ptr<Channel>> channels_ HF_GUARDED_BY(mu_);
  std::atomic<int> closed_{0};
};

class Upgrader final : public HttpHandler {
 public:
  Handled Handle(Exchange* exchange) override {
    if (exchange->request().path != "/later") {
      if (WantsWebSocket(exchange->request()))
        AcceptChannel(exchange->request(), "talk", echo, &exchange->response());
      return Handled::kDone;
    }
    later = std::thread([this, exchange] {
      AcceptChannel(exchange->request(), {}, echo, &exchange->response());
      exchange->Finish();
    });
    return Handled::kPending;
  }
  void Durable(Exchange*, const Status&) override {}
  void Connected(int) override {}
  void Answered(Exchange*, size_t, size_t) override {}

  std::shared_ptr<Echo> echo = std::make_shared<Echo>();
  std::thread later;
};

class ChannelTest : public ::testing::Test {
 protected:
  void Start(HttpServerOptions options = {}) {
    options.port = 0;
    server_ = *HttpServer::Start(options, &handler_, &log_);
  }
  void StartTls() {
    std::string base = ::testing::TempDir() + "holdfast-channel-" + std::to_string(::getpid());
    WriteCertificate(base + ".crt", base + ".key");
    Start({.io_threads = 1, .tls_certificate = base + ".crt", .tls_key = base + ".key"});
    std::remove((base + ".crt").c_str());
    std::remove((base + ".key").c_str());
  }
  void TearDown() override {
    if (handler_.later.joinable()) handler_.later.join();
    server_.reset();
  }
  // A client that has been welcomed.
  std::unique_ptr<Client> Open(bool tls = false, int receive_buffer = 0) {
    auto client = std::make_unique<Client>(server_->port(), tls, receive_buffer);
    EXPECT_TRUE(client->Upgrade().starts_with("HTTP/1.1 101 "));
    EXPECT_EQ(client->ReceiveText(), "welcome");
    return client;
  }
  Echo& echo() { return *handler_.echo; }

  base::Log log_{base::LogLevel::kNone};
  Upgrader handler_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(ChannelTest, AConnectionBecomesAWebSocket) {
  Start();
  Client client(server_->port());
  client.SendRaw("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(client.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 200 OK")) << "plain HTTP before it";
  std::string head = client.Upgrade("/", "Sec-WebSocket-Protocol: talk\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << head;
  EXPECT_NE(head.find("\r\nConnection: Upgrade\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("\r\nUpgrade: websocket\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), std::string::npos)
      << head;
  EXPECT_NE(head.find("\r\nSec-WebSocket-Protocol: talk\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("Content-Length"), std::string::npos) << head;
  EXPECT_EQ(client.ReceiveText(), "welcome");
  for (size_t size : {0, 1, 125, 126, 70'000, 1 << 20}) {
    std::string text(size, 'x');
    ASSERT_TRUE(client.Send(text));
    Client::Message answer = client.Receive();
    EXPECT_EQ(answer.opcode, Opcode::kText);
    EXPECT_EQ(answer.payload, text);
  }
  client.SendRaw(ClientFrame(Opcode::kPing, "there?"));
  EXPECT_EQ(client.Receive().payload, "there?");
}

TEST_F(ChannelTest, ItMayBeAnsweredByAnotherThreadAndFramesMayComeEarly) {
  Start();
  Client client(server_->port());
  EXPECT_TRUE(client.Upgrade("/later").starts_with("HTTP/1.1 101 "));
  EXPECT_EQ(client.ReceiveText(), "welcome");
  Client hasty(server_->port());
  hasty.SendRaw(
      "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
      "13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" +
      ClientFrame(Opcode::kText, "at once"));
  hasty.ReadUntil("\r\n\r\n");
  EXPECT_EQ(hasty.ReceiveText(), "welcome");
  EXPECT_EQ(hasty.ReceiveText(), "at once");
}

TEST_F(ChannelTest, AnImproperHandshakeIsRefused) {
  Start();
  Client client(server_->port());
  client.SendRaw(
      "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  std::string head = client.ReadUntil("\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 426 Upgrade Required\r\n")) << head;
  EXPECT_NE(head.find("\r\nSec-WebSocket-Version: 13\r\n"), std::string::npos) << head;
}

TEST_F(ChannelTest, EitherSideMayEndIt) {
  Start();
  auto leaver = Open(), left = Open(), rude = Open(), gone = Open();
  leaver->SendRaw(ClientFrame(Opcode::kClose,
                              "\x0f\xa0"
                              "bye"));
  EXPECT_EQ(leaver->ReceiveClose(), 4000) << "the code comes back";
  EXPECT_EQ(leaver->Receive().opcode, Opcode::kContinuation) << "then the connection ends";
  left->Send("leave");
  left->Send("not heard any more");
  EXPECT_EQ(left->ReceiveText(), "as you wish");
  EXPECT_EQ(left->ReceiveClose(), 4001);
  rude->SendRaw(EncodeFrame(Opcode::kText, "not masked"));
  EXPECT_EQ(rude->ReceiveClose(), kCloseProtocolError);
  gone.reset();
  EXPECT_TRUE(Becomes([&] { return echo().closed() == 4; }));
  auto binary = Open();
  binary->SendRaw(ClientFrame(Opcode::kBinary, "b"));
  EXPECT_EQ(binary->ReceiveClose(), kCloseUnsupported);
}

// A peer that does not read must cost a bounded amount of memory, and nobody else anything.
TEST_F(ChannelTest, APeerThatDoesNotReadIsCutOffAndOthersAreNot) {
  Start({.io_threads = 1});
  auto deaf = Open(false, 4096), other = Open();
  Frame frame = TextFrame(std::string(100'000, 'x'));
  std::shared_ptr<Channel> channel = echo().channels()[0];
  ASSERT_TRUE(Becomes([&] { return !channel->Send(frame); }));
  EXPECT_TRUE(Becomes([&] { return echo().closed() == 1; })) << "its handler is told at once";
  EXPECT_LE(frame.use_count(), 2) << "and what waited is let go";
  EXPECT_EQ(channel->waiting_bytes(), 0u);
  other->Send("still here");
  EXPECT_EQ(other->ReceiveText(), "still here");
  EXPECT_EQ(deaf->ReceiveClose(), kCloseTryLater) << "when it wakes up, it reads why";
}

// Whoever paces itself by the channel is told when there is room: else it would wait for ever.
TEST_F(ChannelTest, ThereIsRoomAgainWhenThePeerHasRead) {
  class Pacer final : public ChannelHandler {
   public:
    void OnOpen(std::shared_ptr<Channel> channel) override { OnRoom(channel.get()); }
    void OnMessage(Channel*, std::string_view) override {}
    void OnRoom(Channel* channel) override {
      while (left > 0 && channel->waiting_bytes() < kRoomBytes) {
        channel->Send(std::string(50'000, 'x'));
        --left;
      }
    }
    void OnClosed(Channel*) override {}
    int left = 400;
  };
  class PacingHandler final : public HttpHandler {
   public:
    Handled Handle(Exchange* exchange) override {
      AcceptChannel(exchange->request(), {}, std::make_shared<Pacer>(), &exchange->response());
      return Handled::kDone;
    }
    void Durable(Exchange*, const Status&) override {}
    void Connected(int) override {}
    void Answered(Exchange*, size_t, size_t) override {}
  };
  PacingHandler handler;
  auto server = *HttpServer::Start({.port = 0}, &handler, &log_);
  Client client(server->port());
  client.Upgrade();
  for (int i = 0; i < 400; ++i) ASSERT_EQ(client.ReceiveText().size(), 50'000u) << i;
}

TEST_F(ChannelTest, ManyThreadsMaySendAndOneFrameServesAll) {
  Start({.io_threads = 2});
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(Open());
  constexpr int kThreads = 4, kEach = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        Frame frame = TextFrame(std::to_string(t * kEach + i));
        for (auto& channel : echo().channels()) EXPECT_TRUE(channel->Send(frame));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& client : clients) {
    std::vector<int> last(kThreads, -1);
    for (int i = 0; i < kThreads * kEach; ++i) {
      int number = std::stoi(client->ReceiveText());
      EXPECT_GT(number % kEach, last[static_cast<size_t>(number / kEach)]) << "in the order of its thread";
      last[static_cast<size_t>(number / kEach)] = number % kEach;
    }
  }
}

TEST_F(ChannelTest, ItSpeaksThroughTls) {
  StartTls();
  auto client = Open(/*tls=*/true);
  for (size_t size : {3, 70'000, 1 << 20}) {
    ASSERT_TRUE(client->Send(std::string(size, 'x')));
    EXPECT_EQ(client->ReceiveText().size(), size);
  }
  client->SendRaw(ClientFrame(Opcode::kClose, "\x03\xe8"));
  EXPECT_EQ(client->ReceiveClose(), kCloseNormal);
  EXPECT_TRUE(Becomes([&] { return echo().closed() == 1; }));
}

// What one client does to its own TLS must not be taken for something that another did.
TEST_F(ChannelTest, GarbageOfOneClientDoesNotEndAnothers) {
  StartTls();
  auto client = Open(/*tls=*/true);
  Client garbage(server_->port());
  garbage.SendRaw("this is no TLS at all, and long enough to be sure of it\r\n\r\n");
  EXPECT_EQ(garbage.Receive().opcode, Opcode::kContinuation);
  for (int i = 0; i < 3; ++i) {
    client->Send("still here");
    ASSERT_EQ(client->ReceiveText(), "still here");
  }
}

// The idle limit of HTTP does not end a WebSocket; not answering pings does.
TEST_F(ChannelTest, ItLivesAsLongAsItAnswersPings) {
  Start({.idle_seconds_max = 1, .ping_millis = 1, .silence_millis_max = 1'000});
  auto alive = Open(), dead = Open();
  for (int i = 0; i < 4; ++i) {  // a ping every half second
    ASSERT_EQ(alive->Receive().opcode, Opcode::kPing);
    alive->SendRaw(ClientFrame(Opcode::kPong, ""));
  }
  EXPECT_TRUE(Becomes([&] { return echo().closed() == 1; }));
  alive->Send("here");
  while (true) {
    Client::Message message = alive->Receive();
    if (message.opcode == Opcode::kPing) continue;
    EXPECT_EQ(message.payload, "here");
    break;
  }
}

TEST_F(ChannelTest, AServerThatStopsSaysSo) {
  Start();
  auto client = Open();
  std::thread draining([&] { server_->Drain(20'000); });
  EXPECT_EQ(client->ReceiveClose(), kCloseGoingAway);
  client.reset();
  draining.join();
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(echo().closed(), 1);
}

// A server that is destroyed without draining still tells its handlers, and channels survive it.
TEST_F(ChannelTest, AChannelOutlivesItsServer) {
  Start();
  auto client = Open();
  server_.reset();
  EXPECT_EQ(echo().closed(), 1);
  EXPECT_FALSE(echo().channels()[0]->Send("anybody?"));
}

}  // namespace
}  // namespace holdfast::wire
