// Every command of the shipped models, by its ID: what it writes, tells and answers, what it refuses (and
// that a refusal leaves the tables as they were), that a retry with the same key changes nothing, and that of
// those who race only as many win as may. The cases are in commands/*.yaml, where their form is explained.
// HOLDFAST_TEST_ENDPOINT runs the same on a remote store, HOLDFAST_TEST_CASES one file alone,
// HOLDFAST_TEST_MODELS with models of another directory.

#include <algorithm>
#include <barrier>
#include <chrono>
#include <set>
#include <thread>

#include "apps/apps.h"
#include "models/store_world.h"

namespace holdfast {
namespace {

using testing::Has;
using testing::ItemOf;
using testing::kRoot;
using testing::PlainText;
using testing::Refusal;
using testing::StoreWorld;

// The entry `name` of the map at `key`, either of which may be missing.
YAML::Node Entry(const YAML::Node& node, const char* key, const std::string& name) {
  const YAML::Node map = node[key];
  return map ? map[name] : map;
}

// `node` with the entries of `over`.
Item Merged(const YAML::Node& node, const YAML::Node& over) {
  Item item = ItemOf(node);
  for (const auto& [name, value] : ItemOf(over).ToMap()) item.Set(name, value);
  return item;
}

Caller CallerOf(const YAML::Node& as) {
  Caller caller = Caller::Administrator();
  if (!as) return caller;
  caller.administrator = as["role"].Scalar() == "admin";
  caller.role = as["role"].Scalar();
  if (as["tenant"]) caller.tenant = as["tenant"].Scalar();
  caller.subject = as["subject"] ? as["subject"].Scalar() : caller.tenant;
  return caller;
}

class World : public StoreWorld {
 public:
  explicit World(const std::string& name) : StoreWorld("commands/" + name + ".yaml", Options()) {}

  // All that is stored, by table and key.
  std::map<std::string, Record> Everything() {
    std::map<std::string, Record> all;
    ForEachItem([&](const model::Table& table, const Item& item) {
      all.emplace(table.name + " " + PlainText(model::KeyOf(table, item)),
                  Record(application->model().EntityOf(table, item), item));
    });
    return all;
  }

  // As the file says, but for the case's own items and what it says otherwise of the file's.
  void Begin(const YAML::Node& one) {
    Empty();
    clock.Set(testing::Instant((one["at"] ? one["at"] : cases["now"]).Scalar()));
    for (const auto& item : cases["items"]) {
      const YAML::Node over = Entry(one, "with", item.first.Scalar());
      if (over.IsDefined() && over.IsNull()) continue;
      Plant(item.first.Scalar(), item.second, over);
    }
    for (const auto& item : one["with"]) {
      if (!cases["items"][item.first.Scalar()]) Plant(item.first.Scalar(), item.second, YAML::Node());
    }
  }

 private:
  static ApplicationOptions Options() {
    ApplicationOptions options;
    options.master_keys = testing::TestKeys();
    options.commands = apps::ShippedCommands(nullptr);
    return options;
  }
  void Plant(const std::string& name, const YAML::Node& node, const YAML::Node& over) {
    if (!node.IsMap()) return;
    auto done = application->Import(node.begin()->first.Scalar(), Merged(node.begin()->second, over));
    ASSERT_TRUE(done) << name << ": " << done.error().ToString();
  }
};

// One at a time: files may share tables.
std::pair<std::string, std::unique_ptr<World>>& OpenWorld() {
  static std::pair<std::string, std::unique_ptr<World>> world;
  return world;
}

World& WorldOf(const std::string& name) {
  auto& [open, world] = OpenWorld();
  if (open != name) {
    world.reset();
    world = std::make_unique<World>(name);
    open = name;
  }
  return *world;
}

// What is asked of a command.
struct Request {
  Caller caller;
  std::string command;
  Item input;
  RunOptions options;
};

class CommandTest : public ::testing::Test {
 public:
  CommandTest(std::string model, std::string command)
      : model_(std::move(model)), command_(std::move(command)) {}

