// What the sets of kernels share; kernels.cc chooses among them.
#pragma once

#include "vector/kernels.h"

namespace holdfast::vector {

// Each is null when this processor cannot run it.
#if defined(__x86_64__)
const Kernels* Avx2Kernels();
const Kernels* Avx512Kernels();
#elif defined(__aarch64__)
const Kernels* NeonKernels();
const Kernels* NeonDotprodKernels();
#endif

inline constexpr size_t kLanes = 8;

enum class Sum { kProducts, kSquaredDifferences };

// Neither may be fused with the addition that follows (the layer is built with -ffp-contract=off): for a
// product that would change nothing, for a square it would change the last bit.
template <Sum Kind>
double Term(float a, float b) {
  if constexpr (Kind == Sum::kProducts) return static_cast<double>(a) * static_cast<double>(b);
  double difference = static_cast<double>(a) - static_cast<double>(b);
  return difference * difference;
}

// Adds the elements that fill no whole row of lanes, the first of which is `from`, and then the lanes.
template <Sum Kind>
double Finish(double* lanes, const float* a, const float* b, size_t from, size_t count) {
  for (size_t i = from; i < count; ++i) lanes[i % kLanes] += Term<Kind>(a[i], b[i]);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// The largest of `most` and the magnitudes from `from` on.
float MaxAbsFrom(float most, const float* a, size_t from, size_t count);

}  // namespace holdfast::vector
