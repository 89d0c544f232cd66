// What a model refuses and keeps on every route, beyond its patterns: creation, changes, versions, flags,
// parents, tenants, expiry, sizes and secrets.

#include <fstream>
#include <sstream>
#include <thread>

#include "holdfast/master_keys.h"
#include "models/test_app.h"

namespace holdfast {
namespace {

using testing::Detail;
using testing::Must;
using testing::Refusal;
using testing::TestApp;

const Caller kAdmin = Caller::Administrator();
const Caller kAnn = Caller::Tenant("ann");
const Caller kBob = Caller::Tenant("bob");
constexpr const char* kTable = "personal-os-dev";

Item Task(std::string_view id) {
  return {{"id", id}, {"title", "Mend the boat"}, {"area", "Home"}, {"pointValue", 30}};
}
Item Id(std::string_view id) {
  return {{"id", id}};
}

class PosTest : public ::testing::Test {
 protected:
  TestApp app_{"pos"};
};

// --- what is written ---

TEST_F(PosTest, CreatesOnceWithDefaultsAndKeys) {
  Written written = Must(app_->Create(kAnn, "TASK", Task("t")));
  Item expected{{"pk", "USER#ann"},
                {"sk", "TASK#t"},
                {"entityType", "TASK"},
                {"gsi1pk", "TASK"},
                {"gsi1sk", "NotStarted#2026-02-04T10:30:00.123Z"},
                {"gsi2pk", "Home"},
                {"gsi2sk", "TASK#2026-02-04T10:30:00.123Z"},
                {"userId", "ann"},
                {"id", "t"},
                {"title", "Mend the boat"},
                {"area", "Home"},
                {"priority", "P3"},
                {"status", "NotStarted"},
                {"isRecurring", false},
                {"pointValue", 30},
                {"pointsAwarded", false},
                {"goalIds", AttributeValue::List({})},
                {"projectIds", AttributeValue::List({})},
                {"createdAt", "2026-02-04T10:30:00.123Z"},
                {"updatedAt", "2026-02-04T10:30:00.123Z"}};
  EXPECT_EQ(app_.GetRaw(written.record), expected);
  auto again = app_->Create(kAnn, "TASK", Task("t"));
  EXPECT_EQ(Refusal(again), "AlreadyExists");
  EXPECT_EQ(Detail(again, "entity"), AttributeValue("TASK"));
  EXPECT_EQ(app_.GetRaw(written.record), expected);
}

TEST_F(PosTest, RefusesWhatIsNoFieldOrDerived) {
  for (const char* name : {"colour", "pk", "sk", "gsi1pk", "gsi1sk", "gsi2sk", "entityType", "updatedAt"}) {
    SCOPED_TRACE(name);
    Item fields = Task("t");
    fields.Set(name, "2026-02-04T10:30:00Z");
    auto created = app_->Create(kAnn, "TASK", fields);
    EXPECT_EQ(Refusal(created), "ValidationError");
    EXPECT_EQ(Detail(created, "violations").AsList().at(0).AsMap().at("path"), AttributeValue(name));
  }
  EXPECT_EQ(app_.CountItems(), 0U);
  Must(app_->Create(kAnn, "TASK", Task("t")));
  for (const char* name : {"colour", "pk", "gsi1sk", "id", "userId", "createdAt", "updatedAt"}) {
    auto patched = app_->Patch(kAdmin, "TASK", {{"userId", "ann"}, {"id", "t"}}, {{name, "x"}});
    EXPECT_EQ(Refusal(patched), "ValidationError") << name;
  }
}

TEST_F(PosTest, NullMeansAbsent) {
  Item fields = Task("t");
  fields.Set("notes", nullptr);
  fields.Set("priority", nullptr);  // has a default
  Written written = Must(app_->Create(kAnn, "TASK", fields));
  EXPECT_FALSE(written.record.stored().Has("notes"));
  EXPECT_EQ(written.record.stored().Get("priority"), AttributeValue("P3"));
  Must(app_->Patch(kAnn, "TASK", Id("t"), {{"notes", "a"}, {"dueDate", "2026-03-01"}}));
  Must(app_->Patch(kAnn, "TASK", Id("t"), {{"notes", nullptr}}));
  Item stored = app_.GetRaw(written.record);
  EXPECT_FALSE(stored.Has("notes"));
  EXPECT_TRUE(stored.Has("dueDate"));
  EXPECT_EQ(Refusal(app_->Patch(kAnn, "TASK", Id("t"), {{"title", nullptr}})), "ValidationError");
  fields.Set("title", nullptr);
  fields.Set("id", "u");
  EXPECT_EQ(Refusal(app_->Create(kAnn, "TASK", fields)), "ValidationError");
}

TEST_F(PosTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(Refusal(app_->Get(kAnn, "TASK", Id("t"))), "NotFound");
  EXPECT_EQ(Refusal(app_->Patch(kAnn, "TASK", Id("t"), {{"title", "x"}})), "NotFound");
  EXPECT_EQ(Refusal(app_->Delete(kAnn, "TASK", Id("t"))), "NotFound");
  EXPECT_EQ(Refusal(app_->Get(kAnn, "NOTHING", Id("t"))), "NotFound");
  EXPECT_EQ(Refusal(app_->Ask(kAnn, "POS-A-99", {}, {})), "NotFound");
  EXPECT_EQ(Refusal(app_->Get(kAnn, "TASK", {})), "ValidationError");
  EXPECT_EQ(app_.CountItems(), 0U);
}

TEST_F(PosTest, PutReplacesWhateverStateTheItemIsIn) {
  Must(app_->Put(kAnn, "TASK", Task("t")));
  Must(app_->Patch(kAnn, "TASK", Id("t"), {{"status", "InProgress"}, {"notes", "a"}}));
  Item fields = Task("t");
  fields.Set("status", "InProgress");
  fields.Set("title", "Mend the oar");
  Written put = Must(app_->Put(kAnn, "TASK", fields));
  Item stored = app_.GetRaw(put.record);
  EXPECT_EQ(stored.Get("title"), AttributeValue("Mend the oar"));
  EXPECT_EQ(stored.Get("status"), AttributeValue("InProgress"));
  EXPECT_FALSE(stored.Has("notes"));
  fields.Set("id", "new");
  EXPECT_EQ(Refusal(app_->Put(kAnn, "TASK", fields)), "IllegalTransition");
}

// --- keys ---

TEST_F(PosTest, KeysAreBounded) {
  EXPECT_EQ(Refusal(app_->Create(kAnn, "TASK", Task("a#b"))), "ValidationError");
  EXPECT_EQ(Refusal(app_->Create(kAnn, "TASK", Task(""))), "ValidationError");
  EXPECT_EQ(Refusal(app_->Get(kAnn, "TASK", Id("a#b"))), "ValidationError");
  EXPECT_EQ(Refusal(app_->Create(kAnn, "TASK", Task(std::string(1024 - 5, 'k')))), "");
  EXPECT_EQ(Refusal(app_->Create(kAnn, "TASK", Task(std::string(1024 - 4, 'k')))), "ValidationError");
  Item fields = Task("t");
  fields.Set("area", "a#b");
  EXPECT_EQ(Refusal(app_->Create(kAnn, "TASK", fields)), "ValidationError");
  fields.Set("area", std::string(2049, 'a'));
  EXPECT_EQ(Refusal(app_->Create(kAnn, "TASK", fields)), "ValidationError");
  EXPECT_EQ(Refusal(app_->Create(Caller::Tenant("a#b"), "TASK", Task("t"))), "ValidationError");
  EXPECT_EQ(app_.CountItems(), 1U);
}

TEST_F(PosTest, ItemsAreBounded) {
  std::string large(401 * 1024, 'x');
  Item fields = Task("t");
  fields.Set("notes", large);
  EXPECT_EQ(Refusal(app_->Create(kAnn, "TASK", fields)), "ItemTooLarge");
  Must(app_->Create(kAnn, "TASK", Task("t")));
  EXPECT_EQ(Refusal(app_->Patch(kAnn, "TASK", Id("t"), {{"notes", large}})), "ItemTooLarge");
  // The same where the write is a transaction.
  app_.Plant(app_.entity("GOAL"), {{"userId", "ann"}, {"id", "g"}});
  app_.Plant(app_.entity("GOAL"), {{"userId", "ann"}, {"id", "h"}});
  EXPECT_EQ(Refusal(app_->Patch(kAnn, "GOAL", Id("g"), {{"notes", large}, {"parentGoalId", "h"}})),
            "ItemTooLarge");
  EXPECT_EQ(Refusal(app_->Create(kAnn, "GOAL_ACTIVITY",
                                 {{"goalId", "g"}, {"type", "task_completed"}, {"title", large}})),
            "ItemTooLarge");
  EXPECT_EQ(app_.CountItems(), 3U);
}

// A regular expression is asked of a text of any length.
TEST_F(PosTest, ALongTextIsMatchedOrRefused) {
  Item fields = Task("t");
  fields.Set("subCategory", std::string(300 * 1024, 's'));
  std::string refusal = Refusal(app_->Create(kAnn, "TASK", fields));
  EXPECT_TRUE(refusal.empty() || refusal == "ValidationError") << refusal;
}

// --- versions ---

TEST_F(PosTest, AnOlderInstantConflicts) {
  Written written = Must(app_->Create(kAnn, "TASK", Task("t")));
  AttributeValue seen = *written.record.stored().Get("updatedAt");
  app_.clock.Advance(5);
  Must(app_->Patch(kAnn, "TASK", Id("t"), {{"notes", "a"}}, {seen}));
  Item before = app_.GetRaw(written.record);
  auto late = app_->Patch(kAnn, "TASK", Id("t"), {{"notes", "b"}}, {seen});
  EXPECT_EQ(Refusal(late), "VersionConflict");
  EXPECT_EQ(Detail(late, "current"), *before.Get("updatedAt"));
  EXPECT_EQ(Refusal(app_->Delete(kAnn, "TASK", Id("t"), {seen})), "VersionConflict");
  EXPECT_EQ(app_.GetRaw(written.record), before);
  EXPECT_EQ(Refusal(app_->Delete(kAnn, "TASK", Id("t"), {*before.Get("updatedAt")})), "");
}

// Two changes within one millisecond are two versions.
TEST_F(PosTest, AChangeWithinTheSameMillisecondConflicts) {
  Written written = Must(app_->Create(kAnn, "TASK", Task("t")));
  AttributeValue seen = *written.record.stored().Get("updatedAt");
  Must(app_->Patch(kAnn, "TASK", Id("t"), {{"notes", "a"}}, {seen}));
  EXPECT_EQ(Refusal(app_->Patch(kAnn, "TASK", Id("t"), {{"notes", "b"}}, {seen})), "VersionConflict");
}

TEST(TripTest, AnOlderNumberConflicts) {
  TestApp app("trip");
  Record policy = app.Plant(app.entity("Policy"));
  Item key = TestApp::KeyFields(policy);
  Written first = Must(app->Patch(kAdmin, "Policy", key, {{"total_pages", 3}}, {AttributeValue(1)}));
  EXPECT_EQ(first.record.stored().Get("version"), AttributeValue(2));
  auto late = app->Patch(kAdmin, "Policy", key, {{"total_pages", 4}}, {AttributeValue(1)});
  EXPECT_EQ(Refusal(late), "VersionConflict");
  EXPECT_EQ(Detail(late, "current"), AttributeValue(2));
  Item ask = key;
  ask.Set("status", "processing");
  ask.Set("expectedVersion", 1);
  EXPECT_EQ(Refusal(app->Ask(kAdmin, "TRIP-A-04", ask, {})), "VersionConflict");
  EXPECT_EQ(Refusal(app->Patch(kAdmin, "Policy", key, {{"version", 9}})), "ValidationError");
}

// What a change is conditional on counts also when it changes nothing.
TEST(TripTest, ACircuitChangesOnlyFromWhatWasSeen) {
  TestApp app("trip");
  app.Plant(app.entity("Circuit"), {{"circuitId", "sky"}});
  Item ask{{"circuitId", "sky"}, {"failureCount", 0}, {"seenState", "open"}, {"seenFailureCount", 4}};
  EXPECT_EQ(Refusal(app->Ask(kAdmin, "TRIP-A-20", ask, {})), "VersionConflict");
  ask.Set("failureCount", 5);
  EXPECT_EQ(Refusal(app->Ask(kAdmin, "TRIP-A-20", ask, {})), "VersionConflict");
  ask.Set("seenState", "closed");
  ask.Set("seenFailureCount", 0);
  EXPECT_EQ(Refusal(app->Ask(kAdmin, "TRIP-A-20", ask, {})), "");
}

TEST_F(PosTest, ChangesOfDifferentFieldsBothSurvive) {
  Written written = Must(app_->Create(kAnn, "TASK", Task("t")));
  std::vector<std::thread> threads;
  const std::vector<std::string> fields{"notes", "description", "extendedDescription", "title",
                                        "subCategory"};
  std::vector<std::string> answers(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    threads.emplace_back([&, i] {
      answers[i] = Refusal(app_->Patch(kAnn, "TASK", Id("t"), {{fields[i], "new"}}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  Item stored = app_.GetRaw(written.record);
  for (size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(answers[i], "");
    EXPECT_EQ(stored.Get(fields[i]), AttributeValue("new")) << fields[i];
  }
}

// A number counts exactly the changes that were acknowledged.
TEST(TripTest, TheVersionCountsTheChanges) {
  TestApp app("trip");
  Record policy = app.Plant(app.entity("Policy"));
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&, i] {
      std::string answer =
          Refusal(app->Patch(kAdmin, "Policy", TestApp::KeyFields(policy), {{"total_pages", i}}));
      EXPECT_TRUE(answer.empty() || answer == "Conflict") << answer;
      if (answer.empty()) ++done;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(done, 0);
  EXPECT_EQ(app.GetRaw(policy).Get("version"), AttributeValue(1 + done));
}

// --- flags ---

TEST(Flags, AreKeptForEveryEntity) {
  for (const char* name : {"auto", "pm", "pos", "trip"}) {
    TestApp app(name);
    for (const auto& entity : app->model().entities) {
      SCOPED_TRACE(entity->name);
      if (entity->name == "IntegrationConfig") continue;  // needs a master key; see Secrets
      Caller tenant{entity->Find("employeeId") || entity->Find("userId") ? "ann" : "", false, {}, "ann"};
      const std::string owned = app->model().tenant_until.empty() ? "ann" : "ann:guide:t1";
      AttributeMap own;
      if (!app->model().tenant.empty() && entity->Find(app->model().tenant) != nullptr)
        own[app->model().tenant] = owned;
      Record record = app.Plant(*entity, own);
      Item before = app.GetRaw(record);
      Item key = TestApp::KeyFields(record);
      if (entity->append_only) {
        EXPECT_EQ(Refusal(app->Patch(kAdmin, entity->name, key, {})), "Forbidden");
        EXPECT_EQ(Refusal(app->Delete(kAdmin, entity->name, key)), "Forbidden");
        AttributeMap again = key.ToMap();
        again.insert(own.begin(), own.end());
        EXPECT_EQ(Refusal(app->Put(kAdmin, entity->name, app.Sample(*entity, again))), "AlreadyExists");
      }
      if (entity->command_only) {
        EXPECT_EQ(Refusal(app->Create(tenant, entity->name, app.Sample(*entity, own))), "Forbidden");
        EXPECT_EQ(Refusal(app->Patch(tenant, entity->name, key, {})), "Forbidden");
        EXPECT_EQ(Refusal(app->Put(tenant, entity->name, app.Sample(*entity, own))), "Forbidden");
        EXPECT_EQ(Refusal(app->Delete(tenant, entity->name, key)), "Forbidden");
      }
      EXPECT_EQ(app.GetRaw(record), before);
    }
  }
}

// --- numbers in keys, tenants that are part of a text, patterns in C++ ---

constexpr const char* kThreads = R"(
model: threads
tenancy: {attribute: thread, until: ":"}
tables: {t: {name: Threads, key: {pk: S, sk: S}}}
entities:
  Post:
    key: {pk: "T#{thread}", sk: "P#{n:6}"}
    attributes: {thread: S!, n: N!, text: "S?"}
patterns:
  post: {get: Post}
  posts: {returns: Post, query: {pk: "T#{thread}", sk: begins_with P#}}
  after: {returns: Post, query: {pk: "T#{thread}", sk: "between P#{n+1:6} and P#~"}}
  some: {batch_get: Post, keys: rows, params: {rows: L!}}
  newest: {returns: Post, through: [posts, post], params: {thread: "!"}}
  sly: {returns: Post, through: [posts], params: {thread: "!"}}
)";

class ThreadsTest : public ::testing::Test {
 protected:
  static ApplicationOptions Options() {
    auto library = std::make_shared<CommandLibrary>();
    library->patterns["threads.newest"] = [](const PatternContext& context) -> Result<std::vector<Record>> {
      HF_TRY(std::vector<Record> all, context.ask("posts", context.parameters));
      if (all.empty()) return all;
      return context.ask("post", all.back().Fields());
    };
    library->patterns["threads.sly"] = [](const PatternContext& context) {
      return context.ask("post", context.parameters);
    };
    ApplicationOptions options;
    options.commands = library;
    return options;
  }
  std::vector<int64_t> Ask(std::string_view pattern, const Item& parameters, const Caller& caller = kAdmin) {
    std::vector<int64_t> numbers;
    for (const Record& record : Must(app_->Ask(caller, pattern, parameters, {})).records)
      numbers.push_back(record.Fields().Get("n")->AsInt64().value());
    return numbers;
  }

  TestApp app_{kThreads, {}, Options()};
};

TEST_F(ThreadsTest, NumbersInKeysSortAsNumbers) {
  for (int n : {10, 9, 100}) Must(app_->Create(kAnn, "Post", Item{{"thread", "ann:x"}, {"n", n}}));
  EXPECT_EQ(Ask("posts", Item{{"thread", "ann:x"}}), (std::vector<int64_t>{9, 10, 100}));
  EXPECT_EQ(Ask("after", Item{{"thread", "ann:x"}, {"n", 9}}), (std::vector<int64_t>{10, 100}));
  EXPECT_EQ(Ask("some",
                Item{{"rows", AttributeValue::List({AttributeValue::Map({{"thread", "ann:x"}, {"n", 9}}),
                                                    AttributeValue::Map({{"thread", "ann:x"}, {"n", 8}})})}}),
            (std::vector<int64_t>{9}));
  EXPECT_EQ(Refusal(app_->Create(kAnn, "Post", Item{{"thread", "ann:x"}, {"n", -1}})), "ValidationError");
  EXPECT_EQ(
      Refusal(app_->Create(kAnn, "Post", Item{{"thread", "ann:x"}, {"n", AttributeValue::Number("1.5")}})),
      "ValidationError");
}

TEST_F(ThreadsTest, ATenantIsWhatStandsBeforeTheSign) {
  Must(app_->Create(kAnn, "Post", Item{{"thread", "ann:x"}, {"n", 1}}));
  EXPECT_EQ(Refusal(app_->Create(kBob, "Post", Item{{"thread", "ann:x"}, {"n", 2}})), "NotFound");
  EXPECT_EQ(Refusal(app_->Create(kAnn, "Post", Item{{"thread", "anna:x"}, {"n", 2}})), "NotFound");
  EXPECT_EQ(Refusal(app_->Get(kBob, "Post", Item{{"thread", "ann:x"}, {"n", 1}})), "NotFound");
  EXPECT_EQ(Refusal(app_->Get(kAnn, "Post", Item{{"thread", "ann:x"}, {"n", 1}})), "");
  for (const char* pattern : {"posts", "newest"}) {
    EXPECT_EQ(Refusal(app_->Ask(kBob, pattern, Item{{"thread", "ann:x"}}, {})), "NotFound") << pattern;
    EXPECT_EQ(Ask(pattern, Item{{"thread", "ann:x"}}, kAnn), (std::vector<int64_t>{1})) << pattern;
  }
}

TEST_F(ThreadsTest, APatternInCodeKeepsToItsPlan) {
  for (int n : {1, 2}) Must(app_->Create(kAnn, "Post", Item{{"thread", "ann:x"}, {"n", n}}));
  EXPECT_EQ(Ask("newest", Item{{"thread", "ann:x"}}), (std::vector<int64_t>{2}));
  EXPECT_EQ(Must(app_->Explain(kAdmin, "newest", Item{{"thread", "ann:x"}})),
            (std::vector<std::string>{"Query Threads where pk = T#ann:x and begins_with(sk, P#)",
                                      "GetItem Threads {pk: T#ann:x, sk: P#<n>}"}));
  EXPECT_EQ(Refusal(app_->Ask(kAdmin, "sly", Item{{"thread", "ann:x"}}, {})), "Internal");
  EXPECT_EQ(Refusal(TestApp(kThreads)->Ask(kAdmin, "newest", Item{{"thread", "ann:x"}}, {})),
            "NotConfigured");
}

// --- parents ---

TEST(Parents, AreNeededByEveryChild) {
  for (const char* name : {"auto", "pm", "pos", "trip"}) {
    TestApp app(name);
    for (const auto& entity : app->model().entities) {
      if (entity->parents.empty()) continue;
      SCOPED_TRACE(entity->name);
      AttributeMap given;
      for (const auto& [theirs, own] : entity->parents[0].bind) given[own] = "gone";
      if (entity->name == "AgentAction") given["heldUntil"] = "2026-02-05T10:30:00.000Z";
      EXPECT_EQ(Refusal(app->Create(kAdmin, entity->name, app.Sample(*entity, given))), "NotFound");
    }
    EXPECT_EQ(app.CountItems(), 0U);
  }
}

TEST_F(PosTest, AGoalIsMovedBelowAGoalThatIsThere) {
  for (const char* id : {"g", "h"}) app_.Plant(app_.entity("GOAL"), {{"userId", "ann"}, {"id", id}});
  app_.Plant(app_.entity("GOAL"), {{"userId", "bob"}, {"id", "theirs"}});
  for (const char* parent : {"gone", "theirs"})
    EXPECT_EQ(Refusal(app_->Patch(kAnn, "GOAL", Id("g"), {{"parentGoalId", parent}})), "NotFound") << parent;
  EXPECT_EQ(Refusal(app_->Patch(kAnn, "GOAL", Id("g"), {{"parentGoalId", "g"}})), "RuleViolation");
  EXPECT_EQ(Refusal(app_->Patch(kAnn, "GOAL", Id("g"), {{"parentGoalId", "h"}})), "");
  Answer below = Must(app_->Ask(kAnn, "POS-A-31", {{"parentGoalId", "h"}}, {}));
  ASSERT_EQ(below.records.size(), 1U);
}

// --- throughput ---

// X-E-11, X-E-16: a lack of capacity is told as that, whatever form the write takes.
TEST_F(PosTest, ALackOfCapacityIsThrottledInEveryForm) {
  for (const char* id : {"g", "h"}) app_.Plant(app_.entity("GOAL"), {{"userId", "ann"}, {"id", id}});
  UpdateTableRequest limit;
  limit.table_name = kTable;
  limit.on_demand_throughput.emplace().max_write_request_units = 1;
  Must(app_.store->Run(limit));
  app_.PutRaw(kTable, Item{{"pk", "x"}, {"sk", "x"}, {"fill", std::string(390 * 1024, 'x')}});

  auto created = app_->Create(kAnn, "TASK", Task("t"));
  EXPECT_EQ(Refusal(created), "Throttled");
  EXPECT_EQ(created.error().detail()->refusal.http_status, 429);
  EXPECT_EQ(Detail(created, "retry_after"), AttributeValue(1));
  auto moved = app_->Patch(kAnn, "GOAL", Id("g"), {{"parentGoalId", "h"}});
  EXPECT_EQ(Refusal(moved), "Throttled") << "a transaction with its parent";
  EXPECT_EQ(Detail(moved, "retry_after"), AttributeValue(1));
  Item below = app_.Sample(app_.entity("GOAL"), {{"id", "i"}, {"parentGoalId", "h"}, {"userId", "ann"}});
  EXPECT_EQ(Refusal(app_->Create(kAnn, "GOAL", below)), "Throttled");
  EXPECT_EQ(Refusal(app_->Transact(kAnn, {{.entity = "TASK", .fields = Task("t")}})), "Throttled");
  auto ran = app_->Run(kAnn, "profile.put", {{"email", "ann@oak.example"}, {"displayName", "Ann"}});
  EXPECT_EQ(Refusal(ran), "Throttled");
  EXPECT_EQ(Detail(ran, "retry_after"), AttributeValue(1));
}

// --- older items ---

TEST_F(PosTest, AnOlderItemReadsWithDefaultsAndCanBeChanged) {
  Item old{
      {"pk", "USER#ann"}, {"sk", "TASK#t"}, {"entityType", "TASK"}, {"userId", "ann"},
      {"id", "t"},        {"title", "x"},   {"area", "Home"},       {"createdAt", "2026-01-01T00:00:00Z"}};
  app_.PutRaw(kTable, old);
  Item fields = Must(app_->Get(kAnn, "TASK", Id("t"))).Fields();
  EXPECT_EQ(fields.Get("priority"), AttributeValue("P3"));
  EXPECT_EQ(fields.Get("status"), AttributeValue("NotStarted"));
  EXPECT_EQ(fields.Get("goalIds"), AttributeValue::List({}));
  EXPECT_FALSE(fields.Has("pk"));
  EXPECT_FALSE(fields.Has("gsi1sk"));
  // It lacks what checks speak of, and even its state: what it reads as is what counts.
  EXPECT_EQ(Refusal(app_->Patch(kAnn, "TASK", Id("t"), {{"title", "y"}})), "");
  EXPECT_EQ(Refusal(app_->Patch(kAnn, "TASK", Id("t"), {{"status", "NotStarted"}})), "IllegalTransition");
  EXPECT_EQ(Refusal(app_->Patch(kAnn, "TASK", Id("t"), {{"status", "Done"}})), "");
  EXPECT_EQ(app_.GetRaw(kTable, {{"pk", "USER#ann"}, {"sk", "TASK#t"}}).Get("gsi1sk"),
            AttributeValue("Done#2026-01-01T00:00:00Z"));
  EXPECT_EQ(Must(app_->Ask(kAnn, "POS-A-22", {{"status", "Done"}}, {})).records.size(), 1U);
}

// --- expiry ---

TEST_F(PosTest, WhatHasExpiredIsNotThere) {
  Item fields = Task("t");
  fields.Set("ttl", app_.clock.NowSeconds() + 1);
  Written written = Must(app_->Create(kAnn, "TASK", fields));
  EXPECT_EQ(Must(app_->Ask(kAnn, "POS-A-02", {}, {})).records.size(), 1U);
  app_.clock.Advance(1000);
  EXPECT_EQ(Refusal(app_->Get(kAnn, "TASK", Id("t"))), "NotFound");
  EXPECT_EQ(Refusal(app_->Patch(kAnn, "TASK", Id("t"), {{"notes", "a"}})), "NotFound");
  EXPECT_EQ(Refusal(app_->Delete(kAnn, "TASK", Id("t"))), "NotFound");
  for (const char* pattern : {"POS-A-02", "POS-A-22"}) {
    Item parameters = pattern == std::string("POS-A-22") ? Item{{"status", "NotStarted"}} : Item();
    EXPECT_EQ(Must(app_->Ask(kAnn, pattern, parameters, {})).records.size(), 0U) << pattern;
  }
  EXPECT_FALSE(app_.GetRaw(written.record).empty()) << "the engine still holds it";
}

// --- tenants ---

// A second user sees nothing of the first through any entity or pattern.
TEST(Tenants, SeeNothingOfEachOther) {
  for (bool scoped : {false, true}) {
    TestApp app("pos", {{"tenant_scope", scoped}});
    size_t count = 0;
    for (const auto& entity : app->model().entities) {
      SCOPED_TRACE(entity->name);
      Record record = app.Plant(*entity, {{"userId", "ann"}});
      Item key = TestApp::KeyFields(record);
      Item before = app.GetRaw(record);
      EXPECT_EQ(Refusal(app->Get(kAnn, entity->name, key)), "");
      for (bool guessed : {false, true}) {
        if (guessed) key.Remove("userId");  // then it is bob's own
        EXPECT_EQ(Refusal(app->Get(kBob, entity->name, key)), "NotFound");
        if (!entity->append_only && !entity->command_only) {
          EXPECT_EQ(Refusal(app->Patch(kBob, entity->name, key, {})), "NotFound");
          EXPECT_EQ(Refusal(app->Delete(kBob, entity->name, key)), "NotFound");
        }
      }
      EXPECT_EQ(app.GetRaw(record), before);
      ++count;
    }
    EXPECT_EQ(count, 21U);
    for (const auto& pattern : app->model().patterns) {
      SCOPED_TRACE(pattern->id);
      AttributeMap parameters;
      for (const model::Attribute& param : pattern->params) {
        if (param.name == "userId" || param.name == "date") continue;
        parameters[param.name] = !param.choices.empty()                ? AttributeValue(param.choices[0])
                                 : param.kind == model::Kind::kInstant ? AttributeValue("2026-02-04")
                                 : param.kind == model::Kind::kDate    ? AttributeValue("2026-02-04")
                                 : param.name == "status"              ? AttributeValue("Active")
                                                                       : AttributeValue("any-" + param.name);
      }
      // What ann sees with the ids of her things, bob does not with the same.
      auto see = [&](const Caller& caller, AttributeMap with) -> size_t {
        auto answer = app->Ask(caller, pattern->id, Item(with), {});
        if (!answer) {
          EXPECT_EQ(Refusal(answer), "NotFound");
          return 0;
        }
        size_t seen = answer->records.size();
        for (const auto& [name, part] : answer->parts) seen += part.records.size();
        return seen;
      };
      EXPECT_EQ(see(kBob, parameters), 0U);
      parameters["userId"] = "ann";
      EXPECT_EQ(Refusal(app->Ask(kBob, pattern->id, Item(parameters), {})), "NotFound");
    }
  }
}

TEST_F(PosTest, ATenantWritesOnlyItsOwn) {
  Item fields = Task("t");
  fields.Set("userId", "ann");
  EXPECT_EQ(Refusal(app_->Create(kBob, "TASK", fields)), "NotFound");
  app_.Plant(app_.entity("METRIC"), {{"userId", "ann"}, {"id", "m"}});
  EXPECT_EQ(Refusal(app_->Create(kBob, "METRIC_LOG", {{"metricId", "m"}, {"value", 1}})), "NotFound");
  EXPECT_EQ(app_.CountItems(), 1U);
}

// A transaction of a pattern writes for the caller, whatever its templates say.
TEST(Tenants, WriteTheirOwnInTransactionsToo) {
  TestApp app(R"(model: desk
tenancy: {attribute: user}
tables: {notes: {name: Notes, key: {user: S, id: S}}}
entities:
  Note: {attributes: {user: S!, id: S!, text: S!}}
patterns:
  both:
    transact:
      - {put: Note, set: {user: "{whom}", id: "{id}", text: "{text}"}}
    params: {whom: S, id: S, text: S}
)");
  Item ask{{"whom", "ann"}, {"id", "n"}, {"text", "x"}};
  EXPECT_EQ(Refusal(app->Ask(kBob, "both", ask, {})), "NotFound");
  EXPECT_EQ(app.CountItems(), 0U);
  EXPECT_EQ(Refusal(app->Ask(kAnn, "both", ask, {})), "");
}

// --- cursors ---

TEST_F(PosTest, ACursorIsGoodForItsQuestionOnly) {
  for (int i = 0; i < 5; ++i) Must(app_->Create(kAnn, "TASK", Task("t" + std::to_string(i))));
  PageRequest page{2, ""};
  page.cursor = Must(app_->Ask(kAnn, "POS-A-02", {}, page)).cursor;
  ASSERT_NE(page.cursor, "");
  EXPECT_EQ(Refusal(app_->Ask(kAnn, "POS-A-02", {}, page)), "");
  EXPECT_EQ(Refusal(app_->Ask(kBob, "POS-A-02", {}, page)), "InvalidCursor");
  EXPECT_EQ(Refusal(app_->Ask(kAnn, "POS-A-04", {}, page)), "InvalidCursor");
  EXPECT_EQ(Refusal(app_->Ask(kAnn, "POS-A-22", {{"status", "NotStarted"}}, page)), "InvalidCursor");
  for (int64_t limit : {0, -1, 1001}) {
    PageRequest bad{limit, ""};
    EXPECT_EQ(Refusal(app_->Ask(kAnn, "POS-A-02", {}, bad)), "ValidationError");
  }
  EXPECT_EQ(Refusal(app_->Ask(kAnn, "POS-A-02", {{"colour", "red"}}, {})), "ValidationError");
}

// --- index keys ---

// An item enters an index with all of its key when the last attribute of it comes.
TEST(Indexes, AreEnteredAndLeftAsAWhole) {
  TestApp app(R"(model: desk
tables: {main: {name: Desk, key: {pk: S}, indexes: {byOwner: {key: {gpk: S, gsk: S}}}}}
entities:
  Note:
    key: {pk: "NOTE#{id}"}
    indexes: {byOwner: {gpk: "OWNER#{owner}", gsk: "{rank}#{id}"}}
    attributes: {id: S!, owner: S, rank: S}
patterns:
  of: {returns: Note, index: byOwner, query: {gpk: "OWNER#{owner}"}}
)");
  auto seen = [&] { return Must(app->Ask(kAdmin, "of", {{"owner", "ann"}}, {})).records.size(); };
  Written note = Must(app->Create(kAdmin, "Note", {{"id", "n"}, {"rank", "a"}}));
  EXPECT_FALSE(note.record.stored().Has("gsk"));
  Must(app->Patch(kAdmin, "Note", Id("n"), {{"owner", "ann"}}));
  EXPECT_EQ(seen(), 1U);
  Must(app->Patch(kAdmin, "Note", Id("n"), {{"rank", nullptr}}));
  EXPECT_EQ(seen(), 0U);
  EXPECT_FALSE(app.GetRaw(note.record).Has("gpk")) << "half a key was left";
  Must(app->Patch(kAdmin, "Note", Id("n"), {{"rank", "b"}}));
  EXPECT_EQ(seen(), 1U);
}

// --- rules ---

TEST_F(PosTest, SumsAreExact) {
  Item goal{{"id", "g"}, {"title", "x"}, {"area", "Home"}, {"timeHorizon", "Daily"}};
  auto weights = [](const char* a, const char* b, const char* c, const char* d) {
    return AttributeValue::Map({{"criteriaWeight", AttributeValue::Number(std::string(a))},
                                {"tasksWeight", AttributeValue::Number(std::string(b))},
                                {"metricsWeight", AttributeValue::Number(std::string(c))},
                                {"habitsWeight", AttributeValue::Number(std::string(d))}});
  };
  goal.Set("progressConfig", weights("33.1", "33.2", "33.6", "0.1"));
  EXPECT_EQ(Refusal(app_->Create(kAnn, "GOAL", goal)), "");
  goal.Set("id", "h");
  goal.Set("progressConfig", weights("33.1", "33.2", "33.6", "0.10000000000000000001"));
  EXPECT_EQ(Refusal(app_->Create(kAnn, "GOAL", goal)), "SchemaInvalid");
  goal.Set("progressConfig", AttributeValue::Map({}));
  Item made = Must(app_->Create(kAnn, "GOAL", goal)).record.stored();
  EXPECT_EQ(made.Get("progressConfig")->AsMap().at("criteriaWeight"), AttributeValue(40));
}

// A text that names a schema may change only together with what it describes.
TEST(Rules, AChangedTypeIsJudgedWithItsContent) {
  TestApp app(R"(model: desk
tables: {main: {name: Desk, key: {id: S}}}
entities:
  Note:
    attributes: {id: S!, type: "S! {text|count}", content: {type: M!, schema: "{type}"}}
schemas:
  text: {fields: {words: S!}}
  count: {fields: {number: N!}}
)");
  AttributeValue words = AttributeValue::Map({{"words", "a"}});
  Must(app->Create(kAdmin, "Note", {{"id", "n"}, {"type", "text"}, {"content", words}}));
  EXPECT_EQ(Refusal(app->Patch(kAdmin, "Note", Id("n"), {{"type", "count"}})), "SchemaInvalid");
  AttributeValue number = AttributeValue::Map({{"number", 1}});
  EXPECT_EQ(Refusal(app->Patch(kAdmin, "Note", Id("n"), {{"type", "count"}, {"content", number}})), "");
}

// --- secrets ---

class Secrets : public ::testing::Test {
 protected:
  Secrets() : directory_(::testing::TempDir() + "/holdfast-secrets-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(directory_);
  }
  ~Secrets() override { std::filesystem::remove_all(directory_); }

  const std::string directory_;
};

TEST_F(Secrets, ArePlainNowhere) {
  const std::string plain = "hunter2-never-on-disk";
  auto keys = std::make_shared<MasterKeys>();
  keys->id = "test";
  keys->versions.resize(1);
  keys->current = 1;
  {
    ApplicationOptions options;
    options.master_keys = keys;
    Options database;
    database.directory = directory_;
    TestApp app("pm", {}, std::move(options), database);
    Item key{{"integration", "jira"}};
    Written written =
        Must(app->Create(kAdmin, "IntegrationConfig", {{"integration", "jira"}, {"configEncrypted", plain}}));
    EXPECT_EQ(written.record.Fields().Get("configEncrypted"), AttributeValue(true));
    Record read = Must(app->Get(kAdmin, "IntegrationConfig", key));
    EXPECT_EQ(Must(app->Reveal(read, "configEncrypted", "integration")), AttributeValue(plain));
    EXPECT_EQ(Refusal(app->Reveal(read, "configEncrypted", "reader")), "Forbidden");
    EXPECT_EQ(Refusal(app->Reveal(read, "configEncrypted", "")), "Forbidden");
    EXPECT_EQ(Refusal(app->Reveal(read, "status", "integration")), "ValidationError");
    // What a read shows is not what a write takes: the secret would be lost.
    EXPECT_EQ(Refusal(app->Patch(kAdmin, "IntegrationConfig", key, {{"configEncrypted", true}})),
              "ValidationError");
    Must(app->Patch(kAdmin, "IntegrationConfig", key, {{"status", "error"}}));
    read = Must(app->Get(kAdmin, "IntegrationConfig", key));
    EXPECT_EQ(Must(app->Reveal(read, "configEncrypted", "integration")), AttributeValue(plain));
    // Bound to its integration: under another it does not open.
    Item moved = read.stored();
    moved.Set("PK", "INTEGRATION#asana");
    moved.Set("integration", "asana");
    app.PutRaw(written.record.entity()->table->name, moved);
    Record stolen = Must(app->Get(kAdmin, "IntegrationConfig", {{"integration", "asana"}}));
    EXPECT_EQ(Refusal(app->Reveal(stolen, "configEncrypted", "integration")), "DecryptFailed");
    EXPECT_EQ(Refusal(app->Create(kAdmin, "IntegrationConfig",
                                  {{"integration", "resend"}, {"configEncrypted", 7}})),
              "ValidationError");
  }
  size_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    bytes += content.str().size();
    EXPECT_EQ(content.str().find(plain), std::string::npos) << entry.path();
  }
  EXPECT_GT(bytes, 0U);
}

TEST_F(Secrets, NeedAMasterKey) {
  TestApp app("pm");
  Item config{{"integration", "jira"}, {"configEncrypted", "x"}};
  EXPECT_EQ(Refusal(app->Create(kAdmin, "IntegrationConfig", config)), "NotConfigured");
  EXPECT_EQ(app.CountItems(), 0U);
}

// --- the rest ---

TEST(PmTest, DefaultsAreWrittenOnceAndNeverOverAValue) {
  TestApp app("pm");
  Must(app->Create(kAdmin, "AgentConfig", {{"key", "hold_queue_minutes"}, {"value", 5}}));
  EXPECT_EQ(Must(app->WriteDefaults()), 3U);
  EXPECT_EQ(Must(app->WriteDefaults()), 0U);
  EXPECT_EQ(Must(app->Get(kAdmin, "AgentConfig", {{"key", "hold_queue_minutes"}})).Fields().Get("value"),
            AttributeValue(5));
  for (const auto& report : Must(app->Compare())) EXPECT_EQ(report.status, "as it should be");
}

// TRIP-A-23: the map in memory follows every write.
TEST(TripTest, LiveConnectionsFollowTheWrites) {
  TestApp app("trip");
  auto live = [&] { return Must(app->Ask(kAnn, "TRIP-A-23", {}, {})).records.size(); };
  Item connection{{"connectionId", "c1"}, {"employeeId", "ann"}};
  Must(app->Create(kAnn, "Connection", connection));
  EXPECT_EQ(live(), 1U);
  connection.Set("connectionId", "c2");
  Must(app->Ask(kAnn, "TRIP-A-07", connection, {}));
  EXPECT_EQ(live(), 2U);
  EXPECT_EQ(Must(app->Ask(kBob, "TRIP-A-23", {}, {})).records.size(), 0U);
  Must(app->Ask(kAnn, "TRIP-A-09", {{"connectionId", "c1"}}, {}));
  EXPECT_EQ(live(), 1U);
  app.clock.Advance(2 * 3600 * 1000);
  EXPECT_EQ(live(), 0U);
}

// A store that counts, and lets the test do something between a scan and its answer.
class Interrupted final : public Store {
 public:
  explicit Interrupted(Store* store, bool tells = true) : store_(*store), tells_(tells) {}

#define HF_OPERATION(name)                                                               \
  void Execute(const name##Request& request, Completion<name##Response> done) override { \
    store_.Execute(request, std::move(done));                                            \
    if constexpr (std::is_same_v<name##Request, ScanRequest>) Scanned();                 \
    if constexpr (std::is_same_v<name##Request, TransactWriteItemsRequest>) ++writes;    \
  }
  HF_STORE_OPERATIONS(HF_OPERATION)
#undef HF_OPERATION
  Result<std::unique_ptr<TableWatch>> Watch(const std::string& table,
                                            const std::optional<std::string>& from) override {
    return store_.Watch(table, from);
  }
  StoreAbilities abilities() const override {
    return {.tells_changes_at_once = tells_};
  }
  std::string name() const override {
    return store_.name();
  }

  std::function<void()> after_scan = [] {};  // the next one, once
  int scans = 0;
  int writes = 0;  // transactions

 private:
  void Scanned() {
    ++scans;
    std::exchange(after_scan, [] {})();
  }

  Store& store_;
  const bool tells_;
};

// A key that another tenant holds is to a command as if nothing stood there, and stays so when it is tried
// again: it was tried five times, with pauses, and then called a conflict, which told that something is
// there.
TEST(Tenancy, WhatAnotherHoldsIsNotThere) {
  constexpr const char* kSeats = R"(model: desk
tenancy: {attribute: userId}
tables: {main: {name: Desk, key: {id: S}}}
entities:
  Seat: {key: {id: "SEAT#{seat}"}, attributes: {seat: S!, userId: S!}}
  Note: {key: {id: "NOTE#{note}"}, attributes: {note: S!, userId: S!, text: S!}}
commands:
  seat.look:
    input: {seat: S!}
    read: {seat: {get: Seat, key: {seat: $input.seat}, optional: true}}
    refuse: [{name: Conflict, when: seat exists, message: taken}]
    write: [{put: Note, set: {note: $input.seat, text: free}}]
  seat.take:
    input: {seat: S!}
    read: {seat: {get: Seat, key: {seat: $input.seat}, optional: true}}
    write: [{save: seat}]
)";
  TestApp app(kSeats);
  Must(app->Create(kBob, "Seat", {{"seat", "1"}}));
  Interrupted store(app.store.get());
  auto counted = Must(Application::Open(&store, Must(model::LoadModel(kSeats, "test.yaml", {})), {}));
  EXPECT_EQ(Refusal(counted->Run(kAnn, "seat.look", {{"seat", "1"}})), "");
  EXPECT_EQ(Must(app->Get(kAnn, "Note", {{"note", "1"}})).Fields().Get("text"), AttributeValue("free"));
  EXPECT_EQ(Refusal(counted->Run(kAnn, "seat.take", {{"seat", "1"}})), "NotFound");
  EXPECT_EQ(store.writes, 1) << "one for what was written, none for what cannot be";
  EXPECT_EQ(Must(app->Get(kBob, "Seat", {{"seat", "1"}})).Fields().Get("userId"), AttributeValue("bob"));
  EXPECT_EQ(Refusal(counted->Run(kAnn, "seat.take", {{"seat", "2"}})), "");
}

constexpr const char* kDesk = R"(model: desk
tables: {main: {name: Desk, key: {who: S, id: S}, ttl: until}}
entities:
  Note: {attributes: {who: S!, id: S!, text: "S?", until: "epoch?"}}
patterns:
  all: {scan: Note}
  of: {memory: {from: all, by: who}}
)";

// What is written while a map in memory is filled was missing from it until the next start: the older scan
// was laid over it. Both ways in which a map follows its table.
TEST(Memory, HasWhatWasWrittenWhileItWasFilled) {
  for (bool tells : {true, false}) {
    TestApp app(kDesk);
    Interrupted store(app.store.get(), tells);
    ApplicationOptions options;
    options.now_millis = [&] { return app.clock.NowMillis(); };
    auto held = Must(Application::Open(&store, Must(model::LoadModel(kDesk, "test.yaml", {})), options));
    Must(held->Create(kAdmin, "Note", {{"who", "ann"}, {"id", "gone"}}));
    Must(held->Create(kAdmin, "Note", {{"who", "ann"}, {"id", "changed"}, {"text", "old"}}));
    store.after_scan = [&] {
      Must(held->Create(kAdmin, "Note", {{"who", "ann"}, {"id", "new"}}));
      Must(held->Patch(kAdmin, "Note", {{"who", "ann"}, {"id", "changed"}}, {{"text", "new"}}));
      Must(held->Delete(kAdmin, "Note", {{"who", "ann"}, {"id", "gone"}}));
    };
    for (int again = 0; again < 2; ++again) {
      std::string seen;
      for (const Record& record : Must(held->Ask(kAdmin, "of", {{"who", "ann"}}, {})).records)
        seen += record.stored().Get("id")->AsText() + "=" +
                record.stored().Get("text").value_or("").AsText() + " ";
      EXPECT_EQ(seen, "new= changed=new ") << "the store " << (tells ? "tells" : "does not tell");
    }
    EXPECT_EQ(store.scans, 1) << "it is a map in memory";
  }
}

// Others write to the table too: plain SDKs, other applications, and TTL, whose removals are changes like
// others.
TEST(Memory, FollowsWhateverChangesTheTable) {
  TestApp app(kDesk);
  auto seen = [&](const char* who) {
    return Must(app->Ask(kAdmin, "of", {{"who", who}}, {})).records.size();
  };
  EXPECT_EQ(seen("ann"), 0U);
  app.PutRaw("Desk", {{"who", "ann"}, {"id", "1"}});
  EXPECT_EQ(seen("ann"), 1U);
  DeleteItemRequest remove;
  remove.table_name = "Desk";
  remove.key = {{"who", "ann"}, {"id", "1"}};
  Must(app.store->Run(remove));
  EXPECT_EQ(seen("ann"), 0U);
  // Anything may stand in a row that was written past the model.
  app.PutRaw("Desk",
             {{"who", "ann"}, {"id", "2"}, {"text", AttributeValue::List({1, "a"})}, {"until", "never"}});
  EXPECT_LE(seen("ann"), 1U);
  // A table that was made anew is another one.
  Must(app.store->Run(DeleteTableRequest{"Desk"}));
  Must(app->Apply());
  EXPECT_EQ(seen("ann"), 0U);
  app.PutRaw("Desk", {{"who", "bob"}, {"id", "1"}});
  EXPECT_EQ(seen("bob"), 1U);
}

// A map in memory is a list of what its source gives: a condition there would not be looked at again.
TEST(Memory, IsFilledByAPlainScan) {
  std::string model = std::string(kDesk) + "  some: {scan: Note, keep: [text exists]}\n" +
                      "  kept: {memory: {from: some, by: who}}\n";
  auto loaded = model::LoadModel(model, "m.yaml", {});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message().find("is filled by some, which is not a scan without conditions"),
            std::string::npos)
      << loaded.error().message();
}

// A caller that was forgotten was an administrator.
TEST(Callers, NobodyMayDoNothing) {
  TestApp app(kDesk);
  const Caller nobody;
  Item note{{"who", "ann"}, {"id", "1"}};
  Must(app->Create(kAdmin, "Note", note));
  EXPECT_EQ(Refusal(app->Create(nobody, "Note", note)), "Forbidden");
  EXPECT_EQ(Refusal(app->Put(nobody, "Note", note)), "Forbidden");
  EXPECT_EQ(Refusal(app->Patch(nobody, "Note", note, {{"text", "x"}})), "Forbidden");
  EXPECT_EQ(Refusal(app->Get(nobody, "Note", note)), "Forbidden");
  EXPECT_EQ(Refusal(app->Delete(nobody, "Note", note)), "Forbidden");
  EXPECT_EQ(Refusal(app->List(nobody, "Note", {{"who", "ann"}}, {})), "Forbidden");
  EXPECT_EQ(Refusal(app->Ask(nobody, "all", {}, {})), "Forbidden");
  EXPECT_EQ(Refusal(app->Explain(nobody, "all", {})), "Forbidden");
  EXPECT_EQ(Refusal(app->Run(nobody, "any", {})), "Forbidden");
  EXPECT_EQ(Refusal(app->Transact(nobody, {})), "Forbidden");
  EXPECT_EQ(Refusal(app->MayRead(nobody, "Note")), "Forbidden");
  EXPECT_EQ(Refusal(app->Get(kAdmin, "Note", note)), "");
}

// A map in memory also follows what is written in batches.
TEST(Memory, FollowsBatches) {
  TestApp app(R"(model: desk
tables: {main: {name: Desk, key: {who: S, id: S}}}
entities:
  Note: {attributes: {who: S!, id: S!}}
patterns:
  all: {scan: Note}
  of: {memory: {from: all, by: who}}
  add: {put_all: Note}
  clear: {delete_all: Note, query: {who: "{who}"}}
)");
  auto seen = [&] { return Must(app->Ask(kAdmin, "of", {{"who", "ann"}}, {})).records.size(); };
  EXPECT_EQ(seen(), 0U);
  auto note = [](const char* id) { return AttributeValue::Map({{"who", "ann"}, {"id", id}}); };
  Must(app->Ask(kAdmin, "add", {{"items", AttributeValue::List({note("1"), note("2")})}}, {}));
  EXPECT_EQ(seen(), 2U);
  Must(app->Ask(kAdmin, "clear", {{"who", "ann"}}, {}));
  EXPECT_EQ(seen(), 0U);
}

// POS-R-23: what a user's tasks cost does not grow with the other users'.
TEST(TenantScope, CostsTheSameAmongMany) {
  auto units = [](TestApp& app, bool scoped) {
    QueryRequest query;
    query.table_name = kTable;
    query.index_name = scoped ? "GSI1U" : "GSI1";
    query.key_condition_expression = "gsi1pk = :k AND begins_with(gsi1sk, :s)";
    query.expression_attribute_values = Item{{":k", "TASK"}, {":s", "NotStarted#"}};
    if (scoped) {
      *query.key_condition_expression += " AND userId = :u";
      query.expression_attribute_values->Set(":u", "ann");
    }
    query.return_consumed_capacity = ReturnConsumedCapacity::kTotal;
    return Must(app.store->Run(query)).consumed_capacity->capacity_units;
  };
  std::map<bool, std::vector<std::string>> given;
  for (bool scoped : {false, true}) {
    TestApp app("pos", {{"tenant_scope", scoped}});
    auto ask = [&] {
      given[scoped].clear();
      for (const Record& record : Must(app->Ask(kAnn, "POS-A-22", {{"status", "NotStarted"}}, {})).records)
        given[scoped].push_back(record.stored().Get("id")->AsText());
    };
    std::vector<std::string> plan = Must(app->Explain(kAnn, "POS-A-22", {{"status", "NotStarted"}}));
    EXPECT_EQ(plan[0].find("GSI1U") != std::string::npos, scoped) << plan[0];
    EXPECT_EQ(plan[0].find("filter") == std::string::npos, scoped) << plan[0];
    for (int i = 0; i < 10; ++i) {
      app.clock.Advance(1);
      Must(app->Create(kAnn, "TASK", Task("t" + std::to_string(9 - i))));
    }
    double alone = units(app, scoped);
    ask();
    std::vector<std::string> before = given[scoped];
    EXPECT_EQ(before.size(), 10U);
    for (int i = 0; i < 2000; ++i)
      Must(app->Create(Caller::Tenant("u" + std::to_string(i)), "TASK", Task("t")));
    ask();
    EXPECT_EQ(given[scoped], before);
    if (scoped)
      EXPECT_EQ(units(app, scoped), alone);
    else
      EXPECT_GT(units(app, scoped), alone);
  }
  EXPECT_EQ(given[true], given[false]);
}

}  // namespace
}  // namespace holdfast
