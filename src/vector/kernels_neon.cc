#if defined(__aarch64__)
#include <arm_neon.h>
#include <sys/auxv.h>

#include "vector/kernel_sets.h"

namespace holdfast::vector {
namespace {

int32_t Total(const int32x4_t* sums) {
  return vaddvq_s32(vaddq_s32(vaddq_s32(sums[0], sums[1]), vaddq_s32(sums[2], sums[3])));
}

// Two products of at most 127 * 127 fit in 16 bits.
int32_t DotI8(const int8_t* a, const int8_t* b, size_t bytes) {
  int32x4_t sums[4] = {};
  for (size_t i = 0; i < bytes; i += 64) {
    for (size_t part = 0; part < 4; ++part) {
      int8x16_t left = vld1q_s8(a + i + 16 * part), right = vld1q_s8(b + i + 16 * part);
      int16x8_t pairs = vmull_s8(vget_low_s8(left), vget_low_s8(right));
      sums[part] = vpadalq_s16(sums[part], vmlal_high_s8(pairs, left, right));
    }
  }
  return Total(sums);
}

template <Sum Kind>
float64x2_t Terms(float64x2_t a, float64x2_t b) {
  if constexpr (Kind == Sum::kProducts) return vmulq_f64(a, b);
  float64x2_t difference = vsubq_f64(a, b);
  return vmulq_f64(difference, difference);
}

template <Sum Kind>
double SumF32(const float* a, const float* b, size_t count) {
  float64x2_t sums[kLanes / 2] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t half = 0; half < 2; ++half) {
      float32x4_t left = vld1q_f32(a + i + 4 * half), right = vld1q_f32(b + i + 4 * half);
      float64x2_t* sum = sums + 2 * half;
      sum[0] =
          vaddq_f64(sum[0], Terms<Kind>(vcvt_f64_f32(vget_low_f32(left)), vcvt_f64_f32(vget_low_f32(right))));
      sum[1] = vaddq_f64(sum[1], Terms<Kind>(vcvt_high_f64_f32(left), vcvt_high_f64_f32(right)));
    }
  }
  double lanes[kLanes];
  for (size_t pair = 0; pair < kLanes / 2; ++pair) vst1q_f64(lanes + 2 * pair, sums[pair]);
  return Finish<Kind>(lanes, a, b, i, count);
}

float MaxAbsF32(const float* a, size_t count) {
  float32x4_t most = vdupq_n_f32(0);
  size_t i = 0;
  for (; i + 4 <= count; i += 4) most = vmaxq_f32(most, vabsq_f32(vld1q_f32(a + i)));
  return MaxAbsFrom(vmaxvq_f32(most), a, i, count);
}

constexpr Kernels kNeon = {"neon", DotI8, SumF32<Sum::kProducts>, SumF32<Sum::kSquaredDifferences>,
                           MaxAbsF32};

// Older Clangs declare the instruction only where every function may use it.
#if !defined(__clang__) || __clang_major__ >= 16 || defined(__ARM_FEATURE_DOTPROD)
#define HF_DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))

HF_DOTPROD int32_t DotprodI8(const int8_t* a, const int8_t* b, size_t bytes) {
  int32x4_t sums[4] = {};
  for (size_t i = 0; i < bytes; i += 64) {
    for (size_t part = 0; part < 4; ++part) {
      sums[part] = vdotq_s32(sums[part], vld1q_s8(a + i + 16 * part), vld1q_s8(b + i + 16 * part));
    }
  }
  return Total(sums);
}

constexpr Kernels kNeonDotprod = {"neon_dotprod", DotprodI8, kNeon.dot_f32, kNeon.squared_distance_f32,
                                  kNeon.max_abs_f32};
constexpr const Kernels* kBest = &kNeonDotprod;
#else
constexpr const Kernels* kBest = nullptr;
#endif

}  // namespace

const Kernels* NeonKernels() {
  return &kNeon;
}

const Kernels* NeonDotprodKernels() {
  return getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? kBest : nullptr;
}

}  // namespace holdfast::vector
#endif
