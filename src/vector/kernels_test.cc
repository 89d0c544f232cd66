// Ranks must not depend on the machine, so the sets are held to one another bit by bit, and the plain one to
// the rule that kernels.h states.
#include "vector/kernels.h"

#include <gtest/gtest.h>

#include "vector/testing.h"

namespace holdfast::vector {
namespace {

using testing::Answers;
using testing::Floats;

// Makes a value a double by way of memory, so that no compiler can fuse what made it with what uses it.
double Rounded(double value) {
  volatile double rounded = value;
  return rounded;
}

// The rule, word by word.
template <class Term>
double AddLanes(size_t count, Term term) {
  double lane[8] = {};
  for (size_t i = 0; i < count; ++i) lane[i % 8] += Rounded(term(i));
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

double RuleDot(const float* a, const float* b, size_t count) {
  return AddLanes(count, [&](size_t i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); });
}

double RuleSquaredDistance(const float* a, const float* b, size_t count) {
  return AddLanes(count, [&](size_t i) {
    double difference = Rounded(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    return difference * difference;
  });
}

int32_t RuleDotI8(const int8_t* a, const int8_t* b, size_t bytes) {
  int64_t sum = 0;
  for (size_t i = 0; i < bytes; ++i) sum += int64_t{a[i]} * int64_t{b[i]};
  EXPECT_EQ(sum, static_cast<int32_t>(sum));
  return static_cast<int32_t>(sum);
}

float RuleMaxAbs(const float* a, size_t count) {
  float most = 0;
  for (size_t i = 0; i < count; ++i) most = std::abs(a[i]) > most ? std::abs(a[i]) : most;
  return most;
}

TEST(Kernels, EverySetGivesTheBitsOfTheRule) {
  const std::vector<std::string> expected =
      Answers({"rule", RuleDotI8, RuleDot, RuleSquaredDistance, RuleMaxAbs});
  for (const Kernels* set : AvailableKernels()) {
    std::vector<std::string> answers = Answers(*set);
    ASSERT_EQ(answers.size(), expected.size());
    for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], expected[i]) << set->name;
  }
}

// The rule itself could be wrong: an element left out, or counted twice.
TEST(Kernels, SumsAreTheTrueOnesButForRounding) {
  const Kernels& scalar = *AvailableKernels().front();
  testing::ForEachFloats([&](const char* name, const Floats& floats, size_t count) {
    long double dot = 0, magnitude = 0, distance = 0;
    for (size_t i = 0; i < count; ++i) {
      long double a = floats.a()[i], b = floats.b()[i];
      dot += a * b;
      magnitude += std::abs(a * b);
      distance += (a - b) * (a - b);
    }
    long double error = static_cast<long double>(count) * 1e-16L;
    EXPECT_LE(std::abs(scalar.dot_f32(floats.a(), floats.b(), count) - dot), magnitude * error)
        << name << count;
    EXPECT_LE(std::abs(scalar.squared_distance_f32(floats.a(), floats.b(), count) - distance),
              distance * error)
        << name << count;
  });
}

TEST(Kernels, ThePlainSetComesFirstAndTheBestOneLast) {
  EXPECT_EQ(AvailableKernels().front()->name, "scalar");
  EXPECT_EQ(AvailableKernels().back(), &BestKernels());
}

TEST(Kernels, CodesFillWholeCacheLines) {
  EXPECT_EQ(CodeBytes(1), 64U);
  EXPECT_EQ(CodeBytes(64), 64U);
  EXPECT_EQ(CodeBytes(65), 128U);
  EXPECT_EQ(CodeBytes(4096), 4096U);
}

}  // namespace
}  // namespace holdfast::vector
