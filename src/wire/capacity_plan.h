// How much of its plan each table has used: units consumed this month, against the part of the month's plan
// that is due by now. What tables and indexes used that are gone since counts for the month as well.
//
// What was consumed is counted since the month began, or since the plan was first seen in it. The first day
// counts whole, because nobody uses a month evenly: what is due is never less than a day's part.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "engine/engine.h"
#include "wire/alarms.h"

namespace holdfast::wire {

// Request units a month, of a table and its indexes together. 0: not planned.
struct PlannedUnits {
  double reads = 0;
  double writes = 0;
};
using Plans = std::map<std::string, PlannedUnits>;  // by table

class CapacityPlan {
 public:
  CapacityPlan(Plans plans, engine::Engine* engine) : plans_(std::move(plans)), engine_(engine) {}

  // Per cent of what is due, by table: of reads or of writes, whichever is more.
  Figures Percentages();
  // What was used this month, and what is planned for it, in Prometheus' text form.
  std::string Metrics();

  // What was consumed so far, to go on from after a restart.
  AttributeMap Record();
  void Recall(const AttributeMap& record);

 private:
  struct Used {
    double reads = 0, writes = 0;              // before the counters were last begun at
    double reads_begin = 0, writes_begin = 0;  // where they stood then
    int64_t since_millis = 0;
  };
  using Totals = std::map<std::string, PlannedUnits>;
  // Since the store was opened, of the tables that have a plan.
  Totals TotalsNow() const;
  // Begins anew with each month. Returns the totals.
  Totals TurnMonth(int64_t now_millis) HF_REQUIRES(mu_);
  PlannedUnits UsedOf(const std::string& table, Totals* totals) HF_REQUIRES(mu_);

  const Plans plans_;
  engine::Engine* const engine_;
  base::Mutex mu_;
  int64_t month_millis_ HF_GUARDED_BY(mu_) = 0;  // when the month began
  std::map<std::string, Used> used_ HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::wire
