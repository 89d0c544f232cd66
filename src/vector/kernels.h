// The arithmetic beneath vector search, in the widest form the processor has: chosen once, when the program
// starts, so that one binary runs everywhere.
//
//   const Kernels& kernels = BestKernels();
//   int32_t dot = kernels.dot_i8(a, b, CodeBytes(dimensions));
//
// Every set gives the same bits for the same arguments: dot_i8 because integers do, the others because each
// sums in the same eight lanes (element i goes to lane i % 8; lanes are added as
// ((0+4)+(2+6))+((1+5)+(3+7))), and because a product of two floats is exact in a double. So ranks do not
// depend on the machine.
//
// Thread-safe: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace holdfast::vector {

struct Kernels {
  std::string_view name;  // "scalar", "avx2", "avx512vnni", "neon", "neon_dotprod"
  // Sum of a[i] * b[i]. Requires: every element in [-127, 127]; `bytes` a multiple of 64, at most 4096; both
  // 64-byte aligned (codes are padded with zeros).
  int32_t (*dot_i8)(const int8_t* a, const int8_t* b, size_t bytes);
  // Sums of double(a[i]) * double(b[i]), and of squares of differences. Any alignment, any count.
  double (*dot_f32)(const float* a, const float* b, size_t count);
  double (*squared_distance_f32)(const float* a, const float* b, size_t count);
  // The largest |a[i]|; 0 when count is 0. Requires: no NaN.
  float (*max_abs_f32)(const float* a, size_t count);
};

// A code's size in memory: `dimensions` rounded up to whole cache lines.
constexpr size_t CodeBytes(size_t dimensions) {
  return (dimensions + 63) / 64 * 64;
}

// The best set that this processor can run.
const Kernels& BestKernels();
// Every set that it can run, from the plain one to the best.
const std::vector<const Kernels*>& AvailableKernels();

}  // namespace holdfast::vector
