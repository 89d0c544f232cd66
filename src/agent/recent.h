// The newest or the next rows of a session, kept in memory because they are needed soon. What is kept is
// counted, of the session and of all of them together, so that both have a bound: rows are durable, and what
// is not kept is read again.
//
// Not thread-safe: of the runtime's loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "agent/rows.h"
#include "agent/stored.h"

namespace holdfast::agent {

inline size_t BytesOf(const Event& event) {
  return sizeof event + event.id.size() + event.payload.flat().size();
}
inline size_t BytesOf(const Message& message) {
  return sizeof message + message.id.size() + message.content.size();
}

// The bytes that all sessions keep. Shared: a session may outlive the runtime by the last task that holds it.
struct KeptBytes {
  explicit KeptBytes(size_t most) : max(most) {}
  std::atomic<size_t> now{0};  // changed by the loop, shown by /metrics
  const size_t max;
};
using KeptBytesPtr = std::shared_ptr<KeptBytes>;

template <class Row>
class Recent {
 public:
  explicit Recent(KeptBytesPtr all) : all_(std::move(all)) {}
  ~Recent() { clear(); }
  Recent(const Recent&) = delete;
  Recent& operator=(const Recent&) = delete;

  // Returns false, and keeps nothing more, when there is no room.
  bool Add(Row row) {
    constexpr size_t kRowsMax = 64;
    constexpr size_t kBytesMax = 256 << 10;
    size_t bytes = BytesOf(row);
    if (rows_.size() >= kRowsMax || bytes_ + bytes > kBytesMax || all_->now + bytes > all_->max) return false;
    rows_.push_back(std::move(row));
    bytes_ += bytes;
    all_->now += bytes;
    return true;
  }
  // Drops old rows rather than refuse a new one. One that does not fit alone leaves nothing.
  void AddNewest(const Row& row) {
    while (!Add(row) && !rows_.empty()) pop_front();
    if (!rows_.empty()) return;
    clear();
  }
  void pop_front() {
    size_t bytes = BytesOf(rows_.front());
    bytes_ -= bytes;
    all_->now -= bytes;
    rows_.pop_front();
  }
  void clear() {
    all_->now -= bytes_;
    bytes_ = 0;
    rows_.clear();
  }

  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }
  const Row& front() const { return rows_.front(); }
  const Row& back() const { return rows_.back(); }
  const Row& operator[](size_t i) const { return rows_[i]; }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }

 private:
  const KeptBytesPtr all_;
  std::deque<Row> rows_;
  size_t bytes_ = 0;
};

// A checkpoint whose state is small; null when there is none, or no room.
class KeptCheckpoint {
 public:
  explicit KeptCheckpoint(KeptBytesPtr all) : all_(std::move(all)) {}
  ~KeptCheckpoint() { reset(); }
  KeptCheckpoint(const KeptCheckpoint&) = delete;
  KeptCheckpoint& operator=(const KeptCheckpoint&) = delete;

  void Keep(std::shared_ptr<const Checkpoint> checkpoint) {
    constexpr size_t kBytesMax = 64 << 10;
    reset();
    size_t bytes = sizeof *checkpoint + checkpoint->state.flat().size();
    for (const Item& decision : checkpoint->decisions) bytes += decision.flat().size();
    if (bytes > kBytesMax || all_->now + bytes > all_->max) return;
    kept_ = std::move(checkpoint);
    bytes_ = bytes;
    all_->now += bytes;
  }
  void reset() {
    all_->now -= std::exchange(bytes_, 0);
    kept_.reset();
  }
  const std::shared_ptr<const Checkpoint>& get() const { return kept_; }

 private:
  const KeptBytesPtr all_;
  std::shared_ptr<const Checkpoint> kept_;
  size_t bytes_ = 0;
};

}  // namespace holdfast::agent
