#include "wire/capacity_plan.h"

#include <algorithm>
#include <chrono>

namespace holdfast::wire {
namespace {

constexpr int64_t kDayMillis = 86'400'000;

int64_t MonthBegin(int64_t millis, int months_later = 0) {
  using std::chrono::days, std::chrono::months, std::chrono::sys_days;
  auto day = std::chrono::floor<days>(
      std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(millis)));
  std::chrono::year_month_day date(day);
  sys_days begin(std::chrono::year_month_day(date.year() / date.month() / 1) + months(months_later));
  return std::chrono::duration_cast<std::chrono::milliseconds>(begin.time_since_epoch()).count();
}

double NumberOf(const AttributeMap& map, std::string_view name) {
  auto found = map.find(name);
  return found == map.end() ? 0 : static_cast<double>(found->second.AsInt64().value_or(0));
}

}  // namespace

CapacityPlan::Total CapacityPlan::TotalOf(const std::string& name) const {
  engine::TablePtr table = engine_->catalog().Find(name);
  if (table == nullptr) return {};
  uint64_t reads = table->consumption.read_halves, writes = table->consumption.write_halves;
  for (const engine::IndexSchema& index : table->schema()->indexes) {
    const engine::Consumption& consumption = *table->IndexConsumption(index.id);
    reads += consumption.read_halves;
    writes += consumption.write_halves;
  }
  return {static_cast<double>(reads) / 2, static_cast<double>(writes) / 2};
}

void CapacityPlan::TurnMonth(int64_t now_millis) {
  int64_t month = MonthBegin(now_millis);
  bool same = month == month_millis_;
  bool first = month_millis_ == 0;
  month_millis_ = month;
  for (const auto& [name, plan] : plans_) {
    auto known = used_.find(name);
    if (same && known != used_.end()) continue;
    Total now = TotalOf(name);
    used_[name] = {0, 0, now.reads, now.writes, first || same ? now_millis : month};
  }
}

Figures CapacityPlan::Percentages() {
  base::MutexLock lock(&mu_);
  int64_t now_millis = engine_->clock().NowMillis();
  TurnMonth(now_millis);
  auto length = static_cast<double>(MonthBegin(now_millis, 1) - month_millis_);
  Figures percentages;
  for (const auto& [name, plan] : plans_) {
    Used& used = used_[name];
    Total now = TotalOf(name);
    // A table that was made anew counts from nothing.
    used.reads_begin = std::min(used.reads_begin, now.reads);
    used.writes_begin = std::min(used.writes_begin, now.writes);
    double due = static_cast<double>(std::max(now_millis - used.since_millis, kDayMillis)) / length;
    auto percent = [&](double consumed, double planned) {
      return planned == 0 ? 0 : 100 * consumed / (planned * due);
    };
    percentages[name] = std::max(percent(used.reads + now.reads - used.reads_begin, plan.reads),
                                 percent(used.writes + now.writes - used.writes_begin, plan.writes));
  }
  return percentages;
}

AttributeMap CapacityPlan::Record() {
  base::MutexLock lock(&mu_);
  TurnMonth(engine_->clock().NowMillis());
  AttributeMap record{{"month", month_millis_}};
  for (const auto& [name, used] : used_) {
    Total now = TotalOf(name);
    record.emplace(
        "table " + name,
        AttributeValue::Map({{"reads", static_cast<int64_t>(used.reads + now.reads - used.reads_begin)},
                             {"writes", static_cast<int64_t>(used.writes + now.writes - used.writes_begin)},
                             {"since", used.since_millis}}));
  }
  return record;
}

void CapacityPlan::Recall(const AttributeMap& record) {
  base::MutexLock lock(&mu_);
  auto month = static_cast<int64_t>(NumberOf(record, "month"));
  if (month != MonthBegin(engine_->clock().NowMillis())) return;
  month_millis_ = month;
  for (const auto& [name, plan] : plans_) {
    auto found = record.find("table " + name);
    if (found == record.end() || found->second.type() != AttributeValue::Type::kMap) continue;
    AttributeMap used = found->second.AsMap();
    Total now = TotalOf(name);
    used_[name] = {NumberOf(used, "reads"), NumberOf(used, "writes"), now.reads, now.writes,
                   static_cast<int64_t>(NumberOf(used, "since"))};
  }
}

}  // namespace holdfast::wire
