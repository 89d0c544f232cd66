// The agent that people meet first has to do what the page says of it, on a database in memory.
#include "apps/echo_agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "holdfast/database.h"

namespace holdfast::apps {
namespace {

using agent::Done;
using agent::Runtime;
using testing::ElementsAre;

constexpr char kSession[] = "ann:echo:t1";

class EchoAgentTest : public ::testing::Test {
 protected:
  void Start(int64_t follow_up_millis) {
    auto database = Database::Open(Options());
    ASSERT_TRUE(database) << database.error().ToString();
    database_ = *std::move(database);
    store_ = EmbeddedStore(database_.get());
    auto runtime = Runtime::Open(store_.get(), {}, nullptr);
    ASSERT_TRUE(runtime) << runtime.error().ToString();
    runtime_ = *std::move(runtime);
    AttachAgent(runtime_.get(), kEchoAgent, EchoAgent(follow_up_millis));
  }

  void Say(const std::string& text) {
    auto said = Runtime::Await<agent::Appended>([&](Done<agent::Appended> done) {
      runtime_->Append({.session = kSession, .payload = Item{{"text", text}}}, std::move(done));
    });
    ASSERT_TRUE(said) << said.error().ToString();
  }
  // All messages, once there are so many; autonomous ones with a star.
  std::vector<std::string> Told(size_t count) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (;;) {
      auto page = Runtime::Await<agent::MessagePage>(
          [&](Done<agent::MessagePage> done) { runtime_->ListMessages(kSession, 0, 100, std::move(done)); });
      EXPECT_TRUE(page) << page.error().ToString();
      std::vector<std::string> told;
      for (const agent::Message& message : page->messages)
        told.push_back((message.autonomous ? "*" : "") + message.content);
      if (told.size() >= count || std::chrono::steady_clock::now() > deadline) return told;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::vector<std::string> Timers() {
    auto timers =
        Runtime::Await<std::vector<agent::TimerView>>([&](Done<std::vector<agent::TimerView>> done) {
          runtime_->ListTimers(kSession, "", std::move(done));
        });
    EXPECT_TRUE(timers);
    std::vector<std::string> shown;
    for (const agent::TimerView& timer : *timers) shown.push_back(timer.timer_id + " " + timer.status);
    return shown;
  }
  Item State() {
    auto checkpoint = Runtime::Await<agent::CheckpointView>(
        [&](Done<agent::CheckpointView> done) { runtime_->GetCheckpoint(kSession, 0, std::move(done)); });
    EXPECT_TRUE(checkpoint) << checkpoint.error().ToString();
    return checkpoint->state;
  }

  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(EchoAgentTest, TheSilentAreAskedAfter) {
  Start(20);
  Say("hi");
  EXPECT_THAT(Told(2), ElementsAre("You said: hi", "*Still there? You last said: hi"));
  EXPECT_THAT(Timers(), ElementsAre("follow-up promoted"));
}

TEST_F(EchoAgentTest, EveryWordIsAnsweredInOrderAndCounted) {
  Start(3'600'000);
  std::vector<std::string> expected;
  for (int i = 1; i <= 20; ++i) {
    Say(std::to_string(i));
    expected.push_back("You said: " + std::to_string(i));
  }
  EXPECT_EQ(Told(20), expected);
  EXPECT_THAT(Timers(), ElementsAre("follow-up pending"));
  EXPECT_EQ(State(), (Item{{"turns", 20}, {"last", "20"}}));
}

TEST_F(EchoAgentTest, ATextTooLongToRepeatIsAnswered) {
  Start(3'600'000);
  Say(std::string(200'000, 'x'));
  EXPECT_THAT(Told(1), ElementsAre("You said: a text of 200000 bytes"));
}

}  // namespace
}  // namespace holdfast::apps
