// Every state machine of the shipped models, by its ID: all legal moves pass, all others are refused and
// leave the item as it was, nothing is created in the middle of its life, and of two that race one wins.

#include <thread>

#include "models/test_app.h"

namespace holdfast {
namespace {

using model::Entity;
using model::Machine;
using testing::Detail;
using testing::Must;
using testing::Refusal;
using testing::TestApp;

TestApp& AppOf(const std::string& name) {
  static std::map<std::string, std::unique_ptr<TestApp>> apps;
  auto& app = apps[name];
  ApplicationOptions options;
  options.master_keys = testing::TestKeys();
  if (!app) app = std::make_unique<TestApp>(name, std::map<std::string, bool>(), std::move(options));
  return *app;
}

// What makes an item be in a state, and what else its entity's checks ask of it there.
AttributeMap Making(const Machine& machine, const std::string& state) {
  AttributeMap fields;
  if (!machine.field.empty()) fields[machine.field] = state;
  constexpr const char* kWhen = "2026-02-04T10:29:00.000Z";
  if (machine.name == "PM-S-02" && state == "decided") {
    fields["userDecision"] = "yes";
    fields["decidedAt"] = kWhen;
  }
  if (machine.name == "PM-S-03") {
    if (state == "executed") fields = {{"executed", true}, {"executedAt", kWhen}};
    if (state == "cancelled") fields = {{"cancelledAt", kWhen}};
    if (state == "held") fields = {{"heldUntil", kWhen}};
  }
  return fields;
}

std::vector<std::string> AllowedIn(const AttributeValue& detail) {
  std::vector<std::string> names;
  for (const AttributeValue& name : detail.AsList()) names.push_back(name.AsText());
  return names;
}

class MachineTest : public ::testing::Test {
 public:
  MachineTest(std::string model, size_t at) : app_(AppOf(model)), machine_(*app_->model().machines[at]) {}

  void TestBody() override {
    size_t legal = 0;
    for (const model::State& from : machine_.states) {
      for (const model::State& to : machine_.states) legal += Move(from.name, to.name) ? 1 : 0;
    }
    if (machine_.name == "TRIP-S-01") {
      EXPECT_EQ(legal, 11U);
      EXPECT_EQ(machine_.states.size(), 8U);
    }
    for (const model::State& state : machine_.states) Begin(state.name);
    for (const model::State& state : machine_.states) {
      for (const std::string& to : machine_.From(state.name)) Race(state.name, to);
    }
  }

 private:
  // A fresh item in that state.
  Record In(const std::string& state) {
    AttributeMap fields{{"id", "m" + std::to_string(++count_)}};
    const Entity& entity = *machine_.entity;
    std::vector<std::string> inputs = entity.KeyInputs();
    if (entity.Find("id") == nullptr) fields.clear();
    if (std::find(inputs.begin(), inputs.end(), "id") == inputs.end()) {
      bool number = entity.Find(inputs.back())->kind == model::Kind::kNumber;
      fields[inputs.back()] = number ? AttributeValue(count_) : AttributeValue("m" + std::to_string(count_));
    }
    if (machine_.name == "PM-S-04") fields = {{"integration", "jira"}};
    for (const auto& [name, value] : Making(machine_, state)) fields[name] = value;
    if (machine_.name == "PM-S-04")
      static_cast<void>(app_->Delete(Caller::Administrator(), entity.name, Item(fields)));
    return app_.Plant(entity, fields);
  }

  Result<Written> Patch(const Record& record, const std::string& to) {
    AttributeMap changes = Making(machine_, to);
    return app_->Patch(Caller::Administrator(), machine_.entity->name, TestApp::KeyFields(record),
                       Item(changes));
  }

