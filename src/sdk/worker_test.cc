#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "holdfast/agent.h"
#include "holdfast/ops/common.h"
#include "sdk/testing.h"

namespace holdfast::sdk {
namespace {

using testing::Connection;
using testing::NumberOf;
using testing::TextOf;

constexpr std::string_view kSession = "ann:guide:t1";

// Work as the server gives it: one message of the user's.
std::string Work(int64_t seq, std::string_view session = kSession, int64_t epoch = 7) {
  return R"("session":")" + std::string(session) + R"(","epoch":)" + std::to_string(epoch) +
         R"(,"lease_until":1,"checkpoint":{"seq":1,"data":{"count":4,"name":"Zoë"}},"events":[{"seq":)" +
         std::to_string(seq) +
         R"(,"id":"e","type":"user_message","payload":{"text":"hi"},"at":99,"origin":"user"}],)"
         R"("state":{"auto_n":0,"auto_at":null,"n_tail":5},"policy":{"cap":3})";
}
std::string WorkFrame(int64_t seq, std::string_view session = kSession, int64_t epoch = 7) {
  return R"({"t":"work",)" + Work(seq, session, epoch) + "}";
}
std::string CommittedFrame(const Item& commit, std::string_view more = R"("next":null)") {
  return R"({"t":"committed","id":)" + std::to_string(NumberOf(commit, "id")) +
         R"(,"session":"ann:guide:t1","seq":2,"messages":[6],"suppressed":[],)" + std::string(more) + "}";
}

// A worker on a thread of its own, and the server that it talks to.
class AgentWorkerTest : public ::testing::Test {
 protected:
  AgentWorkerTest() {
    options_.server = {.url = server_.url(), .token = "secret"};
    options_.name = "w1";
    options_.agents = {"guide", "clerk"};
  }
  ~AgentWorkerTest() override { static_cast<void>(End()); }

  void Start(TurnHandler handler) {
    auto opened = OpenAgentWorker(options_, std::move(handler));
    ASSERT_TRUE(opened) << opened.error().ToString();
    worker_ = *std::move(opened);
    thread_ = std::thread([this] { ended_ = worker_->Run(); });
  }
  Status End() {
    connection_.reset();  // it need not wait for answers
    if (thread_.joinable()) {
      worker_->Stop();
      thread_.join();
    }
    return ended_;
  }
  // The next connection after its hello, which it returns.
  Item Connect() {
    connection_ = server_.Next();
    connection_->Accept();
    Item hello = connection_->Receive();
    connection_->Send(R"({"t":"ready"})");
    return hello;
  }
  Item Receive() { return connection_->Receive(); }
  // What comes after the heartbeats that a slow machine sends before it.
  Item ReceiveOther() {
    Item message = Receive();
    while (TextOf(message, "t") == "hb") message = Receive();
    return message;
  }
  void Send(std::string_view text) { connection_->Send(text); }

