// Where time comes from. Nothing reads the system clock directly: tests set and advance their own.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace holdfast::base {

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since 1970, UTC. May step backwards when an operator sets the clock.
  virtual int64_t NowMillis() const = 0;
  int64_t NowSeconds() const { return NowMillis() / 1000; }
};

class SystemClock final : public Clock {
 public:
  int64_t NowMillis() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

// Stands still until told otherwise.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t now_millis) : now_millis_(now_millis) {}
  int64_t NowMillis() const override { return now_millis_.load(); }
  void Set(int64_t now_millis) { now_millis_.store(now_millis); }
  void Advance(int64_t millis) { now_millis_.fetch_add(millis); }

 private:
  std::atomic<int64_t> now_millis_;
};

// Monotonic microseconds, for durations only.
inline int64_t SteadyMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace holdfast::base
