// The vectors that the measurements share: clusters around random centres, the same for the same seed on
// every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace holdfast::vector {

// Normally distributed around `clusters` centres. `spread` is the distance of a point from its centre against
// the distance of the centres from one another.
class ClusteredVectors {
 public:
  ClusteredVectors(size_t dimensions, size_t clusters, double spread, uint64_t seed)
      : dimensions_(dimensions), clusters_(clusters), spread_(static_cast<float>(spread)), random_(seed) {
    centres_.resize(clusters * dimensions);
    for (float& x : centres_) x = Normal();
  }

  // Appends one vector and returns its cluster.
  size_t Append(std::vector<float>* out) {
    size_t cluster = random_() % clusters_;
    for (size_t i = 0; i < dimensions_; ++i)
      out->push_back(centres_[cluster * dimensions_ + i] + spread_ * Normal());
    return cluster;
  }

 private:
  // Box and Muller's way: std::normal_distribution differs between libraries.
  float Normal() {
    double u = (static_cast<double>(random_() >> 11) + 1) / 9007199254740993.0;
    double v = static_cast<double>(random_() >> 11) / 9007199254740992.0;
    return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v));
  }

  const size_t dimensions_, clusters_;
  const float spread_;
  std::mt19937_64 random_;
  std::vector<float> centres_;
};

}  // namespace holdfast::vector
