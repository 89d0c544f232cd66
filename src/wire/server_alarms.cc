#include "wire/server_alarms.h"

#include "engine/commit/commit.h"
#include "storage/archive/archiver.h"

namespace holdfast::wire {
namespace {

// The record in the catalog space. Stored on disk: never change.
constexpr std::string_view kRecordKey = "alarms";
constexpr auto kRememberEvery = std::chrono::minutes(1);

Figures ThrottledBy(engine::Engine* engine) {
  Figures figures;
  for (const auto& [name, used] : engine->catalog().Usage()) {
    if (used.throttled > 0) figures[name] = used.throttled;
  }
  return figures;
}

}  // namespace

ServerAlarms::ServerAlarms(AlarmSettings settings, engine::Engine* engine, const Metrics* metrics,
                           const base::Log* log)
    : settings_(std::move(settings)),
      engine_(engine),
      log_(log),
      alarms_({.clock = engine == nullptr ? &system_clock_ : &engine->clock(),
               .log = log,
               .interval_millis = settings_.interval_millis,
               .changed = [this] { Remember(); }}) {
  using Kind = AlarmSpec::Kind;
  if (engine_ != nullptr) {
    Add({std::string(kThrottledRequests), "Requests beyond the throughput of a table or index", "requests",
         Kind::kGrowth, [engine] { return ThrottledBy(engine); }, 0, 300});
  }
  Add({std::string(kSystemErrors), "Requests that failed by the server's own fault", "errors", Kind::kGrowth,
       [metrics] { return metrics->Errors(ops::Fault::kServer); }, 0, 300});
  Add({std::string(kUserErrors), "Requests that were wrong", "errors", Kind::kGrowth,
       [metrics] { return metrics->Errors(ops::Fault::kUser); }, 10, 300});
  if (engine_ != nullptr) {
    plan_.emplace(settings_.plans, engine);
    Add({std::string(kConsumedCapacity), "Units consumed against the part of the month's plan that is due",
         "% of the plan", Kind::kLevel, [this] { return SamplePlan(); }, 150});
  }
  if (engine_ != nullptr && engine_->archiver() != nullptr) {
    auto lag = [engine] { return Figures{{"archive", engine->archiver()->stats().lag_seconds}}; };
    Add({std::string(kArchiveLag), "Since when something durable is missing in the archive", "seconds",
         Kind::kLevel, lag, 10});
  }
}

void ServerAlarms::Add(AlarmSpec spec) {
  if (auto set = settings_.alarms.find(spec.name); set != settings_.alarms.end()) {
    if (set->second.off) return;
    spec.threshold = set->second.threshold.value_or(spec.threshold);
    spec.window_seconds = set->second.window_seconds.value_or(spec.window_seconds);
  }
  alarms_.Add(std::move(spec));
}

void ServerAlarms::Start() {
  Recall();
  for (const auto& [table, plan] : settings_.plans) {
    if (engine_ != nullptr && engine_->catalog().Find(table) == nullptr)
      HF_LOG(*log_, kWarning, "a plan is of a table that is not there", {"table", table});
  }
  alarms_.Start();
}

void ServerAlarms::Stop() {
  alarms_.Stop();
  Remember();
}

void ServerAlarms::Recall() {
  if (engine_ == nullptr) return;
  std::string bytes;
  Result<bool> found =
      engine_->kv().Get(storage::Space::kCatalog, kRecordKey, nullptr, storage::Wait::kMayBlock, &bytes);
  if (!found || !*found || !value::IsWellFormedItem(bytes)) return;
  AttributeMap record = Item::FromFlat(std::move(bytes)).ToMap();
  alarms_.Recall(record);
  auto plan = record.find("plan");
  if (plan != record.end() && plan->second.type() == AttributeValue::Type::kMap)
    plan_->Recall(plan->second.AsMap());
}

std::string ServerAlarms::MetricsText() {
  return alarms_.Metrics() + (plan_ ? plan_->Metrics() : std::string());
}

// What was consumed changes no alarm for weeks: without this a crash would take it all.
Figures ServerAlarms::SamplePlan() {
  Figures percentages = plan_->Percentages();
  auto now = std::chrono::steady_clock::now();
  if (now - plan_remembered_ >= kRememberEvery) {
    plan_remembered_ = now;
    Remember();
  }
  return percentages;
}

// Alarms are not worth a sync: what a power cut takes of them is at most their last change,
// and the last minute of what was consumed.
void ServerAlarms::Remember() {
  if (engine_ == nullptr || !engine_->committer().CheckSound()) return;
  AttributeMap all = alarms_.Record();
  all.emplace("plan", AttributeValue::Map(plan_->Record()));
  Item record(all);
  engine::Commit commit(&engine_->committer(), engine::Commit::Kind::kUpkeep);
  commit.batch()->Put(storage::Space::kCatalog, kRecordKey, record.flat());
  if (Status written = commit.Write(storage::Wait::kMayBlock); !written)
    HF_LOG(*log_, kWarning, "alarms not saved", {"error", written.error().ToString()});
}

}  // namespace holdfast::wire
