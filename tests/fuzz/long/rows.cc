// Rows that no program of ours wrote, in the tables of the shipped applications and of the agent runtime:
// chores, patterns, commands, a start of the runtime, claims and alarms over them end in an answer or a
// refusal. Each line is a row: a letter that says which table, and the item as plain JSON. "a" is a row of
// the alarms' record.
#include <memory>

#include "agent/keys.h"
#include "agent/runtime.h"
#include "apps/apps.h"
#include "base/clock.h"
#include "json/plain.h"
#include "model/command.h"
#include "model/load.h"
#include "model/model.h"
#include "model/refusal.h"
#include "store/embedded_store.h"
#include "tests/fuzz/fuzz.h"
#include "wire/alarms.h"

using namespace holdfast;

namespace {

const base::Log kQuiet(base::LogLevel::kNone);

// Of ours, or of the row: never that something went wrong inside.
template <class T>
void Check(const Result<T>& result) {
  HF_ASSERT(result || result.error().code() != ErrorCode::kInternal);
  HF_ASSERT(result || result.error().message().find("std::") == std::string::npos);
}

struct World {
  World() {
    for (const char* name : {"pm", "trip", "auto", "pos"}) {
      static std::map<std::string, ModelPtr> models;
      ModelPtr& model = models[name];
      if (model == nullptr)
        model = *model::LoadModelFile(std::string(HOLDFAST_SOURCE_DIR) + "/models/" + name + ".yaml", {});
      ApplicationOptions options;
      options.commands = apps::ShippedCommands([](const std::string&, const Emitted&) { return true; });
      options.embedder = "demo";
      options.now_millis = [this] { return clock.NowMillis(); };
      applications.push_back(*Application::Open(store.get(), model, std::move(options)));
      HF_ASSERT(applications.back()->Apply());
    }
  }
  void Put(const std::string& table, const Item& item) {
    PutItemRequest put;
    put.table_name = table;
    put.item = item;
    static_cast<void>(store->Run(put));
  }

  base::ManualClock clock{1'770'201'000'123};
  std::unique_ptr<engine::Engine> engine = *engine::Engine::Open({});
  std::unique_ptr<Store> store = store::EmbeddedStore(engine.get());
  std::vector<std::unique_ptr<Application>> applications;
};

// What an item offers for the parameters of a pattern or the inputs of a command.
Item Inputs(const std::vector<model::Attribute>& wanted, const std::vector<Item>& rows) {
  Item inputs;
  for (const model::Attribute& attribute : wanted) {
    for (const Item& row : rows) {
      if (auto value = row.Get(attribute.name)) inputs.Set(attribute.name, *value);
    }
  }
  return inputs;
}

void UseApplication(Application* app, const std::vector<Item>& rows) {
  for (const auto& pattern : app->model().patterns) {
    if (pattern->writes()) continue;
    auto answer = app->Ask(Caller::Administrator(), pattern->id, Inputs(pattern->params, rows), {});
    Check(answer);
    if (!answer) continue;
    for (const Record& record : answer->records) record.Fields();
  }
  for (const auto& command : app->model().commands) {
    Check(app->Run(Caller::Administrator(), command->name, Inputs(command->inputs, rows)));
  }
}

void UseRuntime(Store* store, const std::set<std::string>& sessions) {
  auto opened = agent::Runtime::Open(store, {}, &kQuiet);
  HF_ASSERT(opened);
  agent::Runtime* runtime = opened->get();
  for (const std::string& session : sessions) {
    Check(agent::Runtime::Await<agent::Appended>([&](auto done) {
      runtime->Append({.session = session, .payload = Item{{"text", "hi"}}}, done);
    }));
    Check(agent::Runtime::Await<agent::EventPage>(
        [&](auto done) { runtime->ListEvents(session, 0, 10, done); }));
    Check(agent::Runtime::Await<std::vector<agent::EffectView>>(
        [&](auto done) { runtime->ListEffects(session, {}, "", done); }));
    Check(agent::Runtime::Await<std::vector<agent::TimerView>>(
        [&](auto done) { runtime->ListTimers(session, "", done); }));
    Check(agent::Runtime::Await<agent::CheckpointView>(
        [&](auto done) { runtime->GetCheckpoint(session, 1, done); }));
    std::string agent(agent::AgentOf(session));
    auto work = agent::Runtime::Await<std::vector<agent::Work>>(
        [&](auto done) { runtime->Claim({.worker = "w", .agents = {agent}, .wait_millis = 0}, done); });
    Check(work);
    if (!work || work->empty()) continue;
    agent::CommitRequest commit{.session = work->front().session,
                                .epoch = work->front().epoch,
                                .upto = work->front().events.back().seq,
                                .token = "c",
                                .state = work->front().state,
                                .release = true};
    Check(agent::Runtime::Await<agent::Committed>([&](auto done) { runtime->Commit(commit, done); }));
  }
}

}  // namespace

FUZZ(bytes) {
  World world;
  std::vector<Item> rows;
  std::set<std::string> sessions;
  const std::string agents = agent::RuntimeOptions().table;
  bool alarms_told = false;
  while (!bytes.empty() && rows.size() < 32) {
    std::string_view line = TakeLine(&bytes);
    if (line.empty()) continue;
    char table = line[0];
    auto item = json::ReadPlainItem(line.substr(1));
    if (!item || item->defect() != nullptr) continue;
    if (table == 'a' && !std::exchange(alarms_told, true)) {
      wire::Alarms alarms({.clock = &world.clock, .log = &kQuiet});
      alarms.Add({.name = "faults", .sample = [] { return wire::Figures{{"x", 1}}; }});
      alarms.Recall(item->ToMap());
      alarms.Evaluate();
      alarms.Record();
    }
    rows.push_back(*item);
    for (const auto& app : world.applications) {
      if (app->model().name[0] != table && table != 'r') continue;
      for (const auto& one : app->model().tables) world.Put(one->name, *item);
    }
    if (table == 'r') {
      if (sessions.empty()) static_cast<void>(agent::Runtime::Open(world.store.get(), {}, &kQuiet));
      world.Put(agents, *item);
      std::string pk = item->Get("pk").value_or(AttributeValue()).AsText();
      if (pk.starts_with("S#") && agent::ParseSessionKey(pk.substr(2))) sessions.insert(pk.substr(2));
      sessions.insert("ann:guide:t1");
    }
  }
  for (const auto& app : world.applications) UseApplication(app.get(), rows);
  if (sessions.empty()) return;
  UseRuntime(world.store.get(), sessions);
  UseRuntime(world.store.get(), sessions);  // after a restart
}
