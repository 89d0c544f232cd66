// The rules of a commit, one by one, without a store: what an autonomous message may do, and what it may not.
#include "agent/decide.h"

#include <gtest/gtest.h>

#include "model/refusal.h"

namespace holdfast::agent {
namespace {

constexpr int64_t kNow = 1'794'800'000'000;

class DecideTest : public ::testing::Test {
 protected:
  DecideTest() {
    head_.exists = true;
    head_.tail = 1;
    head_.tgen = 1;
    Hear("timer");
  }
  // What the commit answers.
  void Hear(const std::string& type) {
    Event event;
    event.seq = 1;
    event.type = type;
    event.generation = 1;
    event.autonomous = type != "user_message";
    events_ = {event};
  }
  Result<Decision> Ask(std::vector<EffectRequest> effects) {
    CommitRequest request{.session = session_, .upto = 1, .token = "c", .effects = std::move(effects)};
    HF_CHECK_OK(NormaliseEffects(kNow, &request.effects));
    Situation situation{session_, head_, events_, policy_, timers_, autonomy_, kNow};
    return Decide(situation, request);
  }
  // The reasons of refusals, in order; "ok" for what was accepted.
  std::string Reasons(std::vector<EffectRequest> effects) {
    size_t count = effects.size();
    Result<Decision> decision = Ask(std::move(effects));
    if (!decision) return std::string(model::RefusalName(decision.error()));
    std::vector<std::string> reasons(count, "ok");
    for (const Refused& refused : decision->answer.suppressed) reasons[refused.i] = refused.reason;
    std::string all;
    for (const std::string& reason : reasons) all.append(all.empty() ? "" : " ").append(reason);
    return all;
  }
  static EffectRequest Send(const std::string& content) {
    return {.type = "send_message", .payload = Item{{"content", content}}};
  }
  static EffectRequest Timer(const std::string& id, bool keep = false) {
    return {.type = "schedule_timer", .payload = Item{{"timer_id", id}, {"delay_ms", 1000}}, .keep = keep};
  }

