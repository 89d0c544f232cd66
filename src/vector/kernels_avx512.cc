#if defined(__x86_64__)
// GCC 12 warns of its own header, where a register that is meant to be undefined is written so (PR105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#include "vector/kernel_sets.h"

#define HF_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace holdfast::vector {
namespace {

// The instruction multiplies unsigned by signed, so a is read as a + 128 (its top bit turned over), and 128
// times the sum of b is taken off again. Two sums of each kind, as one instruction waits long for the one
// before.
HF_AVX512 int32_t DotI8(const int8_t* a, const int8_t* b, size_t bytes) {
  const __m512i top = _mm512_set1_epi8(-128);
  __m512i sums[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  __m512i excess[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  size_t i = 0;
  auto add = [&](size_t chain) HF_AVX512 {
    __m512i left = _mm512_xor_si512(_mm512_load_si512(a + i), top), right = _mm512_load_si512(b + i);
    sums[chain] = _mm512_dpbusd_epi32(sums[chain], left, right);
    excess[chain] = _mm512_dpbusd_epi32(excess[chain], top, right);
    i += 64;
  };
  while (i + 128 <= bytes) {
    add(0);
    add(1);
  }
  if (i < bytes) add(0);
  __m512i sum = _mm512_add_epi32(sums[0], sums[1]);
  return _mm512_reduce_add_epi32(_mm512_sub_epi32(sum, _mm512_add_epi32(excess[0], excess[1])));
}

}  // namespace

// The eight lanes of a sum of doubles are one chain of additions here, two at once in AVX2: equally fast. So
// only the codes gain from the wider registers.
const Kernels* Avx512Kernels() {
  const Kernels* avx2 = Avx2Kernels();
  if (!avx2 || !__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512vnni")) {
    return nullptr;
  }
  static const Kernels kSet = {"avx512vnni", DotI8, avx2->dot_f32, avx2->squared_distance_f32,
                               avx2->max_abs_f32};
  return &kSet;
}

}  // namespace holdfast::vector
#endif
