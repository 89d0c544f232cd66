// What a model costs over the plain operations beneath it, in one process: the same work side by side, in
// turns.
//
//   build/release/bench/holdfast_bench_models [--seconds 1.0] [--users 10000]
//
// Prints Markdown for bench/results/models.md: CPU time, all threads. Ratios matter; absolute numbers depend
// on the machine.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "holdfast/model.h"
#include "model/item_builder.h"

namespace holdfast {
namespace {

constexpr int kRounds = 7;

template <class T>
T Must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
    std::exit(1);
  }
  return *std::move(result);
}

// CPU time of the process, all threads: a busy machine does not change it.
double CpuNow() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
double Seconds(const std::function<void()>& work) {
  double begin = CpuNow();
  work();
  return CpuNow() - begin;
}

// Microseconds a call, the best of some rounds: what is measured is our work, not the neighbours'.
struct Pair {
  double plain = 1e9;
  double model = 1e9;
};
Pair Compare(double seconds, const std::function<void()>& plain, const std::function<void()>& model) {
  Pair best;
  auto once = [&](const std::function<void()>& work, double* result) {
    int calls = 0;
    double slice = seconds / (2 * kRounds);
    double spent = 0;
    while (spent < slice) {
      spent += Seconds([&] {
        for (int i = 0; i < 50; ++i) work();
      });
      calls += 50;
    }
    *result = std::min(*result, spent / calls * 1e6);
  };
  for (int round = 0; round < kRounds; ++round) {
    once(plain, &best.plain);
    once(model, &best.model);
  }
  return best;
}

void Row(const char* what, const Pair& pair, double floor) {
  std::printf("| %s | %.1f µs | %.1f µs | %.2f × | ≤ %.1f × |\n", what, pair.plain, pair.model,
              pair.model / pair.plain, floor);
}

struct App {
  std::unique_ptr<Database> database;
  std::unique_ptr<Store> store;
  std::unique_ptr<Application> application;
};

App Open(const std::string& model, bool tenant_scope = false) {
  App app;
  app.database = Must(Database::Open({}));
  app.store = EmbeddedStore(app.database.get());
  ModelOptions options;
  if (tenant_scope) options.options["tenant_scope"] = true;
  ModelPtr loaded = Must(LoadModel(std::string(HOLDFAST_SOURCE_DIR) + "/models/" + model + ".yaml", options));
  app.application = Must(Application::Open(app.store.get(), loaded, {}));
  Must(app.application->Apply());
  return app;
}

Item Project(int number) {
  return {{"name", "Lantern Quay " + std::to_string(number)},
          {"description", std::string(200, 'x')},
          {"source", "jira"},
          {"sourceProjectKey", "LQF"},
          {"autonomyLevel", "tactical"}};
}

void Puts(double seconds) {
  App app = Open("pm");
  Caller caller = Caller::Administrator();
  // The plain put is of an item that the model made: the same bytes, the same condition, a fresh key.
  Item made = Must(app.application->Create(caller, "Project", Project(0))).record.stored();
  int number = 0;
  auto plain = [&] {
    std::string id = "plain-" + std::to_string(++number);
    PutItemRequest put;
    put.table_name = "AgenticPM";
    put.item = made;
    put.item.Set("PK", "PROJECT#" + id);
    put.item.Set("GSI1SK", "PROJECT#" + id);
    put.condition_expression = "attribute_not_exists(PK)";
    Must(app.database->PutItem(put));
  };
  auto model = [&] { Must(app.application->Create(caller, "Project", Project(++number))); };
  Row("Put of a Project (one index)", Compare(seconds, plain, model), 2.0);
}

