// Applications under concurrency: several callers of one command at once, on a real database. Built with the
// thread sanitizer too (scripts/sanitize.sh), which sees what a lucky schedule hides.

#include <atomic>
#include <barrier>
#include <set>
#include <thread>

#include "apps/apps.h"
#include "models/test_app.h"

namespace holdfast {
namespace {

using testing::Must;
using testing::Refusal;
using testing::TestApp;

// Calls it on so many threads that begin together.
void AtOnce(int callers, const std::function<void(int)>& call) {
  std::barrier begin(callers);
  std::vector<std::jthread> threads;
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      call(i);
    });
  }
}

ApplicationOptions With(std::shared_ptr<const CommandLibrary> commands) {
  ApplicationOptions options;
  options.commands = std::move(commands);
  options.embedder = "demo";
  return options;
}

// --- ingestions of one policy ---

class IngestionTest : public ::testing::Test {
 protected:
  IngestionTest() : app_("trip", {}, With(apps::ShippedCommands(nullptr))) {
    policy_ = app_.Plant(app_.entity("Policy"), {{"id", id_}, {"status", "processing"}}).stored();
  }
  // As after somebody asked for the policy to be read again.
  int64_t Process() {
    Record policy = Must(app_->Get(Caller::Administrator(), "Policy", Item{{"id", id_}}));
    Item stored = policy.stored();
    stored.Set("status", "processing");
    app_.PutRaw(policy.entity()->table->name, stored);
    return stored.Get("version")->AsInt64().value_or(0);
  }
  Result<CommandAnswer> Ingest(int by, int64_t version, size_t chunks) {
    std::vector<AttributeValue> list;
    for (size_t i = 0; i < chunks; ++i) {
      std::string text = "by " + std::to_string(by) + ", part " + std::to_string(i);
      list.push_back(AttributeValue::Map({{"content_type", "text"}, {"content_text", text}}));
    }
    return app_->Run(
        Caller::Administrator(), "policy.ingest",
        Item{{"id", id_}, {"expectedVersion", version}, {"chunks", AttributeValue::List(std::move(list))}});
  }
  AttributeValue ActiveGeneration() {
    Item policy = Must(app_->Get(Caller::Administrator(), "Policy", Item{{"id", id_}})).Fields();
    return policy.Get("active_generation").value_or(AttributeValue());
  }
  static std::string WriterOf(const Item& chunk) {
    std::string text = chunk.Get("content_text").value_or(AttributeValue()).AsText();
    return text.substr(0, text.find(','));
  }

  const std::string id_ = "5f0c2b1e-7a44-4d09-9c1b-000000000042";
  TestApp app_;
  Item policy_;
};

// A mutex that was destroyed while it was held let ingestions of one policy run together: the server aborted,
// or a search saw passages of several.
TEST_F(IngestionTest, OfOnePolicyHappenOneAfterAnother) {
  constexpr int kCallers = 4, kRounds = 3;
  constexpr size_t kChunks = 60;
  for (int round = 1; round <= kRounds; ++round) {
    int64_t version = Process();
    std::atomic<int> won{-1};
    std::atomic<int> ingested{0};
    AtOnce(kCallers, [&](int caller) {
      auto done = Ingest(caller, version, kChunks);
      if (done) {
        ++ingested;
        won = caller;
        return;
      }
      std::string name = Refusal(done);
      EXPECT_TRUE(name == "VersionConflict" || name == "IllegalTransition") << done.error().ToString();
    });
    ASSERT_EQ(ingested.load(), 1);
    // What is searched is the winner's, and all of it.
    const std::string winner = "by " + std::to_string(won.load());
    AttributeValue active = ActiveGeneration();
    size_t chunks = 0;
    PageRequest page;
    page.limit = 1000;
    do {
      Answer answer =
          Must(app_->List(Caller::Administrator(), "PolicyChunk", Item{{"policy_id", id_}}, page));
      for (const Record& record : answer.records) {
        Item chunk = record.Fields();
        if (chunk.Get("generation") != active) continue;
        ++chunks;
        EXPECT_EQ(WriterOf(chunk), winner);
      }
      page.cursor = answer.cursor;
    } while (!page.cursor.empty());
    EXPECT_EQ(chunks, kChunks);
    Answer found = Must(app_->Ask(Caller::Administrator(), "TRIP-A-01",
                                  Item{{"text", winner + ", part 7"}, {"threshold", 0}}, {}));
    EXPECT_FALSE(found.records.empty());
    for (const Record& record : found.records) EXPECT_EQ(WriterOf(record.Fields()), winner);
  }
}

// --- idempotency keys of commands in C++ ---

constexpr const char* kCounterModel = R"(
model: counter
tables: {t: {name: Counters, key: {pk: S, sk: S}}}
entities:
  Count:
    key: {pk: "C#{id}", sk: C}
    attributes: {id: S!}
