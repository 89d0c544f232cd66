#include "agent/metrics.h"

#include <bit>

namespace holdfast::agent {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

void Line(std::string_view name, std::string_view labels, uint64_t value, std::string* out) {
  out->append("holdfast_agent_")
      .append(name)
      .append(labels)
      .append(" ")
      .append(std::to_string(value))
      .append("\n");
}
void Type(std::string_view name, std::string_view type, std::string* out) {
  out->append("# TYPE holdfast_agent_").append(name).append(" ").append(type).append("\n");
}

}  // namespace

void MillisHistogram::Add(int64_t millis) {
  auto positive = static_cast<uint64_t>(millis < 0 ? 0 : millis);
  size_t bucket = positive <= 1 ? 0 : static_cast<size_t>(std::bit_width(positive - 1));
  counts_[std::min(bucket, kBuckets - 1)].fetch_add(1, kRelaxed);
  total_.fetch_add(positive, kRelaxed);
}

void MillisHistogram::Append(std::string_view name, std::string* out) const {
  Type(name, "histogram", out);
  std::string base(name);
  uint64_t sum = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    sum += counts_[i].load(kRelaxed);
    std::string bound = i + 1 == kBuckets ? "+Inf" : std::to_string(uint64_t{1} << i);
    Line(base + "_bucket", "{le=\"" + bound + "\"}", sum, out);
  }
  Line(base + "_sum", "", total_.load(kRelaxed), out);
  Line(base + "_count", "", sum, out);
}

std::string Render(const Counters& c, const Gauges& gauges) {
  std::string out;
  auto counter = [&](std::string_view name,
                     std::initializer_list<std::pair<std::string_view, const Counters::Counter*>> all) {
    Type(name, "counter", &out);
    for (const auto& [labels, value] : all) Line(name, labels, value->load(kRelaxed), &out);
  };
  counter("events_total", {{"{type=\"user_message\"}", &c.user_messages},
                           {"{type=\"timer\"}", &c.timer_events},
                           {"{type=\"tool_result\"}", &c.tool_results},
                           {"{type=\"command\"}", &c.commands}});
  counter("event_duplicates_total", {{"", &c.duplicates}});
  counter("append_conflicts_total", {{"", &c.append_conflicts}});
  counter("claims_total", {{"", &c.claims}});
  counter("commits_total", {{"", &c.commits}});
  counter("fenced_total", {{"", &c.fenced}});
  counter("lease_lapsed_total", {{"", &c.lease_lapsed}});
  counter("turn_failures_total", {{"", &c.failures}});
  counter("poisoned_total", {{"", &c.poisoned}});
  counter("messages_total", {{"", &c.messages}});
  counter("pushed_total", {{"", &c.pushed}});
  counter("redelivered_total", {{"", &c.redelivered}});
  counter("skipped_total", {{"", &c.skipped}});
  counter("acks_total", {{"", &c.acks}});
  counter("timers_total", {{"{status=\"set\"}", &c.timers_set},
                           {"{status=\"promoted\"}", &c.timers_promoted},
                           {"{status=\"cancelled\"}", &c.timers_cancelled}});
  counter("suppressed_total", {{"{reason=\"disabled\"}", &c.refused_disabled},
                               {"{reason=\"superseded\"}", &c.refused_superseded},
                               {"{reason=\"cap\"}", &c.refused_cap},
                               {"{reason=\"cooldown\"}", &c.refused_cooldown}});
  counter("held_total", {{"{outcome=\"held\"}", &c.held}, {"{outcome=\"released\"}", &c.released}});
  counter("webhook_attempts_total", {{"", &c.webhook_attempts}});
  counter("webhooks_completed_total", {{"", &c.webhooks_completed}});
  counter("dead_letters_total", {{"", &c.dead_letters}});
  counter("malformed_rows_total", {{"", &c.malformed_rows}});
  auto gauge = [&](std::string_view name, size_t value) {
    Type(name, "gauge", &out);
    Line(name, "", value, &out);
  };
  gauge("sessions_in_memory", gauges.sessions);
  gauge("kept_bytes", gauges.kept_bytes);
  gauge("devices_connected", gauges.devices);
  gauge("workers_connected", gauges.workers);
  gauge("timers_in_memory", gauges.timers);
  c.claim_wait.Append("claim_wait_ms", &out);
  c.turn.Append("turn_ms", &out);
  c.timer_late.Append("timer_late_ms", &out);
  c.deliver.Append("deliver_ms", &out);
  return out;
}

}  // namespace holdfast::agent
