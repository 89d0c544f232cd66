// What a runtime counts. Thread-safe; everything is relaxed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::agent {

// Milliseconds in powers of two: 1, 2, 4, … 32768, then the rest.
class MillisHistogram {
 public:
  void Add(int64_t millis);
  void Append(std::string_view name, std::string* out) const;

 private:
  static constexpr size_t kBuckets = 17;
  std::array<std::atomic<uint64_t>, kBuckets> counts_{};
  std::atomic<uint64_t> total_{0};
};

struct Counters {
  using Counter = std::atomic<uint64_t>;
  Counter user_messages{0}, timer_events{0}, tool_results{0}, commands{0}, duplicates{0};
  Counter append_conflicts{0}, commits{0}, claims{0}, fenced{0}, lease_lapsed{0}, failures{0}, poisoned{0};
  Counter messages{0}, pushed{0}, redelivered{0}, skipped{0}, acks{0};
  Counter timers_set{0}, timers_promoted{0}, timers_cancelled{0}, held{0}, released{0};
  Counter refused_disabled{0}, refused_superseded{0}, refused_cap{0}, refused_cooldown{0};
  Counter webhook_attempts{0}, webhooks_completed{0}, dead_letters{0};
  Counter malformed_rows{0};
  MillisHistogram claim_wait, turn, timer_late, deliver;
};

// In Prometheus' text form.
struct Gauges {
  size_t sessions = 0, kept_bytes = 0, devices = 0, workers = 0, timers = 0;
};
std::string Render(const Counters& counters, const Gauges& gauges);

}  // namespace holdfast::agent
