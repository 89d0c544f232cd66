// Vectors as codes: one signed byte per dimension and a scale of their own. A search walks codes, a quarter
// of the floats' size and several times faster to compare, and looks at floats only to settle the order of
// the nearest.
//
// Every code knows how far it is from its vector, so that what a comparison of codes says of the true
// distance has a bound that holds always: see Bound().
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vector/kernels.h"

namespace holdfast::vector {

enum class Metric : uint8_t { kCosine, kEuclidean, kDotProduct };

// What belongs to a code besides its bytes. The distance of two coded vectors, the nearer the lower, is
//   a.offset + b.offset - Factor(metric) * a.scale * b.scale * dot(a, b)
// which for cosine is 1 - cos, for Euclidean the squared distance, for the dot product its negative.
struct Code {
  float scale = 0;
  float offset = 0;
  float error = 0;  // length of what the code leaves out, in the space that is compared
  double norm = 0;  // length of the vector

  // Codes of such vectors say nothing.
  bool is_blank() const { return scale == 0 && norm > 0; }
};

constexpr float Factor(Metric metric) {
  return metric == Metric::kEuclidean ? 2.0F : 1.0F;
}

// Writes CodeBytes(dimensions) bytes to `bytes`, which is 64-byte aligned.
Code Encode(Metric metric, const float* vector, size_t dimensions, const Kernels& kernels, int8_t* bytes);

inline float CodeDistance(Metric metric, const Code& a, float b_scale, float b_offset, int32_t dot) {
  return a.offset + b_offset - Factor(metric) * a.scale * b_scale * static_cast<float>(dot);
}

// The true distance lies within CodeDistance ± Bound.
inline float Bound(Metric metric, const Code& query, float error, double norm) {
  // |<q,v> - <q',v'>| <= |q||v - v'| + |q - q'||v'|, and |v'| <= |v| + |v - v'|.
  double query_length = metric == Metric::kCosine ? 1 : query.norm;
  double length = metric == Metric::kCosine ? 1 : norm;
  double bound = query_length * error + query.error * (length + error);
  // What float arithmetic adds.
  double rounding = 4e-6 * (query_length * length + length * length + 1);
  return static_cast<float>(Factor(metric) * bound + rounding);
}

// The score as the API gives it, from the floats; finite always, NaN never.
float Score(Metric metric, const float* query, double query_norm, const float* vector, double norm,
            size_t dimensions, const Kernels& kernels);

// True when `a` is the better score.
inline bool Nearer(Metric metric, float a, float b) {
  return metric == Metric::kDotProduct ? a > b : a < b;
}

}  // namespace holdfast::vector
