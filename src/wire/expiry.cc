#include "wire/expiry.h"

#include <chrono>

#include "base/clock.h"
#include "base/thread.h"

namespace holdfast::wire {

Expiry::Expiry() : closer_([this] { CloseExpired(); }) {}

Expiry::~Expiry() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    changed_.NotifyAll();
  }
  closer_.join();
}

void Expiry::CloseAt(int64_t seconds, std::weak_ptr<Channel> channel) {
  constexpr size_t kTidyFrom = 1024;
  base::MutexLock lock(&mu_);
  if (expiring_.size() >= kTidyFrom)
    std::erase_if(expiring_, [](const auto& one) { return one.second.expired(); });
  expiring_.emplace(seconds, std::move(channel));
}

// Looks once a second, as finely as tokens say when they end.
void Expiry::CloseExpired() {
  base::SystemClock clock;
  base::MutexLock lock(&mu_);
  while (!stop_) {
    while (!expiring_.empty() && expiring_.begin()->first <= clock.NowSeconds()) {
      if (auto channel = expiring_.begin()->second.lock())
        base::RunContained(base::FallbackLog(), "closing of a channel",
                           [&] { channel->Close(kClosePolicy, "the token has expired"); });
      expiring_.erase(expiring_.begin());
    }
    changed_.WaitUntil(&mu_, std::chrono::steady_clock::now() + std::chrono::seconds(1));
  }
}

}  // namespace holdfast::wire
