// The system's clock, moved by whoever tests a running server. It goes on from where it was set.
//
// Thread-safe.
#pragma once

#include <atomic>

#include "base/clock.h"

namespace holdfast::base {

class AdjustableClock final : public Clock {
 public:
  int64_t NowMillis() const override { return system_.NowMillis() + offset_millis_.load(); }

  void Set(int64_t now_millis) { offset_millis_.store(now_millis - system_.NowMillis()); }
  void Reset() { offset_millis_.store(0); }
  void SetOffset(int64_t millis) { offset_millis_.store(millis); }
  // From what the system's shows.
  int64_t offset_millis() const { return offset_millis_.load(); }

 private:
  const SystemClock system_;
  std::atomic<int64_t> offset_millis_{0};
};

}  // namespace holdfast::base
