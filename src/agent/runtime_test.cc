// The runtime on a database in memory: what a user, a worker and a device see of it.
#include "agent/runtime.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "agent/testing.h"
#include "model/refusal.h"

namespace holdfast::agent {
namespace {

// A lack of capacity is told as that, and not as the server's own fault.
TEST_F(RuntimeTest, ALackOfCapacityIsThrottled) {
  ASSERT_TRUE(Say("ann:guide:t1", "hi"));
  std::vector<Work> work = Claim("guide");
  ASSERT_EQ(work.size(), 1U);
  UpdateTableRequest limit;
  limit.table_name = RuntimeOptions().table;
  limit.on_demand_throughput.emplace().max_write_request_units = 1;
  ASSERT_TRUE(database_->UpdateTable(limit));
  PutItemRequest fill;
  fill.table_name = RuntimeOptions().table;
  fill.item = Item{{"pk", "x"}, {"sk", "x"}, {"fill", std::string(390 * 1024, 'x')}};
  ASSERT_TRUE(database_->PutItem(fill));
  auto name = [](const auto& result) { return result ? "" : model::RefusalName(result.error()); };
  EXPECT_EQ(name(Say("ann:guide:t1", "there")), "Throttled");
  EXPECT_EQ(name(Commit(work[0], {Send("x")}, "c1")), "Throttled");
  EXPECT_EQ(name(Runtime::Await<Ok>([&](Done<Ok> done) {
              runtime_->Release({.session = "ann:guide:t1", .epoch = work[0].epoch}, std::move(done));
            })),
            "Throttled");
  EXPECT_EQ(name(Runtime::Await<SessionView>(
                [&](Done<SessionView> done) { runtime_->Pause("ann:guide:t1", std::move(done)); })),
            "Throttled");
}

TEST_F(RuntimeTest, AMessageIsAnsweredAndTold) {
  auto said = Say("ann:guide:t1", "hi", "m1");
  ASSERT_TRUE(said) << said.error().ToString();
  EXPECT_EQ(said->seq, 1);
  auto again = Say("ann:guide:t1", "hi", "m1");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->duplicate);
  EXPECT_EQ(again->seq, 1);

