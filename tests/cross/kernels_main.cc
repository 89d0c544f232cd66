// The kernels without a test framework, for any machine: names each set that the processor can run, ends with
// 1 when one of them differs from the plain one, and prints what all of them answer.
#include <cstdio>

#include "vector/testing.h"

int main() {
  using holdfast::vector::AvailableKernels;
  using holdfast::vector::testing::Answers;
  const std::vector<std::string> expected = Answers(*AvailableKernels().front());
  for (const auto* set : AvailableKernels()) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(set->name.size()), set->name.data());
    const std::vector<std::string> answers = Answers(*set);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (answers[i] == expected[i]) continue;
      std::fprintf(stderr, "expected %s\nbut got  %s\n", expected[i].c_str(), answers[i].c_str());
      return 1;
    }
  }
  for (const std::string& line : expected) std::puts(line.c_str());
}
