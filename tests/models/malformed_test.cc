// A writer of a table may store anything in it. Every item of the shipped models is stored with each of
// its attributes missing, and replaced by each type there is; everything that reads such an item must give an
// answer or a refusal. An exception would end a server, at each start again while the item is there.
//
// HOLDFAST_TEST_ENDPOINT is not for this one: it stores some ten thousand items.

#include <functional>
#include <set>

#include "apps/apps.h"
#include "apps/chores.h"
#include "model/command.h"
#include "models/store_world.h"

namespace holdfast {
namespace {

using testing::ItemOf;
using testing::Must;
using testing::Refusal;
using testing::StoreWorld;
using testing::TestApp;

// What stands in place of an attribute; nothing: it is missing.
std::vector<std::optional<AttributeValue>> Replacements() {
  return {std::nullopt,
          AttributeValue(nullptr),
          AttributeValue(true),
          AttributeValue(false),
          AttributeValue(-7),
          AttributeValue::Number("9.9999999999999999999999999999999999999E+125"),
          AttributeValue(INT64_MAX),
          AttributeValue(""),
          AttributeValue("2026-02-04T10:00:00.000Z"),
          AttributeValue(std::string(3'000, 'x')),
          AttributeValue::Binary("bytes"),
          AttributeValue::StringSet({"a", "b"}),
          AttributeValue::NumberSet({"1", "2"}),
          AttributeValue::BinarySet({"c"}),
          AttributeValue::List({nullptr, 1, "x", AttributeValue::List({})}),
          AttributeValue::Map({{"id", true}, {"x", AttributeValue::Map({})}})};
}

ApplicationOptions Everything() {
  ApplicationOptions options;
  options.master_keys = testing::TestKeys();
  options.commands = apps::ShippedCommands([](const std::string&, const Emitted&) { return true; });
  return options;
}

class World : public StoreWorld {
 public:
  explicit World(const std::string& file) : StoreWorld(file, Everything()) {
    for (const auto& item : cases["items"]) {
      const YAML::Node node = item.second;
      if (!node.IsMap()) continue;
      if (node["raw"]) {
        PutRaw(node["raw"]["table"].Scalar(), ItemOf(node["raw"]["item"]));
      } else {
        static_cast<void>(application->Import(node.begin()->first.Scalar(), ItemOf(node.begin()->second)));
      }
    }
  }
  // False when the table cannot hold it: keys of tables and indexes have their types.
  bool PutRaw(const std::string& table, const Item& item) {
    PutItemRequest put;
    put.table_name = table;
    put.item = item;
    return store()->Run(put).has_value();
  }
};

// A refusal has a name of its own; "Internal" is a fault of ours.
template <class T>
void ExpectAnswer(const Result<T>& result, const std::string& what) {
  if (!result) {
    EXPECT_NE(Refusal(result), "Internal") << what << ": " << result.error().ToString();
  }
}

void ReadAll(const Answer& answer) {
  for (const Record& record : answer.records) record.Fields();
  for (const auto& [name, part] : answer.parts) ReadAll(part);
}

// Whether an entity plays a part in it, by what the model says.
bool Reads(const model::Pattern& pattern, const model::Entity* entity) {
  for (const model::Case& one : pattern.cases) {
    for (const model::Step& step : one.steps) {
      if (step.form == model::Step::Form::kThrough) return true;
      if (std::find(step.returns.begin(), step.returns.end(), entity) != step.returns.end()) return true;
    }
    if (!one.bundle.empty()) return true;
  }
  return false;
}
bool Reads(const model::Command& command, const model::Entity* entity) {
  return command.handler ||
         std::any_of(command.reads.begin(), command.reads.end(),
                     [&](const model::CommandRead& read) { return read.entity == entity; });
}

class MalformedItems : public ::testing::TestWithParam<std::string> {
 protected:
  // Stores each item of the file with each attribute replaced, and calls `read` on what its entity is.
  void ForEachVariant(World* world, const std::function<void(const model::Entity*)>& read) {
    std::vector<std::pair<const model::Table*, Item>> items;
    world->ForEachItem(
        [&](const model::Table& table, const Item& item) { items.emplace_back(&table, item); });
    ASSERT_FALSE(items.empty());
    size_t variants = 0;
    std::set<const model::Entity*> seen;
    for (const auto& [table, item] : items) {
      const model::Entity* entity = world->application->model().EntityOf(*table, item);
      if (!seen.insert(entity).second) continue;  // one of each
      for (const auto& [name, value] : item.ToMap()) {
        for (const std::optional<AttributeValue>& instead : Replacements()) {
          Item variant = item;
          variant.Remove(name);
          if (instead) variant.Set(name, *instead);
          if (!world->PutRaw(table->name, variant)) continue;
          SCOPED_TRACE(testing::PlainText(variant).substr(0, 2'000));
          read(entity);
          ++variants;
          if (HasFailure()) return;  // one is enough to look at
        }
      }
      ASSERT_TRUE(world->PutRaw(table->name, item));
    }
    EXPECT_GT(variants, 100U);
  }
};

TEST_P(MalformedItems, PatternsAnswerOrRefuse) {
  World world("cases/" + GetParam() + ".yaml");
  ASSERT_EQ(world.failure, "");
  Application& app = *world.application;
  ForEachVariant(&world, [&](const model::Entity* entity) {
    for (const auto& pattern : app.model().patterns) {
      const YAML::Node asked = world.cases["patterns"][pattern->id];
      if (pattern->writes() || !Reads(*pattern, entity) || !asked || asked.size() == 0) continue;
      auto answer = app.Ask(Caller::Administrator(), pattern->id, ItemOf(asked[0]["ask"]), {});
      ExpectAnswer(answer, pattern->id);
      if (answer) ReadAll(*answer);
    }
  });
}

using MalformedItemsOfCommands = MalformedItems;

TEST_P(MalformedItemsOfCommands, AreAnsweredOrRefused) {
  World world("commands/" + GetParam() + ".yaml");
  ASSERT_EQ(world.failure, "");
  Application& app = *world.application;
  ForEachVariant(&world, [&](const model::Entity* entity) {
    for (const auto& command : app.model().commands) {
      const YAML::Node cases = world.cases["commands"][command->name];
      if (!Reads(*command, entity) || !cases || cases.size() == 0) continue;
      ExpectAnswer(app.Run(Caller::Administrator(), command->name, ItemOf(cases[0]["input"]), {}),
                   command->name);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Shipped, MalformedItems, ::testing::Values("auto", "pm", "pos", "trip"),
                         [](const auto& info) { return info.param; });

// Those of `auto` are the agent runtime's: src/agent/stored_rows_test.cc.
INSTANTIATE_TEST_SUITE_P(Shipped, MalformedItemsOfCommands, ::testing::Values("pm", "pos", "trip"),
                         [](const auto& info) { return info.param; });

// --- what a malformed item means ---

// An action whose time no program could read once ended the server. It is passed over, by name, and those
// that are due are released all the same.
TEST(MalformedAction, IsNamedAndTheOthersAreReleased) {
  TestApp app("pm", {}, Everything());
  const std::string project = "5f0c2b1e-7a44-4d09-9c1b-000000000001";
  Must(app->Import("Project", Item{{"id", project},
                                   {"name", "Lantern Quay"},
                                   {"source", "jira"},
                                   {"sourceProjectKey", "LQF"},
                                   {"autonomyLevel", "tactical"}}));
  Must(app->Import("AgentAction", Item{{"id", "01KGKQ1B000000000000000AC2"},
                                       {"projectId", project},
                                       {"actionType", "jira_update"},
                                       {"description", "Close LQF-30"},
                                       {"heldUntil", "2026-02-04T10:30:00.000Z"},
                                       {"createdAt", "2026-02-04T10:00:00.000Z"}}));
  for (const auto& [sk, until] :
       {std::pair("ACTION#x", AttributeValue::Map({})), std::pair("ACTION#y", AttributeValue(true)),
        std::pair("ACTION#z", AttributeValue(nullptr))}) {
    app.PutRaw("AgenticPM", Item{{"PK", "GLOBAL"},
                                 {"SK", sk},
                                 {"EntityType", "AgentAction"},
                                 {"executed", false},
                                 {"heldUntil", until}});
  }
  auto done = app->Run(Caller::Administrator(), "action.releaseDue", {});
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->result.Get("released"), AttributeValue(1));
  std::set<std::string> named;
  for (const ModelWarning& warning : done->warnings) named.insert(warning.path);
  EXPECT_TRUE(named.contains("GLOBAL / ACTION#x")) << done->warnings.size();
  EXPECT_TRUE(named.contains("GLOBAL / ACTION#y"));
}

// A server runs the same each minute: its log must not grow with each round.
TEST(MalformedAction, IsLoggedOnceByTheChores) {
  TestApp app("pm", {}, Everything());
  app.PutRaw("AgenticPM", Item{{"PK", "GLOBAL"},
                               {"SK", "ACTION#x"},
                               {"EntityType", "AgentAction"},
                               {"executed", false},
                               {"heldUntil", true}});
  base::Mutex mu;
  base::CondVar changed;
  int lines = 0, rounds = 0;
  base::Log log(base::LogLevel::kInfo, [&](std::string_view line) {
    base::MutexLock lock(&mu);
    if (line.find("ACTION#x") != std::string_view::npos) ++lines;
  });
  {
    apps::Chores chores(
        {app.app.get()},
        [&](const model::Model&, const std::vector<Emitted>&) {
          base::MutexLock lock(&mu);
          ++rounds;
          changed.NotifyAll();
        },
        &log, /*hurry=*/1'000'000);
    base::MutexLock lock(&mu);
    while (rounds < 3) changed.Wait(&mu);
  }
  EXPECT_EQ(lines, 1);
}

// Without a generation a cleanup means all chunks of a policy. One that is there and no number must not.
TEST(MalformedCleanup, DeletesNothing) {
  TestApp app("trip", {}, Everything());
  auto planted = app.Plant(app.entity("PolicyChunk"));
  Item chunk = planted.Fields();
  std::string policy = chunk.Get("policy_id")->AsText();
  Record cleanup =
      app.Plant(app.entity("PolicyCleanup"),
                {{"policy_id", policy}, {"generation", 1}, {"due_at", "2026-02-04T10:00:00.000Z"}});
  Item stored = cleanup.stored();
  stored.Set("generation", 0.5);
  app.PutRaw(cleanup.entity()->table->name, stored);
  auto done = app->Run(Caller::Administrator(), "policy.cleanup", {});
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->warnings.size(), 1U);
  EXPECT_EQ(done->result.Get("deleted"), AttributeValue(0));
  EXPECT_FALSE(app.GetRaw(planted).empty());
}

}  // namespace
}  // namespace holdfast
