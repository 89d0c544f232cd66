// The DynamoDB protocol on HTTP: JSON 1.0 in POST /, and the few pages that people and probes ask for.
//
// In the order in which AWS refuses: method and path, content type, JSON syntax, operation, signature, body
// types, constraints, permissions, and then the operation itself. Up to the permissions nothing is looked up
// that an answer could tell of.
//
// Operations run on the I/O thread that read them as long as nothing has to be waited for; one that would
// wait is run again on the worker pool. Answers that rest on unsynced writes are rendered at once and sent
// when the committer says so.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/permissions.h"
#include "auth/sigv4.h"
#include "base/log.h"
#include "engine/engine.h"
#include "store/access.h"
#include "wire/exchange.h"
#include "wire/host_rule.h"
#include "wire/metrics.h"
#include "wire/worker_pool.h"

namespace holdfast::wire {

struct ProtocolOptions {
  // Verify signatures against these; without, any well-formed signature passes.
  std::optional<auth::Credentials> credentials;
  std::string region;  // which they must be for; empty: any
  // Who of them is held to policies. Null: nobody.
  const auth::Permissions* permissions = nullptr;
  // Answer cross-origin requests of browsers.
  bool cors = false;
  // Names under which we may be addressed, besides loopback ones. "*": any.
  std::vector<std::string> hosts;
  int64_t slow_request_millis = 200;  // logged from this on; negative: never
  size_t body_bytes_max = 16 << 20;
  // The name of a store elsewhere, when this server has none of its own: operations are refused.
  std::string fronts;
  // What is still being brought back since the start, in words; never waits. Until it is empty /ready answers
  // 503. Empty function: nothing.
  std::function<std::vector<std::string>()> loading;
  // What /metrics shows besides the server's own, in Prometheus' text form. Empty: nothing.
  std::function<std::string()> more_metrics;
};

class DynamoDbProtocol final : public HttpHandler {
 public:
  // `engine` may be null with options.fronts.
  DynamoDbProtocol(engine::Engine* engine, WorkerPool* pool, const base::Log* log, ProtocolOptions options);
  ~DynamoDbProtocol() override;

  Handled Handle(Exchange* exchange) override;
  void Durable(Exchange* exchange, const Status& durable) override;
  void Connected(int delta) override { metrics_.CountConnection(delta); }
  void Answered(Exchange* exchange, size_t received_bytes, size_t sent_bytes) override;

  Metrics& metrics() { return metrics_; }
  // Not ready: /ready answers 503, so that a balancer sends nobody.
  void SetReady(bool ready) { ready_.store(ready); }

 private:
  struct Operation;
  static const std::vector<Operation>& Operations();

  Handled HandleGet(Exchange* exchange);
  void AnswerReady(HttpResponse* response) const;
  Handled HandlePost(Exchange* exchange);
  Handled HandleBody(Exchange* exchange, std::string_view body);
  // Null: held to no policies.
  Result<const auth::Principal*> Authenticate(const HttpRequest& request) const;
  bool IsAllowedHost(const HttpRequest& request) const;
  Handled Fail(Exchange* exchange, const Error& error);
  // Headers and, where asked for and worth it, compression. Returns kPending when that goes to the pool.
  Handled Complete(Exchange* exchange, bool await_durability, bool on_io_thread);
  void Seal(Exchange* exchange);
  template <class Request, class Response>
  Handled Run(Exchange* exchange, const void* element, std::string_view body,
              const auth::Principal* principal, bool always_pool);

  engine::Engine* const engine_;
  WorkerPool* const pool_;
  const base::Log* const log_;
  const ProtocolOptions options_;
  const HostRule hosts_;
  const store::TableKeys keys_;
  Metrics metrics_;
  std::atomic<bool> ready_{true};
};

}  // namespace holdfast::wire