  void TestBody() override {
    world_ = &WorldOf(model_);
    ASSERT_EQ(world_->failure, "");
    int number = 0;
    for (const auto& one : world_->cases["commands"][command_]) {
      SCOPED_TRACE(command_ + " case " + std::to_string(++number) +
                   (one["about"] ? ": " + one["about"].Scalar() : ""));
      prefix_ = command_ + std::to_string(number);
      if (one["illegal_transitions"]) {
        Moves(one);
        continue;
      }
      world_->Begin(one);
      if (HasFatalFailure()) return;
      if (one["race"]) {
        Race(one);
        continue;
      }
      Call(one);
      for (const auto& next : one["then"]) Call(next);
    }
  }

 private:
  using Stored = std::map<std::string, Record>;

  Request RequestOf(const YAML::Node& one) const {
    Request request{
        CallerOf(one["as"]), one["run"] ? one["run"].Scalar() : command_, ItemOf(one["input"]), {}};
    // A remote store remembers the keys of the run before.
    static const std::string kRun =
        std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
    if (one["key"] || one["idempotent"])
      request.options.idempotency_key = kRun + prefix_ + (one["key"] ? one["key"].Scalar() : "");
    return request;
  }
  Result<CommandAnswer> Run(const Request& request) {
    return world_->application->Run(request.caller, request.command, request.input, request.options);
  }

  void Call(const YAML::Node& one) {
    if (one["at"]) world_->clock.Set(testing::Instant(one["at"].Scalar()));
    Request request = RequestOf(one);
    Stored before = world_->Everything();
    auto answer = Run(request);
    Stored after = world_->Everything();
    if (one["error"]) {
      EXPECT_EQ(Refusal(answer), one["error"].Scalar()) << (answer ? "" : answer.error().ToString());
      ExpectSame(before, after);
      if (!answer) ExpectRefusal(one, answer.error());
      return;
    }
    ASSERT_TRUE(answer) << answer.error().ToString();
    if (one["gives"]) {
      EXPECT_TRUE(Has(one["gives"], answer->result)) << "the result is " << PlainText(answer->result);
    }
    EXPECT_EQ(answer->replayed, one["replayed"] && one["replayed"].as<bool>());
    EXPECT_EQ(answer->changed, one["writes"] || one["deletes"]);
    if (one["created"]) {
      EXPECT_EQ(answer->created, one["created"].as<bool>());
    }
    ExpectWrites(one, before, after);
    ExpectEmitted(one["emits"], answer->emitted);
    ExpectHolds(one["holds"], after);
    if (one["idempotent"]) Again(one, request, *answer, after);
  }

  // The same once more, and another body under the same key.
  void Again(const YAML::Node& one, Request request, const CommandAnswer& first, const Stored& before) {
    auto second = Run(request);
    ASSERT_TRUE(second) << "the same again: " << second.error().ToString();
    EXPECT_TRUE(second->replayed);
    EXPECT_EQ(second->result, first.result);
    EXPECT_TRUE(second->emitted.empty()) << "told twice";
    request.input = Merged(one["input"], one["idempotent"]);
    if (one["idempotent"].size() > 0) {
      EXPECT_EQ(Refusal(Run(request)), "IdempotencyMismatch");
    }
    ExpectSame(before, world_->Everything());
  }

