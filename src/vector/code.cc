#include "vector/code.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace holdfast::vector {
namespace {

// Added and taken away again, it rounds a small float to an integer, which then stands in the lowest byte:
// plain arithmetic that a compiler turns into vector code on every machine.
constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23

// Beyond these a code would not be finite, or its scale no float.
constexpr float kElementMin = 1e-36F;
constexpr double kLengthMax = 1e15;

}  // namespace

Code Encode(Metric metric, const float* vector, size_t dimensions, const Kernels& kernels, int8_t* bytes) {
  Code code;
  code.norm = std::sqrt(kernels.dot_f32(vector, vector, dimensions));
  double length = metric == Metric::kCosine ? 1 : code.norm;
  if (metric == Metric::kCosine) code.offset = 0.5F;
  std::memset(bytes, 0, CodeBytes(dimensions));
  float largest = kernels.max_abs_f32(vector, dimensions);
  // Too small or too large for float arithmetic: no code, and an error of the vector's own length says so.
  if (largest < kElementMin || length > kLengthMax) {
    double error = code.norm == 0 ? 0 : metric == Metric::kEuclidean ? length * length : length;
    code.error = static_cast<float>(std::min(error, static_cast<double>(std::numeric_limits<float>::max())));
    return code;
  }
  if (metric == Metric::kEuclidean) code.offset = static_cast<float>(length * length);
  float step = largest / 127, inverse = 127 / largest;
  // Residuals in steps, so that huge and tiny vectors neither overflow nor vanish.
  float residual = 0;
  for (size_t i = 0; i < dimensions; ++i) {
    float exact = vector[i] * inverse;
    float shifted = exact + kRounder;
    float rounded = shifted - kRounder;
    uint32_t bits = 0;
    std::memcpy(&bits, &shifted, sizeof(bits));
    bytes[i] = static_cast<int8_t>(bits);
    residual += (exact - rounded) * (exact - rounded);
  }
  double scale = step, error = std::sqrt(static_cast<double>(residual)) * step * 1.0001;
  if (metric == Metric::kCosine) {
    scale /= code.norm;
    error /= code.norm;
  }
  code.scale = static_cast<float>(scale);
  code.error = static_cast<float>(error + 1e-6 * static_cast<double>(code.scale) * 127);
  return code;
}

float Score(Metric metric, const float* query, double query_norm, const float* vector, double norm,
            size_t dimensions, const Kernels& kernels) {
  double score = 0;
  switch (metric) {
    case Metric::kCosine: {
      double lengths = query_norm * norm;
      score = lengths > 0 ? 1 - kernels.dot_f32(query, vector, dimensions) / lengths : 1;
      score = std::clamp(score, 0.0, 2.0);
      break;
    }
    case Metric::kEuclidean:
      score = std::sqrt(kernels.squared_distance_f32(query, vector, dimensions));
      break;
    case Metric::kDotProduct: score = kernels.dot_f32(query, vector, dimensions); break;
  }
  constexpr double kMax = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(score, -kMax, kMax));
}

}  // namespace holdfast::vector
