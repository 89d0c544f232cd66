#include "agent/webhook_caller.h"

#include "base/thread.h"
#include "model/refusal.h"

namespace holdfast::agent {
namespace {

constexpr size_t kThreads = 4;
constexpr size_t kWaitingMax = 1'000;

}  // namespace

WebhookCaller::WebhookCaller(std::vector<model::AllowedHost> hosts, std::string secret)
    : hosts_(std::move(hosts)), secret_(std::move(secret)) {}

WebhookCaller::~WebhookCaller() {
  Stop();
}

void WebhookCaller::Stop() {
  std::deque<Waiting> waiting;
  std::vector<std::thread> threads;
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    waiting.swap(waiting_);
    threads.swap(threads_);
    changed_.NotifyAll();
  }
  for (const Waiting& one : waiting) one.done(model::Refuse("Unavailable", "the server is stopping"));
  for (std::thread& thread : threads) thread.join();
}

Status WebhookCaller::Check(const std::string& url) const {
  return model::Webhook::Make({.url = url, .allowed = hosts_}).transform([](const model::Webhook&) {
    return Ok{};
  });
}

bool WebhookCaller::Call(std::string url, std::string body, std::string idempotency_key,
                         std::function<void(Result<model::WebhookAnswer>)> done) {
  base::MutexLock lock(&mu_);
  if (stop_ || waiting_.size() >= kWaitingMax) return false;
  waiting_.push_back({std::move(url), std::move(body), std::move(idempotency_key), std::move(done)});
  if (threads_.size() < kThreads) threads_.emplace_back([this] { Run(); });
  changed_.NotifyOne();
  return true;
}

void WebhookCaller::Run() {
  base::NameThread("hf-webhooks");
  for (;;) {
    Waiting call;
    {
      base::MutexLock lock(&mu_);
      while (waiting_.empty() && !stop_) changed_.Wait(&mu_);
      if (stop_) return;
      call = std::move(waiting_.front());
      waiting_.pop_front();
    }
    auto answer = base::CallContained(base::FallbackLog(), "webhook", [&]() -> Result<model::WebhookAnswer> {
      HF_TRY(model::Webhook hook,
             model::Webhook::Make({.url = call.url, .allowed = hosts_, .secret = secret_}));
      return hook.Call(call.body, {"Idempotency-Key: " + call.key});
    });
    base::RunContained(base::FallbackLog(), "webhook", [&] { call.done(std::move(answer)); });
  }
}

}  // namespace holdfast::agent
