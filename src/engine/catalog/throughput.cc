#include "engine/catalog/throughput.h"

namespace holdfast::engine {

void TokenBucket::SetRate(int64_t units_per_second, int64_t now_millis) {
  base::MutexLock lock(&mu_);
  Settle(now_millis);
  bool was_limited = limited();
  rate_.store(units_per_second, std::memory_order_relaxed);
  if (units_per_second == 0) return;
  bool first = fill_rate_ == 0;
  fill_rate_ = units_per_second;
  balance_ = first ? full() : std::min(balance_, full());
  if (!was_limited) balance_ = std::max(balance_, static_cast<double>(fill_rate_));
}

void TokenBucket::Refill() {
  base::MutexLock lock(&mu_);
  balance_ = full();
}

double TokenBucket::Balance(int64_t now_millis) {
  base::MutexLock lock(&mu_);
  Settle(now_millis);
  return balance_;
}

void TokenBucket::Settle(int64_t now_millis) {
  // A clock that was set back gives nothing, and takes nothing.
  if (filled_millis_ >= 0 && now_millis > filled_millis_) {
    double gained = static_cast<double>(fill_rate_) * static_cast<double>(now_millis - filled_millis_) / 1000;
    balance_ = std::min(balance_ + gained, full());
  }
  // A thread that read the clock a moment ago must not have that moment count twice; a clock that was set
  // back goes on from there.
  if (now_millis > filled_millis_ || now_millis + 1000 < filled_millis_) filled_millis_ = now_millis;
}

void TokenBucket::Take(double units) {
  base::MutexLock lock(&mu_);
  balance_ -= units;
}

}  // namespace holdfast::engine