  void Race(const YAML::Node& one) {
    const Request request = RequestOf(one);
    Stored before = world_->Everything();
    std::vector<std::string> outcomes(one["race"].as<size_t>());
    std::barrier start(static_cast<ptrdiff_t>(outcomes.size()));
    std::vector<std::thread> threads;
    for (std::string& outcome : outcomes) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        outcome = Refusal(Run(request));
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), ""), one["winners"].as<int>())
        << ::testing::PrintToString(outcomes);
    std::set<std::string> known{"", "Conflict"};  // Conflict: lost more often than is tried again
    for (const auto& name : one["losers"]) known.insert(name.Scalar());
    for (const std::string& outcome : outcomes) EXPECT_TRUE(known.count(outcome) > 0) << outcome;
    Stored after = world_->Everything();
    ExpectWrites(one, before, after);
    ExpectHolds(one["holds"], after);
  }

  // Out of every state into every one that the command can reach: those that the machine lists, and that the
  // case does not narrow by `from`, pass; all others are refused.
  void Moves(const YAML::Node& one) {
    const YAML::Node how = one["illegal_transitions"];
    const YAML::Node item = world_->cases["items"][how["of"].Scalar()];
    const model::Entity& entity = *world_->application->model().FindEntity(item.begin()->first.Scalar());
    ASSERT_NE(entity.machine, nullptr);
    const model::Machine& machine = *entity.machine;
    const model::Attribute& field = *entity.Find(machine.field);
    const std::vector<std::string>& all = field.choices;
    std::vector<std::string> targets = how["to"].IsSequence() ? how["to"].as<std::vector<std::string>>()
                                                              : std::vector<std::string>{how["to"].Scalar()};
    for (const std::string& from : all) {
      for (const std::string& to : targets) {
        SCOPED_TRACE(from + " to " + to);
        YAML::Node start = YAML::Clone(one);
        YAML::Node over = start["with"][how["of"].Scalar()];
        over[machine.field] = from;
        for (const auto& more : Entry(how, "in", from)) over[more.first.Scalar()] = more.second;
        start["with"][how["of"].Scalar()] = over;
        world_->Begin(start);
        if (HasFatalFailure()) return;
        bool allowed = machine.Allows(from, to);
        if (how["from"]) allowed = from == how["from"].Scalar();
        Request request = RequestOf(one);
        if (how["to"].IsSequence()) request.input.Set("to", to);
        Stored before = world_->Everything();
        auto answer = Run(request);
        if (allowed) {
          EXPECT_EQ(Refusal(answer), "") << (answer ? "" : answer.error().ToString());
          continue;
        }
        EXPECT_EQ(Refusal(answer), "IllegalTransition");
        ExpectSame(before, world_->Everything());
        if (answer) continue;
        EXPECT_EQ(testing::Detail(answer, "from"), AttributeValue(from));
        EXPECT_EQ(testing::Detail(answer, "to"), AttributeValue(to));
        std::vector<std::string> legal;
        const AttributeValue listed = testing::Detail(answer, "allowed");
        for (const AttributeValue& state : listed.AsList()) legal.push_back(state.AsText());
        EXPECT_EQ(legal, machine.From(from));
      }
    }
  }

  static void ExpectRefusal(const YAML::Node& one, const Error& error) {
    const auto& refusal = error.detail()->refusal;
    if (one["status"]) {
      EXPECT_EQ(refusal.http_status, one["status"].as<int>());
    }
    if (one["details"]) {
      EXPECT_TRUE(Has(one["details"], Item(refusal.details))) << PlainText(Item(refusal.details));
    }
  }

  static void ExpectSame(const Stored& before, const Stored& after) {
    EXPECT_EQ(Changes(before, after), (std::map<std::string, int>{})) << "something was written";
    EXPECT_EQ(Changes(after, before, /*deleted=*/true), (std::map<std::string, int>{}))
        << "something was deleted";
  }

  // How many items of each entity `after` has otherwise than `before`; or, with `deleted`, has and `before`
  // has not.
  static std::map<std::string, int> Changes(const Stored& before, const Stored& after, bool deleted = false) {
    std::map<std::string, int> counts;
    for (const auto& [key, record] : after) {
      auto at = before.find(key);
      bool same = at != before.end() && (deleted || at->second.stored() == record.stored());
      if (!same) ++counts[record.entity() == nullptr ? "unknown " + key : record.entity()->name];
    }
    return counts;
  }

  static void ExpectWrites(const YAML::Node& one, const Stored& before, const Stored& after) {
    auto counts = [](const YAML::Node& node) {
      return node.IsDefined() ? node.as<std::map<std::string, int>>() : std::map<std::string, int>();
    };
    EXPECT_EQ(Changes(before, after), counts(one["writes"])) << "written";
    EXPECT_EQ(Changes(after, before, /*deleted=*/true), counts(one["deletes"])) << "deleted";
  }

  static void ExpectEmitted(const YAML::Node& expected, const std::vector<Emitted>& emitted) {
    std::vector<std::string> names;
    for (const Emitted& one : emitted) names.push_back(one.name);
    std::vector<std::string> wanted;
    for (const auto& one : expected) wanted.push_back(one["name"].Scalar());
    ASSERT_EQ(names, wanted);
    for (size_t i = 0; i < emitted.size(); ++i) {
      EXPECT_EQ(emitted[i].to, expected[i]["to"] ? expected[i]["to"].Scalar() : "");
      EXPECT_TRUE(Has(expected[i]["body"], emitted[i].body)) << PlainText(emitted[i].body);
    }
  }

  static void ExpectHolds(const YAML::Node& expected, const Stored& stored) {
    for (const auto& one : expected) {
      std::string entity = one.begin()->first.Scalar();
      std::string seen;
      bool found = false;
      for (const auto& [key, record] : stored) {
        if (record.entity() == nullptr || record.entity()->name != entity) continue;
        Item item = record.stored();  // and what lives in its key alone
        for (const auto& [name, value] : record.Fields().ToMap()) {
          if (!item.Get(name)) item.Set(name, value);
        }
        found = found || Has(one.begin()->second, item);
        seen += "\n" + PlainText(item);
      }
      EXPECT_TRUE(found) << "no such " << entity << ": " << YAML::Dump(one) << "\nbut" << seen;
    }
  }

  const std::string model_;
  const std::string command_;
  World* world_ = nullptr;
  std::string prefix_;
};

