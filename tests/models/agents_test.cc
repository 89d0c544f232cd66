// The models on a real agent runtime: what people do and see of conversations, and what the applications do
// later by themselves. Time stands still until a test moves it.

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

#include "agent/loop.h"
#include "agent/runtime.h"
#include "apps/apps.h"
#include "apps/system_agents.h"
#include "models/test_app.h"

namespace holdfast {
namespace {

using agent::Done;
using agent::Runtime;
using testing::Must;
using testing::Refusal;
using testing::TestApp;

constexpr int64_t kMinute = 60'000;
constexpr int64_t kHour = 60 * kMinute;

// A loop whose clock is the test's.
class ManualLoop final : public agent::Loop {
 public:
  explicit ManualLoop(base::ManualClock* clock) : clock_(clock), thread_([this] { Run(); }) {}
  ~ManualLoop() override {
    {
      base::MutexLock lock(&mu_);
      stop_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
  }
  void Post(std::function<void()> task) override { Add(0, std::move(task)); }
  void At(int64_t millis, std::function<void()> task) override { Add(millis, std::move(task)); }
  int64_t NowMillis() const override { return clock_->NowMillis(); }
  void RunUntil(const std::function<bool()>& holds) override {
    while (!holds()) std::this_thread::yield();
  }
  void Advance(int64_t millis) {
    clock_->Advance(millis);
    base::MutexLock lock(&mu_);
    changed_.NotifyAll();
  }

 private:
  void Add(int64_t millis, std::function<void()> task) {
    base::MutexLock lock(&mu_);
    tasks_.emplace(millis, std::move(task));
    changed_.NotifyAll();
  }
  void Run() {
    while (true) {
      std::function<void()> task;
      {
        base::MutexLock lock(&mu_);
        while (!stop_ && (tasks_.empty() || tasks_.begin()->first > NowMillis())) changed_.Wait(&mu_);
        if (tasks_.empty() || tasks_.begin()->first > NowMillis()) return;
        task = std::move(tasks_.begin()->second);
        tasks_.erase(tasks_.begin());
      }
      task();
    }
  }

  base::ManualClock* const clock_;
  base::Mutex mu_;
  base::CondVar changed_;
  std::multimap<int64_t, std::function<void()>> tasks_ HF_GUARDED_BY(mu_);
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

// What is bound to happen does within this time.
::testing::AssertionResult Comes(const std::function<bool()>& holds) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return ::testing::AssertionFailure() << "it never came";
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return ::testing::AssertionSuccess();
}

// A model, a runtime on the same store, and the applications' agents.
class World {
 public:
  explicit World(const std::string& model) : app_(model, {}, Options()) {
    loop_ = std::make_unique<ManualLoop>(&app_.clock);
    Open();
  }
  ~World() { Close(); }

  void Open() {
    agent::RuntimeOptions options;
    options.loop = loop_.get();
    options.seed = 7;
    runtime_ = Must(Runtime::Open(app_.store.get(), options, &log_));
  }
  void Close() {
    agents_.reset();
    runtime_.reset();
  }
  void StartAgents(int64_t choice_millis = 0) {
    apps::SystemAgentsOptions options;
    options.choice_millis = choice_millis;
    options.sweep_millis = 3'600'000;  // once, at the beginning
    options.clock = &app_.clock;
    options.emit = [this](const model::Model&, const std::vector<Emitted>& emitted) {
      base::MutexLock lock(&mu_);
      for (const Emitted& one : emitted) ++told_[one.name];
    };
    agents_ = std::make_unique<apps::SystemAgents>([this]() -> Result<Runtime*> { return runtime_.get(); },
                                                   std::vector<Application*>{app_.app.get()},
                                                   std::move(options), &log_);
  }
  void Advance(int64_t millis) { loop_->Advance(millis); }
  int Told(const std::string& name) {
    base::MutexLock lock(&mu_);
    return told_[name];
  }

  // Runs a command as the server does: what it tells is told to the agents.
  Item Run(std::string_view command, const Item& input) {
    CommandAnswer answer = Must(app_->Run(Caller::Administrator(), command, input));
    if (agents_) agents_->Told(app_->model(), answer.emitted);
    return answer.result;
  }