  const std::string session_ = "ann:guide:t1";
  Head head_;
  std::vector<Event> events_;
  Policy policy_;
  Timers timers_;
  bool autonomy_ = true;
};

TEST_F(DecideTest, AUTO_R_08_TheCapCountsAutonomousMessagesInARow) {
  for (int64_t sent = 0; sent < 3; ++sent) {
    head_.auto_n = sent;
    EXPECT_EQ(Reasons({Send("x")}), "ok");
  }
  head_.auto_n = 3;
  EXPECT_EQ(Reasons({Send("x")}), "cap");
  auto refused = Ask({Send("x")});
  EXPECT_EQ(refused->next.auto_n, 3);
  EXPECT_EQ(refused->next.n_tail, 0);
  EXPECT_EQ(refused->effects[0].status, "failed");
  policy_.on_cap = OnRefusal::kReject;
  EXPECT_EQ(Reasons({Send("x")}), "Rejected");
  policy_.on_cap = OnRefusal::kHold;
  auto held = Ask({Send("x")});
  EXPECT_EQ(held->effects[0].status, "held");
  EXPECT_TRUE(held->timers.empty());  // no moment is legal before the user speaks
}

TEST_F(DecideTest, AUTO_R_09_TheCooldownLiesBetweenTwo) {
  head_.auto_n = 1;
  head_.auto_at = kNow - 14'999;
  EXPECT_EQ(Reasons({Send("x")}), "cooldown");
  head_.auto_at = kNow - 15'000;
  EXPECT_EQ(Reasons({Send("x")}), "ok");
  // At most one autonomous message of a commit goes out, whatever the policy.
  policy_.cooldown_millis = 0;
  EXPECT_EQ(Reasons({Send("x"), Send("y")}), "ok cooldown");
  policy_.cooldown_millis = 15'000;
  policy_.on_cooldown = OnRefusal::kHold;
  head_.auto_at = kNow - 5'000;
  auto held = Ask({Send("x")});
  ASSERT_EQ(held->timers.size(), 1U);
  EXPECT_EQ(held->timers[0].fire_at, kNow + 10'000);
}

TEST_F(DecideTest, AUTO_R_10_TheUsersWordsResetBothAndRepliesDoNotCount) {
  Hear("user_message");
  head_.auto_n = 3;
  head_.auto_at = kNow - 1;
  auto reply = Ask({Send("x"), Send("y")});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->messages.size(), 2U);
  EXPECT_EQ(reply->next.auto_n, 0);
  EXPECT_FALSE(reply->next.auto_at);
}

TEST_F(DecideTest, RefusalsHaveAnOrder) {
  head_.auto_n = 3;
  head_.auto_at = kNow;
  head_.tgen = 2;  // the user spoke since
  autonomy_ = false;
  policy_.on_cap = policy_.on_cooldown = policy_.on_superseded = OnRefusal::kReject;
  EXPECT_EQ(Reasons({Send("x")}), "disabled");  // suppressed, whatever the policy
  autonomy_ = true;
  policy_ = Policy();
  EXPECT_EQ(Reasons({Send("x")}), "superseded");
  head_.tgen = 1;
  EXPECT_EQ(Reasons({Send("x")}), "cap");
}

TEST_F(DecideTest, AUTO_R_04_AnEqualSecondEffectIsDropped) {
  Hear("user_message");
  EXPECT_EQ(Reasons({Send("x"), Send("x"), Send("y")}), "ok duplicate ok");
  policy_.allow_equal = true;
  EXPECT_EQ(Ask({Send("x"), Send("x")})->answer.messages, (std::vector<int64_t>{1, 2}));
}

TEST_F(DecideTest, AUTO_C_07_ATimerAfterTheUsersWordsIsBornCancelled) {
  head_.tgen = 2;
  auto late = Ask({Timer("t"), Timer("kept", true)});
  ASSERT_EQ(late->timers.size(), 2U);
  EXPECT_EQ(late->timers[0].status, "cancelled");
  EXPECT_EQ(late->timers[1].status, "pending");
  EXPECT_EQ(late->effects[0].outcome, "superseded");
  autonomy_ = false;
  auto off = Ask({Timer("t")});
  EXPECT_TRUE(off->timers.empty());
  EXPECT_EQ(off->effects[0].outcome, "disabled");
}

TEST_F(DecideTest, AUTO_R_06_ATimerSetTwiceInACommitIsSetOnce) {
  EffectRequest again = Timer("t", true);
  again.payload.Set("delay_ms", 2000);
  auto twice = Ask({Timer("t"), {.type = "cancel_timer", .payload = Item{{"timer_id", "t"}}}, again});
  ASSERT_EQ(twice->timers.size(), 1U);
  EXPECT_TRUE(twice->timers[0].keep);
  EXPECT_TRUE(twice->cancelled.empty());
}

TEST_F(DecideTest, AUTO_R_19_ACommitAndASessionHaveLimits) {
  Hear("user_message");
  std::vector<EffectRequest> effects;
  for (int i = 0; i < 24; ++i) effects.push_back(Timer("t" + std::to_string(i)));
  EXPECT_TRUE(Ask(effects));
  effects.push_back(Send("one more"));
  EXPECT_EQ(Reasons(effects), "TransactionTooLarge");
  effects.pop_back();
  for (int i = 0; i < 9; ++i) {
    TimerRow pending;
    pending.timer_id = "p" + std::to_string(i);
    pending.gen = 1;
    timers_.emplace(pending.timer_id, pending);
  }
  EXPECT_EQ(Reasons(effects), "TransactionTooLarge");  // 33
  timers_.begin()->second.status = "promoted";
  EXPECT_TRUE(Ask(effects));
}

TEST_F(DecideTest, BadEffectsAreNamed) {
  EXPECT_EQ(Reasons({{.type = "sing"}}), "ValidationError");
  EXPECT_EQ(Reasons({{.type = "send_message"}}), "ValidationError");
  EXPECT_EQ(Reasons({{.type = "send_message", .payload = Item{{"content", "x"}, {"to", "y"}}}}),
            "ValidationError");
  EXPECT_EQ(Reasons({{.type = "schedule_timer", .payload = Item{{"timer_id", "t"}}}}), "ValidationError");
  EXPECT_EQ(Reasons({{.type = "schedule_timer", .payload = Item{{"timer_id", "~h:1"}, {"delay_ms", 1}}}}),
            "ValidationError");
  EXPECT_EQ(Reasons({{.type = "schedule_timer", .payload = Item{{"timer_id", "t"}, {"delay_ms", -1}}}}),
            "ValidationError");
  EXPECT_EQ(Reasons({{.type = "cancel_timer", .payload = Item{{"timer_id", ""}}}}), "ValidationError");
}

}  // namespace
}  // namespace holdfast::agent
