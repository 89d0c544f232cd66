// What /metrics shows: counters and histograms in Prometheus' text form.
//
// Thread-safe; everything is relaxed, and nothing on the request path allocates or locks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "holdfast/result.h"
#include "wire/exchange.h"

namespace holdfast::wire {

// Latencies in powers of two of 16 µs: 16 µs, 32 µs, … 16 s, then the rest.
class Histogram {
 public:
  static constexpr int kBuckets = 22;
  void Add(int64_t micros);
  void Append(std::string_view name, std::string_view labels, std::string* out) const;

 private:
  std::array<std::atomic<uint64_t>, kBuckets> counts_{};
  std::atomic<uint64_t> total_micros_{0};
};

class Metrics {
 public:
  // `operations` in the order of their numbers.
  explicit Metrics(std::vector<std::string_view> operations);

  // More of them, before the first request; gives the number of the first.
  size_t AddOperations(const std::vector<std::string_view>& names);
  std::string_view name(size_t operation) const { return names_[operation]; }

  static constexpr size_t kNoOperation = static_cast<size_t>(-1);
  // One answered request. `error` is null for a success.
  void CountRequest(size_t operation, int64_t micros, const Failure* error);
  // One that was refused before its operation was known.
  void CountRefusal(const Failure& error) { refused_.Add(error); }
  void CountBytes(size_t received, size_t sent);
  void CountRerun() { reruns_.fetch_add(1, std::memory_order_relaxed); }
  void CountConnection(int delta) { connections_.fetch_add(delta, std::memory_order_relaxed); }
  int64_t connections() const { return connections_.load(std::memory_order_relaxed); }

  // Errors by such a fault, by operation. Without those that had none.
  std::map<std::string, double> Errors(ops::Fault fault) const;

  // Without an engine, what there is to say of requests.
  std::string Render(engine::Engine* engine) const;

 private:
  static constexpr size_t kErrorCodes = static_cast<size_t>(ErrorCode::kRefused) + 1;
  struct ErrorCounts {
    std::array<std::atomic<uint64_t>, kErrorCodes> by_code{};
    std::array<std::atomic<uint64_t>, 3> by_fault{};

    void Add(const Failure& error) {
      by_code[static_cast<size_t>(error.code)].fetch_add(1, std::memory_order_relaxed);
      by_fault[static_cast<size_t>(error.fault)].fetch_add(1, std::memory_order_relaxed);
    }
  };
  struct PerOperation {
    std::atomic<uint64_t> requests{0};
    ErrorCounts errors;
    Histogram latency;
  };

  void RenderRequests(std::string* out) const;
  static void RenderTables(engine::Engine* engine, std::string* out);
  static void RenderRecovery(engine::Engine* engine, std::string* out);
  static void RenderBackfills(engine::Engine* engine, std::string* out);
  static void RenderVectors(engine::Engine* engine, std::string* out);
  static void RenderStorage(engine::Engine* engine, std::string* out);

  std::vector<std::string_view> names_;
  std::deque<PerOperation> operations_;
  ErrorCounts refused_;
  std::atomic<uint64_t> received_bytes_{0}, sent_bytes_{0}, reruns_{0};
  std::atomic<int64_t> connections_{0};
};

}  // namespace holdfast::wire
