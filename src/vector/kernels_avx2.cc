#if defined(__x86_64__)
#include <immintrin.h>

#include "vector/kernel_sets.h"

#define HF_AVX2 __attribute__((target("avx2")))

namespace holdfast::vector {
namespace {

HF_AVX2 inline __m256i Load(const int8_t* from) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
}

// The instruction multiplies unsigned by signed, so the sign of a moves to b. Two products of at most 127 *
// 127 do not saturate 16 bits.
HF_AVX2 inline __m256i Dot32(const int8_t* a, const int8_t* b) {
  __m256i left = Load(a);
  __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(left), _mm256_sign_epi8(Load(b), left));
  return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

HF_AVX2 int32_t DotI8(const int8_t* a, const int8_t* b, size_t bytes) {
  __m256i even = _mm256_setzero_si256(), odd = even;
  for (size_t i = 0; i < bytes; i += 64) {
    even = _mm256_add_epi32(even, Dot32(a + i, b + i));
    odd = _mm256_add_epi32(odd, Dot32(a + i + 32, b + i + 32));
  }
  __m256i sum = _mm256_add_epi32(even, odd);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(two) + _mm_extract_epi32(two, 1);
}

template <Sum Kind>
HF_AVX2 inline __m256d Terms(const float* a, const float* b) {
  __m256d left = _mm256_cvtps_pd(_mm_loadu_ps(a)), right = _mm256_cvtps_pd(_mm_loadu_ps(b));
  if constexpr (Kind == Sum::kProducts) return _mm256_mul_pd(left, right);
  __m256d difference = _mm256_sub_pd(left, right);
  return _mm256_mul_pd(difference, difference);
}

template <Sum Kind>
HF_AVX2 double SumF32(const float* a, const float* b, size_t count) {
  __m256d low = _mm256_setzero_pd(), high = low;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    low = _mm256_add_pd(low, Terms<Kind>(a + i, b + i));
    high = _mm256_add_pd(high, Terms<Kind>(a + i + 4, b + i + 4));
  }
  double lanes[kLanes];
  _mm256_storeu_pd(lanes, low);
  _mm256_storeu_pd(lanes + 4, high);
  return Finish<Kind>(lanes, a, b, i, count);
}

HF_AVX2 float MaxAbsF32(const float* a, size_t count) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  __m256 most = _mm256_setzero_ps();
  size_t i = 0;
  for (; i + 8 <= count; i += 8) most = _mm256_max_ps(most, _mm256_andnot_ps(sign, _mm256_loadu_ps(a + i)));
  float lanes[8];
  _mm256_storeu_ps(lanes, most);
  return MaxAbsFrom(MaxAbsFrom(0, lanes, 0, 8), a, i, count);
}

constexpr Kernels kAvx2 = {"avx2", DotI8, SumF32<Sum::kProducts>, SumF32<Sum::kSquaredDifferences>,
                           MaxAbsF32};

}  // namespace

const Kernels* Avx2Kernels() {
  return __builtin_cpu_supports("avx2") ? &kAvx2 : nullptr;
}

}  // namespace holdfast::vector
#endif
