#include "hnswlib_peer.h"

#include <hnswlib/hnswlib.h>

#include <atomic>
#include <cmath>
#include <thread>

namespace holdfast::bench {
namespace {

std::vector<float> Normalised(const float* vector, size_t dimensions) {
  double norm = 0;
  for (size_t i = 0; i < dimensions; ++i) norm += static_cast<double>(vector[i]) * vector[i];
  norm = std::sqrt(norm);
  std::vector<float> result(vector, vector + dimensions);
  for (float& x : result) x = static_cast<float>(x / norm);
  return result;
}

}  // namespace

struct HnswlibPeer::Impl {
  Impl(size_t dims, size_t count_max, size_t m, size_t ef_construction)
      : dimensions(dims), space(dims), index(&space, count_max, m, ef_construction) {}
  const size_t dimensions;
  hnswlib::InnerProductSpace space;
  hnswlib::HierarchicalNSW<float> index;
};

HnswlibPeer::HnswlibPeer(size_t dimensions, size_t count_max, size_t m, size_t ef_construction)
    : impl_(std::make_unique<Impl>(dimensions, count_max, m, ef_construction)) {}
HnswlibPeer::~HnswlibPeer() = default;

void HnswlibPeer::Build(const std::vector<float>& vectors, int threads) {
  size_t count = vectors.size() / impl_->dimensions;
  std::atomic<size_t> next{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      for (size_t i = next++; i < count; i = next++) {
        impl_->index.addPoint(Normalised(&vectors[i * impl_->dimensions], impl_->dimensions).data(), i);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

void HnswlibPeer::SetEf(size_t ef) {
  impl_->index.setEf(ef);
}

std::vector<HnswlibPeer::Found> HnswlibPeer::Search(const float* query, size_t k) const {
  auto nearest = impl_->index.searchKnn(Normalised(query, impl_->dimensions).data(), k);
  std::vector<Found> found(nearest.size());
  for (size_t i = found.size(); i-- > 0; nearest.pop())
    found[i] = {nearest.top().second, nearest.top().first};
  return found;
}

}  // namespace holdfast::bench
