// Which tables have a job of one kind under way, and of which it failed so lately that it is not tried again
// yet: the disk may be full.
//
// Not thread-safe.
#pragma once

#include <cstdlib>
#include <map>
#include <set>

#include "engine/catalog/schema.h"

namespace holdfast::engine {

class TableJobs {
 public:
  static constexpr int64_t kPauseMillis = 30'000;

  // Whether it may be tried again. A clock that was set is no reason to wait longer.
  static bool HasRested(int64_t failed_millis, int64_t now_millis) {
    return std::llabs(now_millis - failed_millis) >= kPauseMillis;
  }

  // False: not now.
  bool Begin(ObjectId table, int64_t now_millis) {
    auto failed = failed_millis_.find(table);
    if (failed != failed_millis_.end() && !HasRested(failed->second, now_millis)) return false;
    return under_way_.insert(table).second;
  }
  bool IsUnderWay(ObjectId table) const { return under_way_.contains(table); }
  void Succeeded(ObjectId table) {
    under_way_.erase(table);
    failed_millis_.erase(table);
  }
  void Failed(ObjectId table, int64_t now_millis) {
    under_way_.erase(table);
    failed_millis_[table] = now_millis;
  }
  // As if none had failed.
  void Forget(ObjectId table) { failed_millis_.erase(table); }

 private:
  std::set<ObjectId> under_way_;
  std::map<ObjectId, int64_t> failed_millis_;  // when
};

}  // namespace holdfast::engine
