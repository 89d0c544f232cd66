// Included before all else, makes plain code of AVX-512 (by SIMDe), so that it runs where the processor lacks
// it.
#pragma once

#include <immintrin.h>
// From here on the compiler's own intrinsics are hidden behind macros of the same names.
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

// SIMDe has no such reduction.
#define _mm512_reduce_add_epi32 EmulatedReduceAdd
inline int EmulatedReduceAdd(const simde__m512i& lanes) {
  int values[16], sum = 0;
  _mm512_storeu_si512(values, lanes);
  for (int value : values) sum += value;
  return sum;
}

#define __builtin_cpu_supports(feature) true
#define target(features)
