// The dot products beneath vector search, in every form that the processor has: holdfast_micro_vector
#include <benchmark/benchmark.h>

#include <string>

#include "vector/kernels.h"

namespace holdfast::vector {
namespace {

template <class T>
struct Pair {
  alignas(64) T a[1024];
  alignas(64) T b[1024];

  Pair() {
    for (int i = 0; i < 1024; ++i) {
      a[i] = static_cast<T>(i % 255 - 127);
      b[i] = static_cast<T>(i * 7 % 255 - 127);
    }
  }
};

template <class T, class Sum>
void Dot(benchmark::State& state, Sum (*dot)(const T*, const T*, size_t)) {
  Pair<T> pair;
  auto count = static_cast<size_t>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(dot(pair.a, pair.b, count));
}

void Register() {
  for (const Kernels* set : AvailableKernels()) {
    auto add = [set](const std::string& kernel, auto* dot) {
      std::string name = kernel + "/" + std::string(set->name);
      benchmark::RegisterBenchmark(name.c_str(), [dot](auto& state) { Dot(state, dot); })
          ->Arg(128)
          ->Arg(1024);
    };
    add("dot_i8", set->dot_i8);
    add("dot_f32", set->dot_f32);
    add("squared_distance_f32", set->squared_distance_f32);
  }
}

}  // namespace
}  // namespace holdfast::vector

int main(int argc, char** argv) {
  holdfast::vector::Register();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
