// Ends channels when the tokens end that they were opened with. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "wire/channel.h"

namespace holdfast::wire {

class Expiry {
 public:
  Expiry();
  ~Expiry();
  // In seconds since 1970.
  void CloseAt(int64_t seconds, std::weak_ptr<Channel> channel);

 private:
  void CloseExpired();

  base::Mutex mu_;
  base::CondVar changed_;
  std::multimap<int64_t, std::weak_ptr<Channel>> expiring_ HF_GUARDED_BY(mu_);  // by second
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::thread closer_;
};

}  // namespace holdfast::wire
