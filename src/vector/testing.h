// What the tests of this layer share: kernels asked about many inputs.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "vector/kernels.h"

namespace holdfast::vector::testing {

inline constexpr size_t kLongest = 4096;

using Random = std::mt19937_64;  // the same on every machine, as std's distributions are not

template <class T>
struct Inputs {
  const char* name;
  T (*a)(Random&);
  T (*b)(Random&);
};

inline int8_t AnyCode(Random& random) {
  return static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
}
inline int8_t EndCode(Random& random) {
  return random() % 2 ? 127 : -127;
}
inline int8_t MostCode(Random&) {
  return 127;
}
inline int8_t LeastCode(Random&) {
  return -127;
}
inline int8_t ZeroCode(Random&) {
  return 0;
}

inline float Fraction(Random& random) {
  return static_cast<float>(static_cast<int>(random() % 2000001) - 1000000) / 1e6F;
}
// Of many sizes: the square of a difference then has more digits than a double, and shows when it was not
// rounded.
inline float Uneven(Random& random) {
  float fraction = Fraction(random);
  return std::ldexp(fraction, -static_cast<int>(random() % 20));
}
inline float Huge(Random& random) {
  return random() % 2 ? 3e38F : -3e38F;
}
inline float Denormal(Random& random) {
  return std::bit_cast<float>(static_cast<uint32_t>(random()) & 0x807fffffU);
}
inline float AnyFinite(Random& random) {
  auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
  return std::isfinite(value) ? value : 0;
}
inline float Zero(Random& random) {
  return random() % 2 ? 0.0F : -0.0F;
}

inline constexpr Inputs<int8_t> kCodeInputs[] = {
    {"any", AnyCode, AnyCode},      {"ends", EndCode, EndCode},   {"most", MostCode, MostCode},
    {"least", LeastCode, MostCode}, {"zeros", ZeroCode, EndCode},
};
inline constexpr Inputs<float> kFloatInputs[] = {
    {"fractions", Fraction, Fraction}, {"uneven", Uneven, Uneven},           {"huge", Huge, Huge},
    {"denormal", Denormal, Denormal},  {"huge by denormal", Huge, Denormal}, {"any", AnyFinite, AnyFinite},
    {"zeros", Zero, AnyFinite},
};

struct Codes {
  alignas(64) int8_t a[kLongest];
  alignas(64) int8_t b[kLongest];
};

struct Floats {
  // Aligned as floats and no better.
  const float* a() const { return storage_a + 1; }
  const float* b() const { return storage_b + 3; }

  alignas(64) float storage_a[kLongest + 1];
  alignas(64) float storage_b[kLongest + 3];
};

// Calls visit(name, input, length) for every kind of input and every length.
template <class Visit>
void ForEachCodes(Visit visit) {
  Random random(1);
  static Codes codes;
  for (const auto& inputs : kCodeInputs) {
    for (int8_t& code : codes.a) code = inputs.a(random);
    for (int8_t& code : codes.b) code = inputs.b(random);
    for (size_t bytes = 64; bytes <= kLongest; bytes += 64) visit(inputs.name, codes, bytes);
  }
}

template <class Visit>
void ForEachFloats(Visit visit) {
  Random random(2);
  static Floats floats;
  for (const auto& inputs : kFloatInputs) {
    for (float& value : floats.storage_a) value = inputs.a(random);
    for (float& value : floats.storage_b) value = inputs.b(random);
    for (size_t count = 0; count <= 40; ++count) visit(inputs.name, floats, count);
    for (size_t count : {size_t{1024}, kLongest}) visit(inputs.name, floats, count);
  }
}

// The ten of `scores` that are largest, best first.
template <class T>
std::string Best10(const std::vector<T>& scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::string line;
  for (size_t i = 0; i < 10; ++i) line += " " + std::to_string(order[i]);
  return line;
}

// The first of 1000 vectors, and its nearest.
inline void AppendRanks(const Kernels& kernels, std::vector<std::string>* lines) {
  constexpr size_t kVectors = 1000, kDimensions = 128;
  struct Vector {
    alignas(64) int8_t code[kDimensions];
    float values[kDimensions];
  };
  Random random(3);
  std::vector<Vector> vectors(kVectors);
  for (Vector& vector : vectors) {
    for (int8_t& code : vector.code) code = AnyCode(random);
    for (float& value : vector.values) value = Fraction(random);
  }
  std::vector<int32_t> by_code;
  std::vector<double> by_dot, by_distance;
  for (const Vector& vector : vectors) {
    by_code.push_back(kernels.dot_i8(vectors[0].code, vector.code, kDimensions));
    by_dot.push_back(kernels.dot_f32(vectors[0].values, vector.values, kDimensions));
    by_distance.push_back(-kernels.squared_distance_f32(vectors[0].values, vector.values, kDimensions));
  }
  lines->push_back("best by dot_i8" + Best10(by_code));
  lines->push_back("best by dot_f32" + Best10(by_dot));
  lines->push_back("best by squared_distance_f32" + Best10(by_distance));
}

// All that a set of kernels answers, a line each: bits, since equal is not equal enough (0 and -0).
inline std::vector<std::string> Answers(const Kernels& kernels) {
  std::vector<std::string> lines;
  auto append = [&lines](const char* kernel, const char* inputs, size_t length, auto bits) {
    lines.push_back(std::string(kernel) + " " + inputs + " " + std::to_string(length) + " " +
                    std::to_string(bits));
  };
  ForEachCodes([&](const char* name, const Codes& codes, size_t bytes) {
    append("dot_i8", name, bytes, kernels.dot_i8(codes.a, codes.b, bytes));
  });
  ForEachFloats([&](const char* name, const Floats& floats, size_t count) {
    const float *a = floats.a(), *b = floats.b();
    append("dot_f32", name, count, std::bit_cast<uint64_t>(kernels.dot_f32(a, b, count)));
    append("squared_distance_f32", name, count,
           std::bit_cast<uint64_t>(kernels.squared_distance_f32(a, b, count)));
    append("max_abs_f32", name, count, std::bit_cast<uint32_t>(kernels.max_abs_f32(a, count)));
  });
  AppendRanks(kernels, &lines);
  return lines;
}

}  // namespace holdfast::vector::testing
