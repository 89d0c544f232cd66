#include <gtest/gtest.h>

#include <future>

#include "holdfast/agent.h"
#include "holdfast/ops/common.h"
#include "sdk/testing.h"

namespace holdfast::sdk {
namespace {

using testing::Connection;
using testing::NumberOf;
using testing::TextOf;

std::string Message(int64_t n) {
  std::string number = std::to_string(n);
  return net::EncodeFrame(net::Opcode::kText, R"({"t":"msg","n":)" + number + R"(,"id":"ann:guide:t1/17/)" +
                                                  number + R"(","auto":true,"content":"m)" + number +
                                                  R"(","at":5})");
}
std::string Ready(int64_t n, int64_t ack) {
  return net::EncodeFrame(net::Opcode::kText, R"({"t":"ready","n":)" + std::to_string(n) + R"(,"ack":)" +
                                                  std::to_string(ack) + "}");
}

class AgentClientTest : public ::testing::Test {
 protected:
  AgentClientTest() : network_(*StartAgentNetwork()) {
    options_.server = {.url = server_.url(), .token = "secret"};
    options_.session = "ann:guide:t1";
    options_.on_message = [this](const AgentMessage& message) {
      shown_ += std::string(message.content) + " ";
    };
  }

  void Open() {
    auto opened = OpenAgentClient(network_.get(), options_);
    ASSERT_TRUE(opened) << opened.error().ToString();
    client_ = *std::move(opened);
  }
  // The next connection; the first line of its request.
  std::string Connect(std::string_view frames) {
    connection_ = server_.Next();
    connection_->Accept(frames);
    return connection_->head().substr(0, connection_->head().find("\r\n"));
  }
  int64_t ReceiveAck() {
    Item ack = connection_->Receive();
    return TextOf(ack, "t") == "ack" ? NumberOf(ack, "n") : -1;
  }
  // What was shown; nothing more is after this.
  std::string Shown() {
    client_.reset();
    return shown_;
  }

  testing::Server server_;
  std::unique_ptr<AgentNetwork> network_;
  AgentClientOptions options_;
  std::unique_ptr<Connection> connection_;
  std::string shown_;  // of the network's thread while there is a client
  std::unique_ptr<AgentClient> client_;
};

// The place in the session is the server's to remember, until the client knows it itself.
TEST_F(AgentClientTest, ShowsEachMessageOnceAndInOrder) {
  Open();
  EXPECT_EQ(Connect(Ready(43, 41) + Message(42) + Message(43)),
            "GET /v1/connect?session=ann:guide:t1&device=default HTTP/1.1");
  EXPECT_EQ(ReceiveAck(), 43) << "one for both";
  connection_->SendRaw(Message(42) + Message(43) + Message(44));  // the server repeats itself
  EXPECT_EQ(ReceiveAck(), 44);
  EXPECT_EQ(client_->cursor(), 44);
  connection_.reset();
  EXPECT_EQ(Connect(Ready(45, 44) + Message(45)),
            "GET /v1/connect?session=ann:guide:t1&device=default&after=44 HTTP/1.1");
  EXPECT_EQ(ReceiveAck(), 45);
  EXPECT_EQ(Shown(), "m42 m43 m44 m45 ");
}

TEST_F(AgentClientTest, AfterAGapItAsksForWhatIsMissing) {
  options_.after = 7;
  options_.device = "web";
  Open();
  Connect(Ready(10, 7) + Message(8) + Message(10));
  EXPECT_EQ(Connect(Ready(10, 7) + Message(9) + Message(10)),
            "GET /v1/connect?session=ann:guide:t1&device=web&after=8 HTTP/1.1");
  EXPECT_EQ(ReceiveAck(), 10);
  EXPECT_EQ(Shown(), "m8 m9 m10 ");
}

// A message that will never come must not stop the others.
TEST_F(AgentClientTest, ASkippedNumberCountsAsShown) {
  Open();
  Connect(Ready(3, 0) + Message(1) + net::EncodeFrame(net::Opcode::kText, R"({"t":"skip","n":2})") +
          Message(3));
  EXPECT_EQ(ReceiveAck(), 3);
  EXPECT_EQ(Shown(), "m1 m3 ");
}

