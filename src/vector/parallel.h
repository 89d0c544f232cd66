// The same thing for many, on several threads.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace holdfast::vector {

// Calls work(thread, i) for every i below `count`; `thread` is below `threads`. Returns when all are done.
inline void ForEach(size_t count, int threads, const std::function<void(int thread, size_t i)>& work) {
  std::atomic<size_t> next{0};
  auto run = [&](int thread) {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(thread, i);
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads && static_cast<size_t>(thread) < count; ++thread) {
    others.emplace_back(run, thread);
  }
  run(0);
  for (std::thread& other : others) other.join();
}

}  // namespace holdfast::vector