  std::vector<agent::TimerView> PendingTimers(const std::string& session) {
    auto timers =
        Runtime::Await<std::vector<agent::TimerView>>([&](Done<std::vector<agent::TimerView>> done) {
          runtime_->ListTimers(session, "pending", std::move(done));
        });
    return timers ? *timers : std::vector<agent::TimerView>();
  }
  std::optional<agent::SessionView> Session(const std::string& session) {
    auto view = Runtime::Await<agent::SessionView>(
        [&](Done<agent::SessionView> done) { runtime_->GetSession(session, std::move(done)); });
    if (!view) return std::nullopt;
    return *view;
  }
  // All events up to now are processed.
  bool IsIdle(const std::string& session) {
    auto view = Session(session);
    return view && view->last_seq == view->event_seq;
  }

  base::Log log_{base::LogLevel::kNone};
  TestApp app_;
  std::unique_ptr<ManualLoop> loop_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<apps::SystemAgents> agents_;

 private:
  // The runtime is made on the store of the application: handlers find it later.
  static ApplicationOptions Options() {
    ApplicationOptions options;
    options.commands = apps::ShippedCommands(nullptr);
    return options;
  }
  base::Mutex mu_;
  std::map<std::string, int> told_ HF_GUARDED_BY(mu_);
};

// --- AUTO-R-16: actions that PM holds back ---

class HoldsTest : public ::testing::Test {
 protected:
  HoldsTest() {
    project_ = Must(world_.app_->Create(Caller::Administrator(), "Project",
                                        Item{{"name", "Lantern Quay"},
                                             {"source", "jira"},
                                             {"sourceProjectKey", "LQF"},
                                             {"autonomyLevel", "tactical"}}))
                   .record.Fields()
                   .Get("id")
                   ->AsText();
    session_ = "pm:holds:" + project_;
  }

  // The key of an action that is held for half an hour.
  Item Propose(const std::string& description = "Write to Odalys") {
    Item action =
        world_.Run("action.propose",
                   Item{{"projectId", project_}, {"actionType", "email_sent"}, {"description", description}});
    return Item{{"projectId", project_}, {"createdAt", *action.Get("createdAt")}, {"id", *action.Get("id")}};
  }
  bool IsDone(const Item& action) {
    Item fields = Must(world_.app_->Get(Caller::Administrator(), "AgentAction", action)).Fields();
    return fields.Get("executed") == AttributeValue(true);
  }
  void Cancel(const Item& action) {
    AttributeMap key{{"createdAt", *action.Get("createdAt")}, {"id", *action.Get("id")}};
    world_.Run("action.cancel",
               Item{{"projectId", project_}, {"actionKey", AttributeValue::Map(key)}, {"reason", "rude"}});
  }
  size_t TimesTaken() {
    Answer events =
        Must(world_.app_->Ask(Caller::Administrator(), "PM-A-04", Item{{"projectId", project_}}, {1000, ""}));
    return static_cast<size_t>(
        std::count_if(events.records.begin(), events.records.end(), [](const Record& event) {
          return event.stored().Get("eventType") == AttributeValue("action_taken");
        }));
  }
  bool IsPlanned() { return !world_.PendingTimers(session_).empty() && world_.IsIdle(session_); }

