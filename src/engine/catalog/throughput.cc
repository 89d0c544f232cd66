#include "engine/catalog/throughput.h"

namespace holdfast::engine {

void TokenBucket::SetRate(int64_t units_per_second) {
  base::MutexLock lock(&mu_);
  auto full = static_cast<double>(units_per_second) * kBurstSeconds;
  balance_ = limited() ? std::min(balance_, full) : full;
  if (units_per_second == 0) filled_millis_ = -1;
  rate_.store(units_per_second, std::memory_order_relaxed);
}

double TokenBucket::Balance(int64_t now_millis) {
  base::MutexLock lock(&mu_);
  auto rate = static_cast<double>(rate_.load(std::memory_order_relaxed));
  // A clock that was set back gives nothing, and takes nothing.
  if (filled_millis_ >= 0 && now_millis > filled_millis_) {
    double gained = rate * static_cast<double>(now_millis - filled_millis_) / 1000;
    balance_ = std::min(balance_ + gained, rate * kBurstSeconds);
  }
  // A thread that read the clock a moment ago must not have that moment count twice; a clock that was set
  // back goes on from there.
  if (now_millis > filled_millis_ || now_millis + 1000 < filled_millis_) filled_millis_ = now_millis;
  return balance_;
}

void TokenBucket::Take(double units) {
  base::MutexLock lock(&mu_);
  balance_ -= units;
}

}  // namespace holdfast::engine
