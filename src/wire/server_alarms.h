// The alarms that every server has, on what it counts anyway, and what they remember across restarts.
//
//   ServerAlarms alarms(settings, engine, &protocol.metrics(), &log);
//   alarms.Add({…});  // further ones
//   alarms.Start();
//
// A server on a remote store has no tables: it watches its own errors only.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "base/log.h"
#include "engine/engine.h"
#include "wire/alarms.h"
#include "wire/capacity_plan.h"
#include "wire/metrics.h"

namespace holdfast::wire {

inline constexpr std::string_view kThrottledRequests = "throttled-requests";
inline constexpr std::string_view kSystemErrors = "system-errors";
inline constexpr std::string_view kUserErrors = "user-errors";
inline constexpr std::string_view kConsumedCapacity = "consumed-capacity";
inline constexpr std::string_view kArchiveLag = "archive-lag";  // with --archive only

// What is set of an alarm other than its defaults.
struct AlarmSetting {
  bool off = false;
  std::optional<double> threshold;
  std::optional<int64_t> window_seconds;
};

struct AlarmSettings {
  std::map<std::string, AlarmSetting> alarms;  // by name
  Plans plans;
  int64_t interval_millis = 5000;
};

class ServerAlarms {
 public:
  // `engine` is null on a remote store. All must outlive it.
  ServerAlarms(AlarmSettings settings, engine::Engine* engine, const Metrics* metrics, const base::Log* log);

  // As its setting has it.
  void Add(AlarmSpec spec);
  void Start();
  // Remembers how things stand. Call before the engine goes.
  void Stop();
  Alarms& alarms() { return alarms_; }
  // In Prometheus' text form: the alarms, and how far the plans are used.
  std::string MetricsText();

 private:
  void Recall();
  void Remember();
  Figures SamplePlan();

  const AlarmSettings settings_;
  engine::Engine* const engine_;
  const base::Log* const log_;
  base::SystemClock system_clock_;
  std::optional<CapacityPlan> plan_;
  std::chrono::steady_clock::time_point plan_remembered_ = std::chrono::steady_clock::now();
  Alarms alarms_;
};

}  // namespace holdfast::wire