  World world_{"pm"};
  std::string project_;
  std::string session_;
};

TEST_F(HoldsTest, AnActionIsReleasedAtItsTimeAndOnce) {
  world_.StartAgents();
  Item action = Propose();
  ASSERT_TRUE(Comes([&] { return IsPlanned(); }));
  EXPECT_EQ(world_.PendingTimers(session_)[0].fire_at, world_.app_.clock.NowMillis() + 30 * kMinute);
  world_.Advance(30 * kMinute - 1);
  EXPECT_EQ(world_.Session(session_)->last_seq, 1);  // the timer has not fired
  EXPECT_FALSE(IsDone(action));
  world_.Advance(1);
  ASSERT_TRUE(Comes([&] { return IsDone(action) && world_.IsIdle(session_); }));
  EXPECT_EQ(TimesTaken(), 1U);
  EXPECT_TRUE(Comes([&] { return world_.Told("action_released") == 1; }));
  EXPECT_TRUE(world_.PendingTimers(session_).empty());
}

TEST_F(HoldsTest, WhatWasCancelledStaysUndone) {
  world_.StartAgents();
  Item first = Propose("Write to everybody");
  Item second = Propose();
  Cancel(first);
  ASSERT_TRUE(Comes([&] { return IsPlanned() && world_.Session(session_)->last_seq == 2; }));
  world_.Advance(30 * kMinute);
  ASSERT_TRUE(Comes([&] { return IsDone(second) && world_.IsIdle(session_); }));
  EXPECT_FALSE(IsDone(first));
  EXPECT_EQ(TimesTaken(), 1U);
}

TEST_F(HoldsTest, TheSweepFindsWhatACrashLeftOut) {
  Item overdue = Propose();  // nobody is told
  world_.Advance(20 * kMinute);
  Item waiting = Propose();
  world_.Advance(10 * kMinute);
  world_.StartAgents();
  ASSERT_TRUE(Comes([&] { return IsDone(overdue) && IsPlanned(); }));
  EXPECT_FALSE(IsDone(waiting));
  world_.Advance(20 * kMinute);
  // A release that meets another write tries again after a pause by this clock.
  EXPECT_TRUE(Comes([&] {
    world_.Advance(10);
    return IsDone(waiting);
  }));
  EXPECT_EQ(TimesTaken(), 2U);
}

TEST_F(HoldsTest, ATimerOutlivesTheProgram) {
  world_.StartAgents();
  Item action = Propose();
  ASSERT_TRUE(Comes([&] { return IsPlanned(); }));
  world_.Close();
  world_.Advance(kHour);
  world_.Open();
  world_.StartAgents();
  EXPECT_TRUE(Comes([&] { return IsDone(action); }));
  EXPECT_EQ(TimesTaken(), 1U);
}

// A session may have 32 timers; a project may hold back more than that.
TEST_F(HoldsTest, AnyNumberIsReleased) {
  world_.StartAgents();
  std::vector<Item> actions;
  for (int i = 0; i < 40; ++i) actions.push_back(Propose("Letter " + std::to_string(i)));
  ASSERT_TRUE(Comes([&] { return IsPlanned() && world_.Session(session_)->last_seq == 40; }));
  world_.Advance(30 * kMinute);
  ASSERT_TRUE(Comes([&] {
    return std::all_of(actions.begin(), actions.end(), [&](const Item& one) { return IsDone(one); });
  }));
  EXPECT_EQ(TimesTaken(), 40U);
}

// --- AUTO-R-16: choices that Trip waits for ---

class ChoicesTest : public ::testing::Test {
 protected:
  // A booking whose options were presented.
  void Present() {
    AttributeMap option{{"optionId", "o1"},    {"carrier", "Skylark Air"},
                        {"flightNumber", "1"}, {"departure", "2026-03-20T08:00:00.000Z"},
                        {"priceUsd", 100},     {"arrival", "2026-03-20T10:00:00.000Z"},
                        {"cabin", "economy"},  {"compliant", true}};
    Item request = world_.Run("booking.request", Item{{"employeeId", "ann"}, {"userRequest", "To the sea"}});
    booking_ = Item{{"employeeId", "ann"}, {"bookingId", *request.Get("bookingId")}};
    session_ = "trip:choices:" + request.Get("bookingId")->AsText();
    world_.Run("booking.retrieved", With("chunks", 1));
    world_.Run("booking.searched", With("options", AttributeValue::List({AttributeValue::Map(option)})));
  }
  Item With(const std::string& name, const AttributeValue& value) {
    Item input = booking_;
    input.Set(name, value);
    return input;
  }
  std::string StatusOf() {
    return Must(world_.app_->Get(Caller::Administrator(), "Booking", booking_))
        .Fields()
        .Get("status")
        ->AsText();
  }
  bool IsPlanned() { return !world_.PendingTimers(session_).empty() && world_.IsIdle(session_); }

