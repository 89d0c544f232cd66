// What one request has cost so far, counted in bytes looked at: the attributes that a condition compares, the
// text that contains() searches, what a projection copies and an update writes. Two bounds stand on it
// (I-38): on an I/O thread a request that has looked at 16 MB goes to the pool, where it begins again, and
// one that comes to 1 GB is refused. So no request makes others wait for long, and tests can say what a
// request costs without a clock.
//
//   base::WorkMeter work(base::WorkMeter::Bound::kInline);
//   if (!condition.Holds(item, &work)) …;
//   HF_CHECK_OK(work.Check());   // only now does the answer mean something
//
// An evaluator spends before it looks, and stops with any answer once exhausted(); its caller then asks
// Check(). Not thread-safe: a request is worked on by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/limits.h"
#include "holdfast/result.h"

namespace holdfast::base {

class WorkMeter {
 public:
  enum class Bound : uint8_t { kInline, kRequest };
  // What there is to a step besides the bytes it looks at: a node of an expression, an entry of a list.
  static constexpr size_t kStepBytes = 16;

  explicit WorkMeter(Bound bound)
      : bytes_max_(bound == Bound::kInline ? limits::kInlineWorkBytesMax : limits::kRequestWorkBytesMax),
        bound_(bound) {}

  void Spend(size_t bytes) { bytes_ += bytes; }
  bool exhausted() const { return bytes_ > bytes_max_; }
  uint64_t bytes() const { return bytes_; }
  // kWouldBlock beyond the bound of I/O threads, a ValidationException beyond that of a request.
  Status Check() const {
    if (!exhausted()) [[likely]]
      return Ok{};
    return Exhausted();
  }

 private:
  Error Exhausted() const;

  uint64_t bytes_ = 0;
  const uint64_t bytes_max_;
  const Bound bound_;
};

}  // namespace holdfast::base
