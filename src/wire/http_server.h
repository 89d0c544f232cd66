// An HTTP/1.1 server on epoll: one event loop per I/O thread, connections dealt out in turn, one request at a
// time on each connection, pipelined ones waiting in its buffer until what was answered before has been sent.
//
// Everything a stranger controls is bounded (I-16): head and body size, connections, memory for requests and
// for answers, time to send a request, time to take an answer, time to sit idle.
//
// A handler may turn a connection into a WebSocket (wire/channel.h). Such a one may sit idle for as long as
// it answers pings.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "holdfast/result.h"
#include "wire/exchange.h"

namespace holdfast::wire {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  int port = 8000;     // 0: any free one
  int io_threads = 0;  // 0: one per core
  // Fewer when the process may not have that many descriptors: storage needs some, too.
  size_t connections_max = 4096;
  size_t body_bytes_max = 16 << 20;
  // For all connections together: half of it for requests being received, half for requests being worked on
  // and answers that wait for their clients. Beyond it requests are refused in a retryable way.
  size_t memory_bytes_max = size_t{1} << 30;
  // From a request's first byte to its last; of the first request, from the beginning of the connection. Also
  // how long a client may take nothing of its answer.
  int64_t request_seconds_max = 60;
  int64_t idle_seconds_max = 900;
  // WebSockets: how often they are pinged, and how long one may say nothing at all.
  int64_t ping_millis = 30'000;
  int64_t silence_millis_max = 60'000;
  std::string tls_certificate;  // PEM files; empty: plain HTTP
  std::string tls_key;
};

class HttpServer {
 public:
  // `handler` and `log` must outlive the server. Listens when this returns.
  static Result<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options, HttpHandler* handler,
                                                   const base::Log* log);
  // Stops at once what Drain has not finished.
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
  // Accepts no more connections, lets requests under way finish, and closes, WebSockets with 1001. Returns
  // when all are closed or the time is over.
  virtual void Drain(int64_t millis) = 0;
  // Ends the I/O threads. Whoever has an exchange may still finish it, and must, before the server goes.
  virtual void Stop() = 0;
  virtual size_t connections() const = 0;
  // What bounds connections and memory, and how often they were met, in Prometheus' text form.
  virtual std::string Metrics() const = 0;
};

}  // namespace holdfast::wire
