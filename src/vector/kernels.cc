#include "vector/kernels.h"

#include <algorithm>
#include <cmath>

#include "vector/kernel_sets.h"

namespace holdfast::vector {
namespace {

int32_t DotI8(const int8_t* a, const int8_t* b, size_t bytes) {
  int32_t sum = 0;
  for (size_t i = 0; i < bytes; ++i) sum += a[i] * b[i];
  return sum;
}

template <Sum Kind>
double SumF32(const float* a, const float* b, size_t count) {
  double lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += Term<Kind>(a[i + lane], b[i + lane]);
  }
  return Finish<Kind>(lanes, a, b, i, count);
}

float MaxAbsF32(const float* a, size_t count) {
  return MaxAbsFrom(0, a, 0, count);
}

constexpr Kernels kScalar = {"scalar", DotI8, SumF32<Sum::kProducts>, SumF32<Sum::kSquaredDifferences>,
                             MaxAbsF32};

std::vector<const Kernels*> Detect() {
#if defined(__x86_64__)
  std::vector<const Kernels*> sets = {&kScalar, Avx2Kernels(), Avx512Kernels()};
#elif defined(__aarch64__)
  std::vector<const Kernels*> sets = {&kScalar, NeonKernels(), NeonDotprodKernels()};
#else
  std::vector<const Kernels*> sets = {&kScalar};
#endif
  std::erase(sets, nullptr);
  return sets;
}

}  // namespace

float MaxAbsFrom(float most, const float* a, size_t from, size_t count) {
  for (size_t i = from; i < count; ++i) most = std::max(most, std::fabs(a[i]));
  return most;
}

const std::vector<const Kernels*>& AvailableKernels() {
  static const std::vector<const Kernels*> kSets = Detect();
  return kSets;
}

const Kernels& BestKernels() {
  static const Kernels& best = *AvailableKernels().back();
  return best;
}

}  // namespace holdfast::vector