  World world_{"trip"};
  Item booking_;
  std::string session_;
};

TEST_F(ChoicesTest, ABookingThatNobodyChoosesForIsCancelled) {
  world_.StartAgents(24 * kHour);
  Present();
  ASSERT_TRUE(Comes([&] { return IsPlanned(); }));
  world_.Advance(24 * kHour - 1);
  EXPECT_EQ(world_.Session(session_)->last_seq, 1);
  EXPECT_EQ(StatusOf(), "options_presented");
  world_.Advance(1);
  EXPECT_TRUE(Comes([&] { return StatusOf() == "cancelled"; }));
  world_.Run("booking.request",
             Item{{"employeeId", "ann"}, {"userRequest", "To the hills"}});  // the lock is gone
}

TEST_F(ChoicesTest, AChoiceEndsTheWait) {
  world_.StartAgents(24 * kHour);
  Present();
  world_.Run("booking.select", With("optionIndex", 1));
  ASSERT_TRUE(Comes([&] { return world_.IsIdle(session_) && world_.Session(session_)->last_seq == 2; }));
  world_.Advance(24 * kHour);
  ASSERT_TRUE(Comes([&] { return world_.IsIdle(session_) && world_.PendingTimers(session_).empty(); }));
  EXPECT_EQ(StatusOf(), "user_selected");
}

TEST_F(ChoicesTest, WithoutALimitABookingWaitsForEver) {
  world_.StartAgents();
  Present();
  world_.Advance(365 * 24 * kHour);
  EXPECT_FALSE(world_.Session(session_));
  EXPECT_EQ(StatusOf(), "options_presented");
}

TEST_F(ChoicesTest, TheSweepFindsWhoeverIsConnected) {
  world_.app_.Plant(
      world_.app_.entity("Connection"),
      {{"connectionId", "c"}, {"employeeId", "ann"}, {"connectedAt", "2026-02-04T10:30:00.000Z"}});
  Present();
  world_.StartAgents(kHour);
  ASSERT_TRUE(Comes([&] { return IsPlanned(); }));
  world_.Advance(kHour);
  EXPECT_TRUE(Comes([&] { return StatusOf() == "cancelled"; }));
}

// --- AUTO-C, AUTO-A: conversations ---

class ConversationTest : public ::testing::Test {
 protected:
  ConversationTest() {
    auto library = std::make_shared<CommandLibrary>();
    apps::AddAutoCommands([this]() -> Result<Runtime*> { return world_.runtime_.get(); }, library.get());
    apps::AddAutoPatterns(library.get());
    ApplicationOptions options;
    options.commands = library;
    options.now_millis = [this] { return world_.app_.clock.NowMillis(); };
    model::LoadOptions load{"dev", {}};
    app_ = Must(Application::Open(world_.app_.store.get(),
                                  Must(model::LoadModelFile(testing::kRoot / "models/auto.yaml", load)),
                                  options));
  }

  Result<CommandAnswer> Run(std::string_view command, Item input, const Caller& caller = kWren) {
    input.Set("session_key", kSession);
    return app_->Run(caller, command, input);
  }
  std::vector<Item> Ask(std::string_view pattern, Item parameters = {}) {
    if (!parameters.Has("id") && !parameters.Has("dedupe_key") && pattern != "AUTO-A-04" &&
        pattern != "AUTO-A-08")
      parameters.Set("session_key", kSession);
    Answer answer = Must(app_->Ask(Caller::Administrator(), pattern, parameters, {}));
    std::vector<Item> all;
    for (const Record& record : answer.records) all.push_back(record.Fields());
    return all;
  }
  // A worker's turn over all that waits.
  void Turn(std::vector<agent::EffectRequest> effects) {
    agent::ClaimRequest claim{.worker = "w", .agents = {"guide"}};
    auto work = Must(Runtime::Await<std::vector<agent::Work>>(
        [&](Done<std::vector<agent::Work>> done) { world_.runtime_->Claim(claim, std::move(done)); }));
    ASSERT_EQ(work.size(), 1U);
    agent::CommitRequest commit{
        .session = kSession, .epoch = work[0].epoch, .upto = work[0].events.back().seq};
    commit.token = "k" + std::to_string(commit.upto);
    commit.effects = std::move(effects);
    commit.release = true;
    Must(Runtime::Await<agent::Committed>(
        [&](Done<agent::Committed> done) { world_.runtime_->Commit(commit, std::move(done)); }));
  }

