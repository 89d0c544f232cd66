// How fast a table or a global index may be read and written: a bucket of units that fills steadily.
//
// A request is let in while the balance is above zero and is charged what it cost once that is known, which
// may leave a debt: so a request that costs more than a second's worth still passes, and those after it pay.
// What is not used is kept for 300 seconds, as DynamoDB keeps it. A bucket starts full: it is in memory, and
// a store that was restarted has not been used for a while.
//
//   if (bucket.limited() && bucket.Balance(clock.NowMillis()) <= 0) return Throttled();
//   …
//   bucket.Charge(units);
//
// Thread-safe. Without a limit all of it is one relaxed load.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/mutex.h"

namespace holdfast::engine {

// A write costs one unit per 1 KB, at least one.
inline double WriteUnits(size_t bytes) {
  return static_cast<double>((std::max<size_t>(bytes, 1) + limits::kWriteUnitBytes - 1) /
                             limits::kWriteUnitBytes);
}

class TokenBucket {
 public:
  static constexpr int64_t kBurstSeconds = 300;

  // 0: no limit. What is in the bucket, or owed, stays, and time so far counts at the rate that was: neither
  // a higher rate nor a while without a limit pays out more. The first limit starts with a full bucket; one
  // after a while without forgives what was owed, and starts with a second's units at least.
  void SetRate(int64_t units_per_second, int64_t now_millis);
  // As after a start.
  void Refill();
  bool limited() const { return rate_.load(std::memory_order_relaxed) > 0; }

  // Units that may be taken at this time; at most 0: nobody is let in.
  double Balance(int64_t now_millis);
  void Charge(double units) {
    if (limited()) Take(units);
  }

 private:
  void Take(double units);
  void Settle(int64_t now_millis) HF_REQUIRES(mu_);
  double full() const HF_REQUIRES(mu_) { return static_cast<double>(fill_rate_) * kBurstSeconds; }

  std::atomic<int64_t> rate_{0};
  base::Mutex mu_;
  int64_t fill_rate_ HF_GUARDED_BY(mu_) = 0;  // the rate, or while there is none the last one
  double balance_ HF_GUARDED_BY(mu_) = 0;
  int64_t filled_millis_ HF_GUARDED_BY(mu_) = -1;  // when that was; -1: not looked at yet
};

// What a call of several actions means to take, before any of it is charged: each finds what those before it
// leave.
class Admission {
 public:
  explicit Admission(int64_t now_millis) : now_millis_(now_millis) {}

  bool HasRoom(TokenBucket* bucket) const {
    return !bucket->limited() || bucket->Balance(now_millis_) > planned(bucket);
  }
  void Plan(TokenBucket* bucket, double units) { planned_.emplace_back(bucket, units); }

 private:
  double planned(const TokenBucket* bucket) const {
    double sum = 0;
    for (const auto& [other, units] : planned_) sum += other == bucket ? units : 0;
    return sum;
  }

  const int64_t now_millis_;
  std::vector<std::pair<const TokenBucket*, double>> planned_;
};

}  // namespace holdfast::engine
