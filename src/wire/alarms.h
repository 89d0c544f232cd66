// Alarms: figures of the server, each watched against a bound. docs/monitoring.md describes those there are.
//
//   Alarms alarms({.clock = &clock, .log = &log});
//   alarms.Add({"archive-lag", "The archive is behind", "seconds", AlarmSpec::Kind::kLevel, Lag, 300});
//   alarms.Start();
//
// One thread looks at all of them every few seconds. An alarm is in the state ALARM while its figure is above
// its threshold, and OK otherwise; a change is logged, kept in a history of bounded length, and pushed to
// whoever listens.
//
// Thread-safe. Add comes before everything else.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "holdfast/value.h"
#include "wire/channel.h"
#include "wire/expiry.h"

namespace holdfast::wire {

// Figures by what they are of: a table, an index, an operation.
using Figures = std::map<std::string, double>;

struct AlarmSpec {
  std::string name;  // "throttled-requests"
  std::string about;
  std::string unit;  // "requests": what the figures count
  // kGrowth: the figures only ever grow, and by how much they grew in the window, together, is watched.
  // kLevel: the highest of the figures is watched.
  enum class Kind : uint8_t { kGrowth, kLevel } kind = Kind::kGrowth;
  std::function<Figures()> sample;
  double threshold = 0;          // ALARM above it
  int64_t window_seconds = 300;  // of kGrowth
};

struct AlarmChange {
  int64_t at_millis = 0;
  bool alarm = false;
  std::string reason;
};

// An alarm as it stands.
struct AlarmState {
  bool alarm = false;
  int64_t since_millis = 0;
  double value = 0;
  std::string reason;
  std::deque<AlarmChange> history;  // newest first
};

struct AlarmsOptions {
  const base::Clock* clock = nullptr;
  const base::Log* log = nullptr;
  int64_t interval_millis = 5000;
  // Told after changes, on the thread that found them.
  std::function<void()> changed;
};

class Alarms {
 public:
  static constexpr size_t kHistoryMax = 50;

  explicit Alarms(AlarmsOptions options) : options_(std::move(options)) {}
  ~Alarms() { Stop(); }
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

  void Add(AlarmSpec spec);
  // What the alarms were when `record` was made by Record(), and what is still in their windows. Before
  // Start.
  void Recall(const AttributeMap& record);
  // On the thread that looks at them, or while none does: {"alarms":{…},"steps":{…}}.
  AttributeMap Record() const;

  // Looks at all of them from now on.
  void Start();
  // Waits for the thread. No more is said after it.
  void Stop();
  // Looks at all of them once.
  void Evaluate();

  // {"alarms":[{"name":…,"state":"OK",…,"history":[…]}]}
  std::string Json() const;
  // In Prometheus' text form.
  std::string Metrics() const;
  // Tells the channel how things stand, and then every change.
  void Tell(const std::shared_ptr<Channel>& channel);
  void Forget(const Channel* channel);

 private:
  struct Watched {
    AlarmSpec spec;
    AlarmState state;
    // Of kGrowth; for the thread that evaluates.
    Figures last;
    bool sampled = false;
    struct Step {
      int64_t at_millis;
      Figures growth;  // the largest
    };
    std::deque<Step> steps;  // those within the window
  };

  void Run();
  // The newest of them, newest first.
  static AttributeValue RecordSteps(const Watched& watched);
  Figures Measure(Watched* watched, int64_t now_millis) HF_REQUIRES(evaluating_);

  const AlarmsOptions options_;
  base::Mutex evaluating_;  // before mu_
  mutable base::Mutex mu_;
  base::CondVar stopping_;
  std::deque<Watched> alarms_ HF_GUARDED_BY(mu_);
  std::vector<std::weak_ptr<Channel>> channels_ HF_GUARDED_BY(mu_);
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

// What talks over a WebSocket that is told of alarms, until its token ends.
std::shared_ptr<ChannelHandler> MakeAlarmSocket(Alarms* alarms, Expiry* expiry, int64_t expires_at);

}  // namespace holdfast::wire
