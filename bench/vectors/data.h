// The data that the measurements of vector search share.
#pragma once

#include <string>

#include "vector/clustered.h"

namespace holdfast::bench {

using vector::ClusteredVectors;

// The data of a measurement: `count` vectors, then the queries, from one source.
struct Shape {
  size_t count = 100'000, dimensions = 1024, clusters = 1000;
  double spread = 0.6;

  ClusteredVectors Vectors() const { return {dimensions, clusters, spread, 42}; }
  // Takes a flag that is a member's name; returns false when it is another.
  bool Take(const std::string& flag, double value) {
    if (flag == "--count")
      count = static_cast<size_t>(value);
    else if (flag == "--dimensions")
      dimensions = static_cast<size_t>(value);
    else if (flag == "--clusters")
      clusters = static_cast<size_t>(value);
    else if (flag == "--spread")
      spread = value;
    else
      return false;
    return true;
  }
};

constexpr size_t kTop = 10;  // nearest ones that are asked for

inline std::string KeyOf(size_t i) {
  std::string key = std::to_string(i);
  return std::string(8 - key.size(), '0') + key;
}

}  // namespace holdfast::bench