commands:
  count.up:
    id: C-1
    title: Counts
    input: {by: N!}
    handler: true
)";

// Counts how often its C++ runs, and can be told to stop in the middle.
class KeyedHandlerTest : public ::testing::Test {
 protected:
  KeyedHandlerTest() : app_(kCounterModel, {}, With(Library())) {}

  std::shared_ptr<const CommandLibrary> Library() {
    auto library = std::make_shared<CommandLibrary>();
    library->handlers["counter.count.up"] = [this](const CommandContext& context) -> Result<CommandAnswer> {
      int run = ++runs_;
      ids_.insert(context.request_id);
      if (in_the_middle_) in_the_middle_();
      CommandAnswer answer;
      answer.changed = true;
      answer.result = Item{{"run", run}};
      return answer;
    };
    return library;
  }
  Result<CommandAnswer> Run(const std::string& key, int by = 1) {
    return app_->Run(Caller::Administrator(), "count.up", Item{{"by", by}}, {key});
  }

  std::atomic<int> runs_{0};
  std::set<std::string> ids_;  // by the one that runs
  std::function<void()> in_the_middle_;
  TestApp app_;
};

// A request that is sent twice, as by a proxy that lost patience, must not be carried out twice.
TEST_F(KeyedHandlerTest, OfTwoWithTheSameKeyAtOnceOneRuns) {
  constexpr int kCallers = 8;
  std::atomic<int> begun{0}, first{0}, replayed{0};
  // The one that runs goes on when all others have begun.
  in_the_middle_ = [&] {
    while (begun < kCallers) std::this_thread::yield();
  };
  AtOnce(kCallers, [&](int) {
    ++begun;
    auto answer = Run("k-1");
    ASSERT_TRUE(answer) << answer.error().ToString();
    EXPECT_EQ(answer->result, (Item{{"run", 1}}));
    ++(answer->replayed ? replayed : first);
  });
  EXPECT_EQ(runs_.load(), 1);
  EXPECT_EQ(first.load(), 1);
  EXPECT_EQ(replayed.load(), kCallers - 1);
  EXPECT_EQ(Refusal(Run("k-1", 2)), "IdempotencyMismatch");
  EXPECT_TRUE(Run("k-2"));
  EXPECT_EQ(runs_.load(), 2);
}

// While one is at work for longer than anybody waits, the other is told so, and runs nothing.
TEST_F(KeyedHandlerTest, ALongOneIsAConflictForTheOther) {
  in_the_middle_ = [&] { EXPECT_EQ(Refusal(Run("k-1")), "Conflict"); };
  EXPECT_TRUE(Run("k-1"));
  EXPECT_EQ(runs_.load(), 1);
  EXPECT_TRUE(Must(Run("k-1")).replayed);
}

// A program that is killed in the middle leaves a claim behind. It keeps others off until it lapses; then the
// request is carried out again, under the same id, so that its steps can tell.
TEST_F(KeyedHandlerTest, ARequestThatWasKilledRunsAgainWhenItsClaimHasLapsed) {
  Item left;
  in_the_middle_ = [&] {
    ScanRequest scan;
    scan.table_name = "holdfast-idempotency";
    left = Must(app_.store->Run(scan)).items->at(0);
  };
  ASSERT_TRUE(Run("k-1"));
  in_the_middle_ = nullptr;
  app_.PutRaw("holdfast-idempotency", left);  // as if that had been its end
  EXPECT_EQ(Refusal(Run("k-1")), "Conflict");
  EXPECT_EQ(runs_.load(), 1);
  app_.clock.Advance(31'000);
  auto again = Run("k-1");
  ASSERT_TRUE(again) << again.error().ToString();
  EXPECT_FALSE(again->replayed);
  EXPECT_EQ(runs_.load(), 2);
  EXPECT_EQ(ids_.size(), 1U) << "the two have different ids";
  EXPECT_TRUE(Must(Run("k-1")).replayed);
}

// A refusal is not kept: the claim is given up at once.
TEST_F(KeyedHandlerTest, ARefusalFreesTheKey) {
  auto library = std::make_shared<CommandLibrary>();
  bool refuse = true;
  library->handlers["counter.count.up"] = [&](const CommandContext&) -> Result<CommandAnswer> {
    if (refuse) return model::Refuse("RuleViolation", "not now");
    return CommandAnswer();
  };
  TestApp app(kCounterModel, {}, With(library));
  Item input{{"by", 1}};
  EXPECT_EQ(Refusal(app->Run(Caller::Administrator(), "count.up", input, {"k"})), "RuleViolation");
  refuse = false;
  EXPECT_EQ(Refusal(app->Run(Caller::Administrator(), "count.up", input, {"k"})), "");
}

}  // namespace
}  // namespace holdfast
