// Where randomness comes from. A seed replays a run.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/mutex.h"

namespace holdfast::base {

class Random {
 public:
  // Seeded from the operating system.
  Random();
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next();
  // Uniform in [0, bound). Requires: bound > 0.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  // RFC 4122 version 4, lower case.
  std::string Uuid();

 private:
  Mutex mu_;
  uint64_t state_ HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::base