void Patterns(double seconds) {
  App app = Open("pm");
  Caller caller = Caller::Administrator();
  Item project = Must(app.application->Create(caller, "Project", Project(0))).record.Fields();
  std::string id = project.Get("id")->AsText();
  for (int i = 0; i < 500; ++i) {
    Must(app.application->Create(caller, "Event",
                                 {{"projectId", id},
                                  {"eventType", "heartbeat"},
                                  {"severity", "info"},
                                  {"summary", std::string(200, 'y')}}));
    Must(app.application->Create(
        caller, "Escalation",
        {{"projectId", id},
         {"title", "Which pier?"},
         {"context", AttributeValue::Map({})},
         {"options", AttributeValue::List({AttributeValue::Map({{"option", "North"},
                                                                {"pros", AttributeValue::List({})},
                                                                {"cons", AttributeValue::List({})}})})}}));
  }
  auto query = [&](const std::string& prefix, bool forward) {
    QueryRequest request;
    request.table_name = "AgenticPM";
    request.key_condition_expression = "PK = :p AND begins_with(SK, :s)";
    request.expression_attribute_values = ExpressionValues(Item{{":p", "PROJECT#" + id}, {":s", prefix}});
    request.scan_index_forward = forward;
    request.limit = 50;
    Must(app.database->Query(request));
  };
  auto ask = [&](const char* pattern) {
    Must(app.application->Ask(caller, pattern, {{"projectId", id}}, {}));
  };
  Row("PM-A-06, a page of 50 escalations",
      Compare(
          seconds, [&] { query("ESCALATION#", true); }, [&] { ask("PM-A-06"); }),
      1.3);
  Row("PM-A-04, a page of 50 events by time",
      Compare(
          seconds, [&] { query("EVENT#", false); }, [&] { ask("PM-A-04"); }),
      1.3);
  auto get = [&] {
    GetItemRequest request;
    request.table_name = "AgenticPM";
    request.key = {{"PK", "PROJECT#" + id}, {"SK", "METADATA"}};
    Must(app.database->GetItem(request));
  };
  auto ask_one = [&] { Must(app.application->Ask(caller, "PM-A-01", {{"id", id}}, {})); };
  Row("PM-A-01, one project", Compare(seconds, get, ask_one), 1.3);
}

void Applying() {
  double seconds = Seconds([] {
    auto database = Must(Database::Open({}));
    auto store = EmbeddedStore(database.get());
    for (const char* name : {"pm", "pos", "trip"}) {
      ModelPtr model = Must(LoadModel(std::string(HOLDFAST_SOURCE_DIR) + "/models/" + name + ".yaml"));
      Must(Must(Application::Open(store.get(), model, {}))->Apply());
    }
  });
  std::printf(
      "\n`model apply` of pm, pos and trip on a fresh store, loading included: %.0f ms (floor: 1 s)\n",
      seconds * 1000);
}

// One user's tasks by status among few and among many users.
void Tenants(int users, double seconds) {
  std::printf("\n| POS-A-22 for one user | 1 user | %d users |\n|---|---|---|\n", users);
  for (bool scoped : {false, true}) {
    App app = Open("pos", scoped);
    auto add = [&](int user) {
      for (int i = 0; i < 5; ++i) {
        Must(app.application->Create(Caller::Tenant("user-" + std::to_string(user)), "TASK",
                                     {{"id", "t" + std::to_string(i) + "-" + std::to_string(user)},
                                      {"title", "Sort the receipts"},
                                      {"area", "Wealth"},
                                      {"pointValue", 45}}));
      }
    };
    auto ask = [&] {
      Answer answer =
          Must(app.application->Ask(Caller::Tenant("user-0"), "POS-A-22", {{"status", "NotStarted"}}, {}));
      if (answer.records.size() != 5) std::fprintf(stderr, "%zu tasks\n", answer.records.size());
    };
    add(0);
    double alone = 1e9;
    for (int i = 0; i < 200; ++i) alone = std::min(alone, Seconds(ask));
    for (int user = 1; user < users; ++user) add(user);
    double among = 1e9;
    double until = 0;
    for (int i = 0; i < 200 && until < seconds; ++i) {
      double once = Seconds(ask);
      until += once;
      among = std::min(among, once);
    }
    std::printf("| %s | %.0f µs | %.0f µs |\n", scoped ? "with `tenant_scope`" : "without", alone * 1e6,
                among * 1e6);
  }
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  double seconds = 2.0;
  int users = 10'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--seconds") seconds = std::atof(argv[i + 1]);
    if (std::string(argv[i]) == "--users") users = std::atoi(argv[i + 1]);
  }
  std::printf("| In process, in memory | plain operation | model | ratio | floor |\n|---|---|---|---|---|\n");
  holdfast::Puts(seconds);
  holdfast::Patterns(seconds);
  holdfast::Applying();
  holdfast::Tenants(users, seconds);
}