  testing::Server server_;
  AgentWorkerOptions options_;
  std::unique_ptr<AgentWorker> worker_;
  std::unique_ptr<Connection> connection_;
  std::thread thread_;
  Status ended_ = Ok{};
};

TEST_F(AgentWorkerTest, SaysWhoItIs) {
  options_.credit = 3;
  Start([](Turn&) { return OkStatus(); });
  Item hello = Connect();
  EXPECT_EQ(connection_->head().substr(0, 26), "GET /v1/work/ws HTTP/1.1\r\n");
  EXPECT_NE(connection_->head().find("\r\nAuthorization: Bearer secret\r\n"), std::string::npos);
  EXPECT_EQ(hello, (Item{{"t", "hello"},
                         {"worker", "w1"},
                         {"agents", AttributeValue::List({"guide", "clerk"})},
                         {"credit", 3},
                         {"lease_ms", 30'000}}));
}

// The whole of a turn: what the handler is given, and what the server is told of it.
TEST_F(AgentWorkerTest, ATurnIsCommittedAsAWhole) {
  Start([](Turn& turn) -> Status {
    const AgentEvent& event = turn.events().at(0);
    EXPECT_EQ(turn.session(), kSession);
    EXPECT_EQ(event.seq, 2);
    EXPECT_EQ(event.id, "e");
    EXPECT_EQ(event.type, "user_message");
    EXPECT_EQ(event.at_millis, 99);
    EXPECT_FALSE(event.autonomous);
    EXPECT_EQ(event.payload, (Item{{"text", "hi"}}));
    EXPECT_EQ(turn.state(), (Item{{"count", 4}, {"name", "Zoë"}}));
    turn.SetState({{"count", 5}});
    EXPECT_EQ(turn.state(), (Item{{"count", 5}}));
    turn.Send("You said: \"hi\"");
    turn.Send("once", Delivery::kAtMostOnce);
    turn.ScheduleTimer({.timer_id = "soon", .delay_millis = 50, .payload = {{"k", 1}}});
    turn.ScheduleTimer({.timer_id = "then", .at_millis = 1234, .keep = true});
    turn.CancelTimer("old");
    turn.Webhook("http://hook", {{"a", true}});
    return Ok{};
  });
  Connect();
  Send(WorkFrame(2));
  Item commit = Receive();
  EXPECT_EQ(TextOf(commit, "token").size(), 38u);
  commit.Remove("token");
  using Map = AttributeMap;
  auto map = [](Map members) { return AttributeValue::Map(std::move(members)); };
  EXPECT_EQ(
      commit,
      (Item{{"t", "commit"},
            {"id", 1},
            {"session", "ann:guide:t1"},
            {"epoch", 7},
            {"upto", 2},
            {"then", "next"},
            {"checkpoint", map({{"count", 5}})},
            {"effects",
             AttributeValue::List(
                 {map({{"type", "send_message"}, {"content", "You said: \"hi\""}}),
                  map({{"type", "send_message"}, {"content", "once"}, {"delivery", "at_most_once"}}),
                  map({{"type", "schedule_timer"},
                       {"timer_id", "soon"},
                       {"delay_ms", 50},
                       {"payload", map({{"k", 1}})}}),
                  map({{"type", "schedule_timer"}, {"timer_id", "then"}, {"fire_at", 1234}, {"keep", true}}),
                  map({{"type", "cancel_timer"}, {"timer_id", "old"}}),
                  map({{"type", "webhook"}, {"url", "http://hook"}, {"body", map({{"a", true}})}})})}}));
}

TEST_F(AgentWorkerTest, AStateThatNobodyTouchedStaysAsItIs) {
  Start([](Turn&) { return OkStatus(); });
  Connect();
  Send(WorkFrame(2));
  EXPECT_EQ(Receive().Get("checkpoint")->AsMap().at("count").AsInt64(), 4);
}

// The next events come with the answer to a commit, or by themselves: both are turns of the same session.
TEST_F(AgentWorkerTest, TheNextEventsAreTakenFromTheAnswer) {
  std::promise<TurnOutcome> told;
  options_.on_committed = [&, first = true](const TurnOutcome& outcome) mutable {
    if (std::exchange(first, false)) told.set_value(outcome);
  };
  Start([](Turn&) { return OkStatus(); });
  Connect();
  Send(WorkFrame(2));
  Item first = Receive();
  Send(CommittedFrame(first, R"("suppressed":[{"i":1,"reason":"cap"}],"next":{)" + Work(3) + "}"));
  EXPECT_EQ(NumberOf(Receive(), "upto"), 3);
  TurnOutcome outcome = told.get_future().get();
  EXPECT_EQ(outcome.session, kSession);
  EXPECT_EQ(outcome.seq, 2);
  EXPECT_EQ(outcome.messages, std::vector<int64_t>{6});
  ASSERT_EQ(outcome.suppressed.size(), 1u);
  EXPECT_EQ(outcome.suppressed[0].i, 1);
  EXPECT_EQ(outcome.suppressed[0].reason, "cap");
}

// The server may or may not have carried it out: the same token tells it which.
TEST_F(AgentWorkerTest, ACommitWhoseAnswerWasLostIsSentAgain) {
  Start([](Turn&) { return OkStatus(); });
  Connect();
  Send(WorkFrame(2));
  std::string commit = connection_->ReceiveText();
  connection_.reset();
  Connect();
  EXPECT_EQ(connection_->ReceiveText(), commit);
  Send(CommittedFrame(*json::ReadPlainItem(commit)));
  Send(WorkFrame(9, "ann:guide:t2"));
  EXPECT_EQ(NumberOf(Receive(), "upto"), 9) << "what was answered is not sent a third time";
}

TEST_F(AgentWorkerTest, AFencedTurnIsForgotten) {
  Start([](Turn&) { return OkStatus(); });
  Connect();
  Send(WorkFrame(2));
  Receive();
  Send(R"({"t":"fenced","id":1,"session":"ann:guide:t1","epoch":7,"message":"epoch 8"})");
  Send(WorkFrame(3, kSession, 9));
  Item commit = Receive();
  EXPECT_EQ(NumberOf(commit, "upto"), 3);
  connection_.reset();
  Connect();
  EXPECT_EQ(NumberOf(Receive(), "upto"), 3) << "of the two only the one without an answer";
}

TEST_F(AgentWorkerTest, WhatFailsIsGivenBack) {
  Start([](Turn& turn) -> Status {
    if (turn.events()[0].seq == 1) return ValidationError("no idea");
    if (turn.events()[0].seq == 2) throw std::runtime_error("thrown");
    if (turn.events()[0].seq == 3) turn.SetState({{"n", AttributeValue::Number("no number")}});
    return Ok{};
  });
  Connect();
  for (auto [seq, why] : {std::pair{1, "no idea"}, {2, "thrown"}, {3, "number"}}) {
    Send(WorkFrame(seq));
    Item release = Receive();
    EXPECT_EQ(TextOf(release, "t"), "release");
    EXPECT_EQ(TextOf(release, "session"), kSession);
    EXPECT_EQ(NumberOf(release, "epoch"), 7);
    EXPECT_NE(TextOf(release, "error").find(why), std::string::npos) << TextOf(release, "error");
    Send(R"({"t":"released","id":)" + std::to_string(NumberOf(release, "id")) + "}");
  }
}

// A refusal that lasts ends the turn; one that passes does not.
TEST_F(AgentWorkerTest, ARefusedCommitIsTriedAgainOrGivenBack) {
  Start([](Turn&) { return OkStatus(); });
  Connect();
  Send(WorkFrame(2));
  std::string commit = connection_->ReceiveText();
  Send(
      R"({"t":"error","id":1,"session":"ann:guide:t1","status":503,"error":"Unavailable","message":"busy"})");
  EXPECT_EQ(connection_->ReceiveText(), commit);
  Send(
      R"({"t":"error","id":1,"session":"ann:guide:t1","status":409,"error":"Rejected","message":"cap","details":{}})");
  Item release = Receive();
  EXPECT_EQ(TextOf(release, "t"), "release");
  EXPECT_EQ(TextOf(release, "error"), "Rejected: cap");
  Send(WorkFrame(3));
  Item gone = Receive();
  Send(R"({"t":"error","id":)" + std::to_string(NumberOf(gone, "id")) +
       R"(,"status":410,"error":"Gone","message":"deleted"})");
  Send(WorkFrame(4, "ann:guide:t2"));
  EXPECT_EQ(NumberOf(Receive(), "upto"), 4) << "a deleted session takes nothing back";
}

// A handler that takes long holds the reading thread, and yet the server hears that it lives.
TEST_F(AgentWorkerTest, LeasesAreKeptWhileATurnRuns) {
  options_.lease_millis = 1000;
  std::promise<void> go;
  Start([&](Turn&) -> Status {
    go.get_future().wait();
    return Ok{};
  });
  Connect();
  Send(WorkFrame(2));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(connection_->ReceiveText(), R"({"t":"hb","leases":[{"session":"ann:guide:t1","epoch":7}]})");
  }
  go.set_value();
  EXPECT_EQ(TextOf(ReceiveOther(), "t"), "commit");
}

TEST_F(AgentWorkerTest, ATurnIsToldThatItIsNotWantedAnyMore) {
  options_.threads = 2;
  options_.lease_millis = 1000;
  Start([](Turn& turn) -> Status {
    while (!turn.cancelled()) std::this_thread::yield();
    return Ok{};
  });
  Connect();
  Send(WorkFrame(2));
  Send(R"({"t":"cancel","session":"ann:guide:t1","epoch":6,"reason":"stop"})");  // of an earlier turn
  EXPECT_EQ(TextOf(Receive(), "t"), "hb") << "it runs on";
  Send(R"({"t":"cancel","session":"ann:guide:t1","epoch":7,"reason":"user_message"})");
  EXPECT_EQ(TextOf(ReceiveOther(), "t"), "commit") << "what it has may still be committed";
  Send(WorkFrame(3, "ann:guide:t2"));
  EXPECT_EQ(TextOf(Receive(), "t"), "hb");
  Send(R"({"t":"hb","ok":[],"lost":[{"session":"ann:guide:t2","epoch":7}]})");
  Send(WorkFrame(4, "ann:guide:t3"));
  Send(R"({"t":"cancel","session":"ann:guide:t3","epoch":7,"reason":"stop"})");
  EXPECT_EQ(TextOf(ReceiveOther(), "session"), "ann:guide:t3") << "what is lost is not committed";
}

// With threads of their own turns do not wait for each other.
TEST_F(AgentWorkerTest, TurnsRunBesideEachOther) {
  options_.threads = 2;
  std::promise<void> second;
  Start([&](Turn& turn) -> Status {
    if (turn.session().ends_with("t1"))
      second.get_future().wait();
    else
      second.set_value();
    return Ok{};
  });
  Connect();
  Send(WorkFrame(2, "ann:guide:t1"));
  Send(WorkFrame(2, "ann:guide:t2"));
  EXPECT_NE(TextOf(Receive(), "session"), TextOf(Receive(), "session"));
}

// Nothing that runs is cut off, and nothing that waits is kept from others.
TEST_F(AgentWorkerTest, StopFinishesWhatRunsAndGivesBackWhatWaits) {
  std::promise<void> runs, go;
  Start([&](Turn&) -> Status {
    runs.set_value();
    go.get_future().wait();
    return Ok{};
  });
  Connect();
  connection_->SendRaw(net::EncodeFrame(net::Opcode::kText, WorkFrame(2, "ann:guide:t1")) +
                       net::EncodeFrame(net::Opcode::kText, WorkFrame(2, "ann:guide:t2")));
  runs.get_future().wait();
  worker_->Stop();
  go.set_value();
  Item commit = Receive();
  EXPECT_EQ(TextOf(commit, "t"), "commit");
  EXPECT_EQ(TextOf(commit, "then"), "release");
  Item release = Receive();
  EXPECT_EQ(TextOf(release, "t"), "release");
  EXPECT_EQ(TextOf(release, "session"), "ann:guide:t2");
  EXPECT_FALSE(release.Has("error")) << "it did not fail";
  Send(CommittedFrame(commit));
  Send(R"({"t":"released","id":)" + std::to_string(NumberOf(release, "id")) + "}");
  EXPECT_EQ(connection_->ReceiveText(), "") << "then it goes";
  EXPECT_TRUE(End());
}

TEST_F(AgentWorkerTest, ARefusalForGoodEndsIt) {
  Start([](Turn&) { return OkStatus(); });
  constexpr std::string_view kBody =
      R"({"error":"Unauthenticated","message":"no such token","requestId":"r"})";
  auto answer = [&](std::string_view status) {
    auto connection = server_.Next();
    connection->SendRaw("HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " +
                        std::to_string(kBody.size()) + "\r\n\r\n" + std::string(kBody));
    return connection;
  };
  answer("503 Service Unavailable");  // it tries again
  auto connection = answer("401 Unauthorized");
  thread_.join();
  ASSERT_FALSE(ended_);
  EXPECT_EQ(ended_.error().code(), ErrorCode::kRefused);
  EXPECT_EQ(ended_.error().message(), "no such token");
  EXPECT_EQ(ended_.error().detail()->refusal.name, "Unauthenticated");
  EXPECT_EQ(ended_.error().detail()->refusal.http_status, 401);
}

TEST_F(AgentWorkerTest, OptionsThatMakeNoSenseAreRefused) {
  auto refused = [&](auto change) {
    AgentWorkerOptions options = options_;
    change(&options);
    auto opened = OpenAgentWorker(options, [](Turn&) { return OkStatus(); });
    return opened ? "" : std::string(ErrorName(opened.error().code()));
  };
  EXPECT_EQ(refused([](auto*) {}), "");
  EXPECT_EQ(refused([](auto* o) { o->agents.clear(); }), "ValidationException");
  EXPECT_EQ(refused([](auto* o) { o->credit = 0; }), "ValidationException");
  EXPECT_EQ(refused([](auto* o) { o->lease_millis = 10; }), "ValidationException");
  EXPECT_EQ(refused([](auto* o) { o->server.url = "127.0.0.1:8000"; }), "ValidationException");
  EXPECT_EQ(refused([](auto* o) { o->server.url = "http://host:80x"; }), "ValidationException");
  EXPECT_EQ(refused([](auto* o) { o->server.url = "http://host/\r\nX: y"; }), "ValidationException");
  EXPECT_EQ(refused([](auto* o) { o->server.url = "wss://host"; }), ErrorName(ErrorCode::kNotSupported));
  EXPECT_EQ(refused([](auto* o) { o->server.url = "ws://[::1]:8000/behind/"; }), "");
}

}  // namespace
}  // namespace holdfast::sdk
