#include "wire/channel_queue.h"

#include "base/clock.h"

namespace holdfast::wire {
namespace {

// Small frames leave in one write, up to about this much.
constexpr size_t kTakenAtOnce = 64 << 10;

}  // namespace

ChannelQueue::ChannelQueue(std::function<void()> wake)
    : moved_micros_(base::SteadyMicros()), wake_(std::move(wake)) {}

bool ChannelQueue::Send(Frame frame) {
  base::MutexLock lock(&mu_);
  if (ending_) return false;
  size_t waiting = queued_bytes_ + taken_bytes_;
  if (waiting == 0) moved_micros_ = base::SteadyMicros();
  if (waiting > kWaitingBytesMax) {
    frames_.clear();
    queued_bytes_ = 0;
    frame = std::make_shared<const std::string>(EncodeClose(kCloseTryLater, "too slow"));
    ending_ = true;
  }
  queued_bytes_ += frame->size();
  if (queued_bytes_ + taken_bytes_ >= kRoomBytes) was_full_ = true;
  frames_.push_back(std::move(frame));
  WakeLocked();
  return !ending_;
}

void ChannelQueue::Close(uint16_t code, std::string_view reason) {
  base::MutexLock lock(&mu_);
  if (ending_) return;
  ending_ = true;
  frames_.push_back(std::make_shared<const std::string>(EncodeClose(code, reason)));
  queued_bytes_ += frames_.back()->size();
  WakeLocked();
}

void ChannelQueue::WakeLocked() {
  // The end must be heard of even by one that waits for the peer to read.
  if ((!awake_ || ending_) && wake_) wake_();
  awake_ = true;
}

size_t ChannelQueue::waiting_bytes() const {
  base::MutexLock lock(&mu_);
  return queued_bytes_ + taken_bytes_;
}

int64_t ChannelQueue::stalled_micros() const {
  return waiting_bytes() == 0 ? 0 : base::SteadyMicros() - moved_micros_.load();
}

ChannelQueue::State ChannelQueue::Take(std::string* out) {
  base::MutexLock lock(&mu_);
  bool all_sent = out->empty();
  if (all_sent) taken_bytes_ = 0;
  // The end is taken whole and at once: nobody will ask again.
  while (!frames_.empty() && (ending_ || (all_sent && out->size() < kTakenAtOnce))) {
    size_t size = frames_.front()->size();
    out->append(*frames_.front());
    frames_.pop_front();
    taken_bytes_ += size;
    queued_bytes_ -= size;
  }
  awake_ = !out->empty();
  return ending_ ? State::kEnding : State::kOpen;
}

void ChannelQueue::Moved() {
  moved_micros_ = base::SteadyMicros();
}

bool ChannelQueue::TakeRoom() {
  base::MutexLock lock(&mu_);
  if (!was_full_ || queued_bytes_ + taken_bytes_ >= kRoomBytes) return false;
  was_full_ = false;
  return true;
}

void ChannelQueue::End() {
  base::MutexLock lock(&mu_);
  ending_ = true;
  wake_ = nullptr;
  frames_.clear();
  queued_bytes_ = taken_bytes_ = 0;
}

}  // namespace holdfast::wire
