// The sending half of a Channel: what waits, between the threads that send and the I/O thread that writes.
//
// Thread-safe; the second block is for the I/O thread.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <string>

#include "base/mutex.h"
#include "wire/channel.h"

namespace holdfast::wire {

class ChannelQueue final : public Channel {
 public:
  // `wake` asks the I/O thread to call Take; it is called with a lock held and must not block.
  explicit ChannelQueue(std::function<void()> wake);

  bool Send(Frame frame) override;
  void Close(uint16_t code, std::string_view reason) override;
  size_t waiting_bytes() const override;
  int64_t stalled_micros() const override;

  bool ending() const {
    base::MutexLock lock(&mu_);
    return ending_;
  }
  enum class State : uint8_t { kOpen, kEnding };
  // Appends some of what waits to `*out`, once what was taken before has been sent and `*out` is empty. Says
  // kEnding when all that will ever be sent is in `*out`. When it leaves `*out` empty, whoever sends next
  // wakes the I/O thread.
  State Take(std::string* out);
  // Some of what was taken has been sent.
  void Moved();
  // True once after the channel was full and has room again.
  bool TakeRoom();
  // Nothing is sent any more and nobody is woken.
  void End();

 private:
  void WakeLocked() HF_REQUIRES(mu_);

  std::atomic<int64_t> moved_micros_;
  mutable base::Mutex mu_;
  std::function<void()> wake_ HF_GUARDED_BY(mu_);
  std::deque<Frame> frames_ HF_GUARDED_BY(mu_);
  size_t queued_bytes_ HF_GUARDED_BY(mu_) = 0;
  size_t taken_bytes_ HF_GUARDED_BY(mu_) = 0;
  bool awake_ HF_GUARDED_BY(mu_) = false;  // Take will be called anyway
  bool was_full_ HF_GUARDED_BY(mu_) = false;
  bool ending_ HF_GUARDED_BY(mu_) = false;
};

}  // namespace holdfast::wire