  static inline const std::string kSession = "wren:guide:t1";
  static inline const Caller kWren{"wren", false, "user", "wren"};
  static inline const Caller kTern{"tern", false, "user", "tern"};
  World world_{"pm"};  // whichever: its store and its clock are what counts
  std::unique_ptr<Application> app_;
};

TEST_F(ConversationTest, WhatPeopleDoIsSeenByThePatterns) {
  CommandAnswer said = Must(Run("session.userMessage", Item{{"text", "Is the ferry late?"}, {"id", "c-1"}}));
  EXPECT_EQ(said.result.Get("seq"), AttributeValue(1));
  EXPECT_TRUE(said.created);
  EXPECT_EQ(Must(Run("session.userMessage", Item{{"text", "Is the ferry late?"}, {"id", "c-1"}}))
                .result.Get("duplicate"),
            AttributeValue(true));
  EXPECT_EQ(Refusal(Run("session.userMessage", Item{{"text", "x"}}, kTern)), "NotFound");
  EXPECT_EQ(Refusal(Run("session.toolResult", Item{{"tool_id", "tides"}, {"payload", "x"}})),
            "ReservedEventType");

  Turn({{"send_message", Item{{"content", "I shall look"}}},
        {"schedule_timer", Item{{"timer_id", "look"}, {"delay_ms", kMinute}}}});
  ASSERT_EQ(Ask("AUTO-A-01").size(), 1U);
  EXPECT_EQ(Ask("AUTO-A-03", Item{{"session_key", kSession}, {"id", "c-1"}})[0].Get("seq"),
            AttributeValue(1));
  EXPECT_EQ(Ask("AUTO-A-12")[0].Get("checkpoint_id"), AttributeValue(kSession + "/1"));
  EXPECT_EQ(Ask("AUTO-A-11")[0].Get("id"), AttributeValue(kSession + "/1"));
  EXPECT_EQ(Ask("AUTO-A-10", Item{{"timer_id", "look"}})[0].Get("status"), AttributeValue("pending"));
  ASSERT_EQ(Ask("AUTO-A-04").size(), 1U);
  EXPECT_EQ(Ask("AUTO-A-06", Item{{"id", kSession + "/1/0"}})[0].Get("status"), AttributeValue("pending"));
  std::vector<Item> effects = Ask("AUTO-A-05", Item{{"checkpoint_id", kSession + "/1"}});
  ASSERT_EQ(effects.size(), 2U);
  EXPECT_EQ(effects[1].Get("outcome"), AttributeValue("scheduled"));
  EXPECT_EQ(Ask("AUTO-A-07",
                Item{{"checkpoint_id", kSession + "/1"}, {"dedupe_key", *effects[1].Get("dedupe_key")}})[0],
            effects[1]);

  // AUTO-C-06: what a device has is completed, and nothing is pending any more.
  Must(Run("message.ack", Item{{"device", "web"}, {"n", 1}}));
  EXPECT_TRUE(Ask("AUTO-A-04").empty());
  EXPECT_EQ(Ask("AUTO-A-05")[0].Get("status"), AttributeValue("completed"));

  // AUTO-R-07: the user speaks, and the timer is dead though its row is as it was.
  Must(Run("session.userMessage", Item{{"text", "Never mind"}}));
  EXPECT_EQ(Ask("AUTO-A-09")[0].Get("status"), AttributeValue("cancelled"));
  world_.Advance(kMinute);
  EXPECT_TRUE(Ask("AUTO-A-08").empty());
}

TEST_F(ConversationTest, ATimerIsCancelledByName) {
  Must(Run("session.userMessage", Item{{"text", "Wake me"}}));
  Turn({{"schedule_timer", Item{{"timer_id", "wake"}, {"delay_ms", kMinute}}, false, true}});
  EXPECT_EQ(Refusal(Run("timer.cancel", Item{{"timer_id", "wake"}}, kTern)), "NotFound");
  EXPECT_EQ(Must(Run("timer.cancel", Item{{"timer_id", "wake"}})).result.Get("cancelled"), AttributeValue(1));
  EXPECT_EQ(Ask("AUTO-A-09")[0].Get("status"), AttributeValue("cancelled"));
}

TEST_F(ConversationTest, OnlyAdministratorsSwitchAutonomy) {
  EXPECT_EQ(Refusal(app_->Run(kWren, "autonomy.setEnabled", Item{{"enabled", false}})), "Forbidden");
  CommandAnswer answer =
      Must(app_->Run(Caller::Administrator(), "autonomy.setEnabled", Item{{"enabled", false}}));
  EXPECT_EQ(answer.result.Get("enabled"), AttributeValue(false));
  ASSERT_EQ(answer.emitted.size(), 1U);
  EXPECT_EQ(answer.emitted[0].name, "autonomy_switched");
}

// A token may name any tenant; the applications' own sessions are nobody's.
TEST_F(ConversationTest, TheApplicationsSessionsAreNobodys) {
  Caller pm{"pm", false, "user", "pm"};
  EXPECT_EQ(Refusal(app_->Run(pm, "session.userMessage", Item{{"session_key", "pm:holds:x"}, {"text", "x"}})),
            "NotFound");
}

}  // namespace
}  // namespace holdfast
