// How many candidates a walk of a graph must keep: learned from walks whose outcome is known. Data differ:
// where clusters are small and apart, 48 find all there is to find; where thousands are about as near as one
// another, it takes hundreds.
//
// Note belongs to one thread; ef() may be asked from any.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace holdfast::vector {

class Effort {
 public:
  static constexpr std::array<size_t, 8> kSteps = {48, 64, 96, 128, 192, 256, 384, 512};
  static constexpr size_t kNearest = 10;  // that each walk was asked for

  // For each step, how many of the kNearest a walk that kept so many found.
  using Sample = std::array<uint8_t, kSteps.size()>;
  void Note(const Sample& found) {
    samples_.push_back(found);
    if (samples_.size() > kSamplesKept) samples_.pop_front();
    if (samples_.size() < kSamplesMin) return;
    size_t step = 0;
    while (step + 1 < kSteps.size() && Recall(step) < kRecallWanted) ++step;
    ef_.store(kSteps[step], std::memory_order_relaxed);
  }

  // 0: not known yet.
  size_t ef() const { return ef_.load(std::memory_order_relaxed); }
  // What an earlier life learned.
  void Restore(size_t ef) { ef_.store(std::min(ef, kSteps.back()), std::memory_order_relaxed); }

 private:
  static constexpr size_t kSamplesKept = 64;
  static constexpr size_t kSamplesMin = 40;
  static constexpr double kRecallWanted = 0.9985;

  double Recall(size_t step) const {
    size_t found = 0;
    for (const Sample& sample : samples_) found += sample[step];
    return static_cast<double>(found) / static_cast<double>(kNearest * samples_.size());
  }

  std::deque<Sample> samples_;
  std::atomic<size_t> ef_{0};
};

}  // namespace holdfast::vector
