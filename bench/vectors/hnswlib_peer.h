// hnswlib behind a few calls, so that its headers and the flags it is compiled with stay in one file.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace holdfast::bench {

class HnswlibPeer {
 public:
  HnswlibPeer(size_t dimensions, size_t count_max, size_t m, size_t ef_construction);
  ~HnswlibPeer();
  // Vectors are normalised here, as hnswlib wants them for cosine.
  void Build(const std::vector<float>& vectors, int threads);
  void SetEf(size_t ef);
  struct Found {
    size_t label;
    float distance;
  };
  // Nearest first.
  std::vector<Found> Search(const float* query, size_t k) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::bench