TEST_F(AgentClientTest, AMessageTellsWhereItComesFrom) {
  std::promise<std::string> told;
  options_.on_message = [&](const AgentMessage& message) {
    told.set_value(std::to_string(message.n) + " " + std::string(message.id) + " " +
                   (message.autonomous ? "auto " : "") + std::to_string(message.at_millis));
  };
  std::promise<std::string> state;
  options_.on_state = [&](std::string_view now) { state.set_value(std::string(now)); };
  Open();
  Connect(Ready(1, 0) + Message(1));
  EXPECT_EQ(told.get_future().get(), "1 ann:guide:t1/17/1 auto 5");
  connection_->Send(R"({"t":"state","st":"paused"})");
  EXPECT_EQ(state.get_future().get(), "paused");
  client_->StopTurn();
  EXPECT_EQ(ReceiveAck(), 1);
  EXPECT_EQ(connection_->ReceiveText(), R"({"t":"stop"})");
}

// What the server had already must not become a second message.
TEST_F(AgentClientTest, WhatWasNotAnsweredIsSentAgainUnderItsName) {
  Open();
  std::promise<Result<SentMessage>> first, second;
  client_->Send("hi \"you\"", [&](Result<SentMessage> sent) { first.set_value(std::move(sent)); });
  Connect(Ready(0, 0));
  std::string said = connection_->ReceiveText();
  Item user = *json::ReadPlainItem(said);
  EXPECT_EQ(TextOf(user, "t"), "user");
  EXPECT_EQ(TextOf(user, "text"), "hi \"you\"");
  connection_.reset();
  Connect(Ready(0, 0));
  EXPECT_EQ(connection_->ReceiveText(), said);
  connection_->Send(R"({"t":"ok","id":")" + TextOf(user, "id") + R"(","seq":19,"duplicate":true})");
  Result<SentMessage> sent = first.get_future().get();
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->seq, 19);
  EXPECT_TRUE(sent->duplicate);

  client_->Send("", [&](Result<SentMessage> refused) { second.set_value(std::move(refused)); });
  Item empty = connection_->Receive();
  EXPECT_NE(TextOf(empty, "id"), TextOf(user, "id"));
  connection_->Send(R"({"t":"error","id":")" + TextOf(empty, "id") +
                    R"(","status":400,"error":"ValidationError","message":"no text"})");
  Result<SentMessage> refused = second.get_future().get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail()->refusal.name, "ValidationError");
}

TEST_F(AgentClientTest, ARefusalForGoodEndsIt) {
  std::promise<std::string> ended, answered, late;
  options_.on_end = [&](const Error& why) { ended.set_value(why.detail()->refusal.name); };
  Open();
  client_->Send("hi", [&](Result<SentMessage> sent) { answered.set_value(sent.error().message()); });
  auto connection = server_.Next();
  connection->SendRaw(
      "HTTP/1.1 404 Not Found\r\ncontent-length: 48\r\n\r\n"
      R"({"error":"NotFound","message":"no such session"})");
  EXPECT_EQ(ended.get_future().get(), "NotFound");
  EXPECT_EQ(answered.get_future().get(), "no such session");
  client_->Send("still there?", [&](Result<SentMessage> sent) { late.set_value(sent.error().message()); });
  EXPECT_EQ(late.get_future().get(), "no such session");
}

// Whoever waits for an answer learns that there will be none.
TEST_F(AgentClientTest, TheEndOfAClientIsAnAnswerToo) {
  Open();
  std::promise<ErrorCode> answered;
  client_->Send("hi", [&](Result<SentMessage> sent) { answered.set_value(sent.error().code()); });
  client_.reset();
  EXPECT_EQ(answered.get_future().get(), ErrorCode::kIo);
}

// One thread serves them all, and what one says in another's callback is said at once.
TEST_F(AgentClientTest, ManyShareANetwork) {
  constexpr int kClients = 20;
  std::vector<std::unique_ptr<AgentClient>> clients(kClients);
  std::vector<std::unique_ptr<Connection>> connections;
  std::promise<void> all;
  for (int i = 0; i < kClients; ++i) {
    options_.session = "ann:guide:t" + std::to_string(i);
    options_.on_message = [&, i](const AgentMessage&) {
      if (i + 1 < kClients)
        clients[static_cast<size_t>(i) + 1]->Send("pass it on");
      else
        all.set_value();
    };
    clients[static_cast<size_t>(i)] = *OpenAgentClient(network_.get(), options_);
    connections.push_back(server_.Next());
    connections.back()->Accept(Ready(0, 0));
  }
  connections[0]->SendRaw(Message(1));
  for (size_t i = 1; i < kClients; ++i) {
    EXPECT_EQ(TextOf(connections[i]->Receive(), "text"), "pass it on");
    connections[i]->SendRaw(Message(1));
  }
  all.get_future().wait();
}

}  // namespace
}  // namespace holdfast::sdk
