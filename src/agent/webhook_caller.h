// Calls webhooks on threads of its own, since a call may take as long as the other side likes.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "holdfast/result.h"
#include "model/webhook.h"

namespace holdfast::agent {

class WebhookCaller {
 public:
  WebhookCaller(std::vector<model::AllowedHost> hosts, std::string secret);
  ~WebhookCaller();

  // NotConfigured when it may not be called.
  Status Check(const std::string& url) const;
  // `done` is called on one of the threads. False when too many wait already.
  bool Call(std::string url, std::string body, std::string idempotency_key,
            std::function<void(Result<model::WebhookAnswer>)> done);
  // Calls that wait are answered as failed; those under way are waited for.
  void Stop();

 private:
  void Run();

  const std::vector<model::AllowedHost> hosts_;
  const std::string secret_;
  base::Mutex mu_;
  base::CondVar changed_;
  struct Waiting {
    std::string url, body, key;
    std::function<void(Result<model::WebhookAnswer>)> done;
  };
  std::deque<Waiting> waiting_ HF_GUARDED_BY(mu_);
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_ HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::agent