// Each declared command has a case that succeeds, one that is retried and one that is raced, and each error
// that it declares is met.
void ExpectCovered(const std::string& name) {
  YAML::Node model = YAML::LoadFile(kRoot / "models" / (name + ".yaml"));
  YAML::Node cases = YAML::LoadFile(kRoot / "tests/models/commands" / (name + ".yaml"))["commands"];
  for (const auto& command : model["commands"]) {
    if (command.second["handler"] || command.second["write"].size() == 0) continue;
    SCOPED_TRACE(command.first.Scalar());
    std::set<std::string> met;
    bool succeeds = false;
    bool retried = false;
    bool raced = false;
    for (const auto& one : cases[command.first.Scalar()]) {
      succeeds = succeeds || (!one["error"] && (one["writes"] || one["deletes"]));
      retried = retried || one["idempotent"];
      raced = raced || one["race"];
      if (one["error"]) met.insert(one["error"].Scalar());
      for (const auto& next : one["then"]) {
        if (next["error"]) met.insert(next["error"].Scalar());
      }
    }
    EXPECT_TRUE(succeeds) << "no case in which it writes";
    EXPECT_TRUE(retried) << "no case with a key";
    EXPECT_TRUE(raced) << "no race";
    for (const auto& refusal : command.second["refuse"]) {
      EXPECT_TRUE(met.count(refusal["name"].Scalar()) > 0) << "never " << refusal["name"].Scalar();
    }
  }
}

TEST(AllCommands, HaveCases) {
  for (const char* name : {"auto", "pm", "pos", "trip"}) ExpectCovered(name);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (const std::string name : {"auto", "pm", "pos", "trip"}) {
    if (const char* only = std::getenv("HOLDFAST_TEST_CASES"); only != nullptr && name + ".yaml" != only)
      continue;
    YAML::Node cases = YAML::LoadFile(holdfast::kRoot / "tests/models/commands" / (name + ".yaml"));
    YAML::Node model = YAML::LoadFile(holdfast::kRoot / "models" / (name + ".yaml"));
    for (const auto& entry : cases["commands"]) {
      std::string command = entry.first.Scalar();
      std::string test = model["commands"][command]["id"].Scalar() + " " + command;
      ::testing::RegisterTest(name.c_str(), test.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                              [=] { return new holdfast::CommandTest(name, command); });
    }
  }
  int failed = RUN_ALL_TESTS();
  holdfast::OpenWorld().second.reset();  // while a remote store can still be spoken to
  return failed;
}
