#include "wire/capacity_plan.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "wire/recorded.h"

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
  return static_cast<double>(IntegerOf(map, name));
}

}  // namespace

CapacityPlan::Totals CapacityPlan::TotalsNow() const {
  Totals totals;
  if (plans_.empty()) return totals;
  for (const auto& [name, used] : engine_->catalog().Usage()) {
    std::string table = name.substr(0, name.find('/'));
    if (!plans_.contains(table)) continue;
    totals[table].reads += used.reads;
    totals[table].writes += used.writes;
  }
  return totals;
}

CapacityPlan::Totals CapacityPlan::TurnMonth(int64_t now_millis) {
  int64_t month = MonthBegin(now_millis);
  bool same = month == month_millis_;
  bool first = month_millis_ == 0;
  month_millis_ = month;
  Totals totals = TotalsNow();
  for (const auto& [name, plan] : plans_) {
    if (same && used_.contains(name)) continue;
    used_[name] = {0, 0, totals[name].reads, totals[name].writes, first || same ? now_millis : month};
  }
  return totals;
}

PlannedUnits CapacityPlan::UsedOf(const std::string& table, Totals* totals) {
  const Used& used = used_[table];
  const PlannedUnits& now = (*totals)[table];
  return {used.reads + now.reads - used.reads_begin, used.writes + now.writes - used.writes_begin};
}

Figures CapacityPlan::Percentages() {
  base::MutexLock lock(&mu_);
  int64_t now_millis = engine_->clock().NowMillis();
  Totals totals = TurnMonth(now_millis);
  auto length = static_cast<double>(MonthBegin(now_millis, 1) - month_millis_);
  Figures percentages;
  for (const auto& [name, plan] : plans_) {
    PlannedUnits used = UsedOf(name, &totals);
    double due = static_cast<double>(std::max(now_millis - used_[name].since_millis, kDayMillis)) / length;
    auto percent = [&](double consumed, double planned) {
      return planned == 0 ? 0 : 100 * consumed / (planned * due);
    };
    percentages[name] = std::max(percent(used.reads, plan.reads), percent(used.writes, plan.writes));
  }
  return percentages;
}

std::string CapacityPlan::Metrics() {
  if (plans_.empty()) return {};
  Totals used;
  {
    base::MutexLock lock(&mu_);
    Totals totals = TurnMonth(engine_->clock().NowMillis());
    for (const auto& [table, plan] : plans_) used[table] = UsedOf(table, &totals);
  }
  std::string out;
  auto family = [&](std::string_view name, std::string_view help, auto value) {
    out.append("# HELP ").append(name).append(" ").append(help);
    out.append("\n# TYPE ").append(name).append(" gauge\n");
    for (const auto& [table, plan] : plans_) {
      char text[32];
      std::snprintf(text, sizeof text, "%.15g", value(plan, used.at(table)));
      out.append(name).append("{table=\"").append(table).append("\"} ").append(text).append("\n");
    }
  };
  using Units = const PlannedUnits&;
  family("holdfast_plan_read_units", "Read units planned for the month.",
         [](Units plan, Units) { return plan.reads; });
  family("holdfast_plan_write_units", "Write units planned for the month.",
         [](Units plan, Units) { return plan.writes; });
  family("holdfast_plan_used_read_units", "Read units used of the month's plan.",
         [](Units, Units used) { return used.reads; });
  family("holdfast_plan_used_write_units", "Write units used of the month's plan.",
         [](Units, Units used) { return used.writes; });
  return out;
}

AttributeMap CapacityPlan::Record() {
  base::MutexLock lock(&mu_);
  Totals totals = TurnMonth(engine_->clock().NowMillis());
  AttributeMap record{{"month", month_millis_}};
  for (const auto& [name, plan] : plans_) {
    PlannedUnits used = UsedOf(name, &totals);
    record.emplace("table " + name, AttributeValue::Map({{"reads", static_cast<int64_t>(used.reads)},
                                                         {"writes", static_cast<int64_t>(used.writes)},
                                                         {"since", used_[name].since_millis}}));
  }
  return record;
}

void CapacityPlan::Recall(const AttributeMap& record) {
  base::MutexLock lock(&mu_);
  int64_t month = IntegerOf(record, "month");
  if (month != MonthBegin(engine_->clock().NowMillis())) return;
  month_millis_ = month;
  Totals totals = TotalsNow();
  for (const auto& [name, plan] : plans_) {
    auto found = record.find("table " + name);
    if (found == record.end() || found->second.type() != AttributeValue::Type::kMap) continue;
    AttributeMap used = found->second.AsMap();
    used_[name] = {NumberOf(used, "reads"), NumberOf(used, "writes"), totals[name].reads, totals[name].writes,
                   IntegerOf(used, "since")};
  }
}

}  // namespace holdfast::wire
