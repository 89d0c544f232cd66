// REST: the models that a server runs, over HTTP and plain JSON. docs/rest.md describes it.
//
// A request needs a token, a route, a model, and a caller that the model's roles let in, in this order; what
// it does then is the Application's. Applications wait for the disk, so nothing of this runs on an I/O thread
// but what refuses a request without looking at it.
//
// Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "auth/identity.h"
#include "base/log.h"
#include "holdfast/model.h"
#include "wire/exchange.h"
#include "wire/host_rule.h"
#include "wire/metrics.h"
#include "wire/rest_call.h"
#include "wire/worker_pool.h"

namespace holdfast::wire {

class Rest {
 public:
  // All must outlive it. Gives its routes their numbers among the operations of `metrics`.
  Rest(RestOptions options, WorkerPool* pool, Metrics* metrics, const base::Log* log);

  // Whether the request is for us rather than for the DynamoDB protocol.
  bool Owns(const HttpRequest& request) const;
  HttpHandler::Handled Handle(Exchange* exchange);

 private:
  friend class Reply;
  struct Matched;
  Matched Match(const HttpRequest& request) const;
  // On the pool: everything after the bearer was found to bring a token. `*deferred`: the answer is still to
  // come, and the exchange is no longer ours.
  Status Answer(Exchange* exchange, const Matched& matched, std::string_view token, bool* deferred) const;
  void End(Exchange* exchange, const Status& answered) const;
  HttpHandler::Handled Fail(Exchange* exchange, const Error& error) const;

  const RestOptions options_;
  WorkerPool* const pool_;
  const base::Log* const log_;
  const size_t first_operation_;
};

}  // namespace holdfast::wire
