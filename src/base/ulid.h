// ULIDs: 26 characters that sort by the time they were made, and within one millisecond by the order.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"

namespace holdfast::base {

class UlidSource {
 public:
  // Neither is owned.
  UlidSource(const Clock* clock, Random* random) : clock_(clock), random_(random) {}
  // Greater than all that came before it from this source, also when the clock stands or steps back.
  std::string Next();

 private:
  const Clock* const clock_;
  Random* const random_;
  Mutex mu_;
  int64_t millis_ HF_GUARDED_BY(mu_) = -1;
  // The 80 random bits, counted up within a millisecond.
  uint16_t high_ HF_GUARDED_BY(mu_) = 0;
  uint64_t low_ HF_GUARDED_BY(mu_) = 0;
};

// 26 characters of Crockford's Base32, upper case, within the range of 128 bits.
bool IsUlid(std::string_view text);

}  // namespace holdfast::base
