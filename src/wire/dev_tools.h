// What tests of a program ask of the server that it uses, under /_holdfast/ and only with --dev: to set the
// clock, to sweep now, to empty the store, to return to a state of it. docs/testing.md describes it.
//
// Loopback names only, no page of another origin, and never a CORS header.
//
// Thread-safe.
#pragma once

#include <string>

#include "base/adjustable_clock.h"
#include "base/log.h"
#include "engine/dev/store_snapshots.h"
#include "wire/exchange.h"
#include "wire/host_rule.h"
#include "wire/worker_pool.h"

namespace holdfast::wire {

class DevTools {
 public:
  // All must outlive it. The engine's clock should be `clock`.
  DevTools(engine::Engine* engine, base::AdjustableClock* clock, WorkerPool* pool, const base::Log* log)
      : engine_(engine), clock_(clock), pool_(pool), log_(log), snapshots_(engine, clock) {}

  bool Owns(const HttpRequest& request) const {
    return request.path == "/_holdfast" || request.path.starts_with("/_holdfast/");
  }
  HttpHandler::Handled Handle(Exchange* exchange);

 private:
  // The body of the answer, in JSON.
  Result<std::string> Answer(const HttpRequest& request);
  Result<std::string> AnswerClock(const HttpRequest& request);
  Result<std::string> AnswerSnapshots(std::string_view method, const std::string& name, bool restore);
  Result<std::string> Sweep();
  std::string ClockText() const;
  static void Fail(const Error& error, HttpResponse* response);

  engine::Engine* const engine_;
  base::AdjustableClock* const clock_;
  WorkerPool* const pool_;
  const base::Log* const log_;
  const HostRule hosts_;
  engine::StoreSnapshots snapshots_;
};

}  // namespace holdfast::wire