  bool Move(const std::string& from, const std::string& to) {
    SCOPED_TRACE(from + " to " + to);
    // A derived state is set again by saying what it has already, which asks for no move.
    if (machine_.field.empty() && from == to) return machine_.Allows(from, to);
    Record record = In(from);
    Item before = app_.GetRaw(record);
    auto done = Patch(record, to);
    if (machine_.Allows(from, to)) {
      EXPECT_EQ(Refusal(done), "");
      EXPECT_EQ(model::StateOf(machine_, app_.GetRaw(record)), to);
      return true;
    }
    if (done) {
      // Only a derived state may hide a change: what is executed stays executed whatever else is said.
      EXPECT_TRUE(machine_.field.empty());
      EXPECT_EQ(model::StateOf(machine_, app_.GetRaw(record)), from);
      return false;
    }
    bool ruled = machine_.field.empty() && Refusal(done) == "RuleViolation";
    if (!ruled) {
      EXPECT_EQ(Refusal(done), "IllegalTransition");
      EXPECT_EQ(Detail(done, "from"), AttributeValue(from));
      EXPECT_EQ(Detail(done, "to"), AttributeValue(to));
      EXPECT_EQ(Detail(done, "entity"), AttributeValue(machine_.entity->name));
      EXPECT_EQ(AllowedIn(Detail(done, "allowed")), machine_.From(from));
    }
    EXPECT_EQ(app_.GetRaw(record), before) << "a refused move changed the item";
    return false;
  }

  void Begin(const std::string& state) {
    SCOPED_TRACE("created as " + state);
    const Entity& entity = *machine_.entity;
    Record parent = In(machine_.initial[0]);
    AttributeMap fields = Making(machine_, state);
    for (const auto& [name, value] : TestApp::KeyFields(parent).ToMap()) fields.emplace(name, value);
    Must(app_->Delete(Caller::Administrator(), entity.name, TestApp::KeyFields(parent)));
    size_t before = app_.CountItems();
    auto done = app_->Create(Caller::Administrator(), entity.name, app_.Sample(entity, fields));
    bool initial =
        std::find(machine_.initial.begin(), machine_.initial.end(), state) != machine_.initial.end();
    EXPECT_EQ(Refusal(done), initial ? "" : "IllegalTransition");
    EXPECT_EQ(app_.CountItems(), before + (initial ? 1 : 0));
    if (done) return;
    EXPECT_TRUE(Detail(done, "from").is_null());
    EXPECT_EQ(AllowedIn(Detail(done, "allowed")), machine_.initial);
  }

  void Race(const std::string& from, const std::string& to) {
    if (machine_.Allows(to, to) || from == to) return;  // the second may then follow the first
    SCOPED_TRACE("raced from " + from + " to " + to);
    Record record = In(from);
    std::vector<std::string> answers(2);
    std::vector<std::thread> threads;
    for (std::string& answer : answers) threads.emplace_back([&] { answer = Refusal(Patch(record, to)); });
    for (std::thread& thread : threads) thread.join();
    std::sort(answers.begin(), answers.end());
    EXPECT_EQ(answers[0], "");
    if (!machine_.field.empty()) {
      EXPECT_TRUE(answers[1] == "IllegalTransition" || answers[1] == "Conflict") << answers[1];
    }
    EXPECT_EQ(model::StateOf(machine_, app_.GetRaw(record)), to);
  }

  TestApp& app_;
  const Machine& machine_;
  int count_ = 0;
};

const bool kRegistered = [] {
  for (const char* name : {"auto", "pm", "pos", "trip"}) {
    auto model = model::LoadModelFile(testing::kRoot / "models" / (std::string(name) + ".yaml"), {});
    for (size_t i = 0; model && i < (*model)->machines.size(); ++i) {
      const Machine& machine = *(*model)->machines[i];
      std::string test = machine.name + " " + machine.entity->name;
      ::testing::RegisterTest("Machines", test.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                              [name, i] { return new MachineTest(name, i); });
    }
  }
  return true;
}();

TEST(AllMachines, AreThere) {
  size_t count = 0;
  for (const char* name : {"auto", "pm", "pos", "trip"}) count += AppOf(name)->model().machines.size();
  EXPECT_TRUE(kRegistered);
  EXPECT_EQ(count, 15U);  // fourteen, one of them of two entities
}

}  // namespace
}  // namespace holdfast