  std::vector<Work> work = Claim("guide");
  ASSERT_EQ(work.size(), 1U);
  ASSERT_EQ(work[0].events.size(), 1U);
  auto committed =
      Commit(work[0], {Send("You said: hi"), Send("You said: hi"), Timer("later", 60'000)}, "c1");
  ASSERT_TRUE(committed) << committed.error().ToString();
  EXPECT_EQ(committed->messages, std::vector<int64_t>{1});
  ASSERT_EQ(committed->suppressed.size(), 1U);
  EXPECT_EQ(committed->suppressed[0].reason, "duplicate");
  auto resent = Commit(work[0], {Send("You said: hi")}, "c1");
  ASSERT_TRUE(resent);
  EXPECT_EQ(resent->messages, std::vector<int64_t>{1});
  auto fenced = Commit(work[0], {Send("other")}, "c2");
  ASSERT_FALSE(fenced);
  EXPECT_EQ(model::RefusalName(fenced.error()), "Fenced");

  auto shown = std::make_shared<Shown>();
  ConnectionId device = runtime_->Connect({.session = "ann:guide:t1", .device = "web"}, shown);
  EXPECT_EQ(shown->Wait(2), (std::vector<std::string>{"ready 1 0", "1 You said: hi"}));
  EXPECT_EQ(Effects("ann:guide:t1")[0].status, "pending");
  runtime_->Acknowledge(device, 1);
  runtime_->Disconnect(device);
  auto view = Runtime::Await<CheckpointView>(
      [&](Done<CheckpointView> done) { runtime_->GetCheckpoint("ann:guide:t1", 0, std::move(done)); });
  ASSERT_TRUE(view);
  EXPECT_EQ(view->state.Get("turns")->AsInt64(), 1);
  // The second, equal one was dropped; the timer is set.
  std::vector<EffectView> effects = Effects("ann:guide:t1");
  ASSERT_EQ(effects.size(), 2U);
  EXPECT_EQ(effects[1].type, "schedule_timer");
  EXPECT_EQ(effects[1].status, "completed");
}

TEST_F(RuntimeTest, ATimerBecomesAnEventAndItsMessageIsAutonomous) {
  ASSERT_TRUE(Say("ann:guide:t1", "hi"));
  std::vector<Work> work = Claim("guide");
  ASSERT_TRUE(Commit(work[0], {Timer("follow", 30)}, "c1"));
  work = Claim("guide");
  ASSERT_EQ(work.size(), 1U);
  EXPECT_EQ(work[0].events[0].type, "timer");
  EXPECT_TRUE(work[0].events[0].autonomous);
  auto committed = Commit(work[0], {Send("Still there?"), Timer("again", 10)}, "c2");
  ASSERT_TRUE(committed) << committed.error().ToString();
  EXPECT_EQ(committed->messages, std::vector<int64_t>{1});
  work = Claim("guide");
  ASSERT_EQ(work.size(), 1U);
  committed = Commit(work[0], {Send("Hello?")}, "c3");
  ASSERT_TRUE(committed);
  ASSERT_EQ(committed->suppressed.size(), 1U);
  EXPECT_EQ(committed->suppressed[0].reason, "cooldown");
}

TEST_F(RuntimeTest, WhatAStoppedRuntimeLeftIsTakenUp) {
  ASSERT_TRUE(Say("ann:guide:t1", "hi"));
  Restart();
  std::vector<Work> work = Claim("guide");
  ASSERT_EQ(work.size(), 1U);
  ASSERT_TRUE(Commit(work[0], {Timer("soon", 50)}, "c1"));
  Restart();
  work = Claim("guide");
  ASSERT_EQ(work.size(), 1U);
  EXPECT_EQ(work[0].events[0].type, "timer");
  EXPECT_EQ(work[0].epoch, 2);
}

// A worker over a connection keeps its session between events. When the server dies, nobody can come back on
// that connection: the session must not wait for the rest of a long lease.
TEST_F(RuntimeTest, AKeptSessionDoesNotOutliveItsServer) {
  class Given final : public WorkerSink {
   public:
    void OnWork(const Work& work) override { given.set_value(work); }
    void OnCancel(const Cancel&) override {}
    std::promise<Work> given;
  };
  WorkerHello hello{.worker = "w", .agents = {"guide"}, .credit = 1, .lease_millis = 300'000};
  auto first = std::make_shared<Given>();
  runtime_->Attach(hello, first);
  ASSERT_TRUE(Say("ann:guide:t1", "hi"));
  Work work = first->given.get_future().get();
  ASSERT_TRUE(Commit(work, {}, "c1", /*release=*/false));
  Restart();
  auto second = std::make_shared<Given>();
  runtime_->Attach(hello, second);
  ASSERT_TRUE(Say("ann:guide:t1", "are you there?"));
  auto given = second->given.get_future();
  ASSERT_EQ(given.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(given.get().epoch, work.epoch + 1);
}

// AUTO-R-14: nothing is removed unless an operator asks for it; then what is old, processed and told is, and
// the newest checkpoint stays.
TEST_F(RuntimeTest, WhatIsOldAndOverIsRemovedWhenAskedFor) {
  for (int turn = 1; turn <= 3; ++turn) {
    ASSERT_TRUE(Say("ann:guide:t1", "hi " + std::to_string(turn), "m" + std::to_string(turn)));
    std::vector<Work> work = Claim("guide");
    ASSERT_EQ(work.size(), 1U);
    ASSERT_TRUE(Commit(work[0], {Send("answer " + std::to_string(turn))}, "c" + std::to_string(turn)));
  }
  ASSERT_TRUE(Say("ann:guide:t1", "not yet processed", "m4"));
  ASSERT_TRUE(Runtime::Await<Ok>(
      [&](Done<Ok> done) { runtime_->Acknowledge("ann:guide:t1", "web", 2, std::move(done)); }));

  Restart({.retention_millis = 1, .retain_every_millis = 20});
  auto events = [&] {
    return Runtime::Await<EventPage>(
               [&](Done<EventPage> done) { runtime_->ListEvents("ann:guide:t1", 0, 100, std::move(done)); })
        ->events;
  };
  auto messages = [&] {
    return Runtime::Await<MessagePage>([&](Done<MessagePage> done) {
             runtime_->ListMessages("ann:guide:t1", 0, 100, std::move(done));
           })
        ->messages;
  };
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while ((events().size() > 1 || messages().size() > 1) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].id, "m4");
  ASSERT_EQ(messages().size(), 1U);  // the third was not acknowledged
  EXPECT_EQ(messages()[0].n, 3);
  auto newest = Runtime::Await<CheckpointView>(
      [&](Done<CheckpointView> done) { runtime_->GetCheckpoint("ann:guide:t1", 0, std::move(done)); });
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->seq, 3);
  auto first = Runtime::Await<CheckpointView>(
      [&](Done<CheckpointView> done) { runtime_->GetCheckpoint("ann:guide:t1", 1, std::move(done)); });
  EXPECT_FALSE(first);
  // What is left goes on: numbers go on where they were.
  std::vector<Work> work = Claim("guide");
  ASSERT_EQ(work.size(), 1U);
  auto committed = Commit(work[0], {Send("answer 4")}, "c4");
  ASSERT_TRUE(committed);
  EXPECT_EQ(committed->messages, std::vector<int64_t>{4});
}

}  // namespace
}  // namespace holdfast::agent
