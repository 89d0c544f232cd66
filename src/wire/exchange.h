// One request and its answer, between the HTTP server and whoever handles requests.
//
// The handler is called on an I/O thread with a complete request. It either fills response() and returns
// kDone, or keeps the exchange, returns kPending, and later calls Finish() exactly once, from any thread.
// Until then the request's views stay valid and the connection reads nothing more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/commit/committer.h"
#include "ops/fault.h"
#include "wire/http_parser.h"

namespace holdfast::engine {
class Table;
}

namespace holdfast::wire {

class ChannelHandler;

// How an answer that is an error is counted.
struct Failure {
  ErrorCode code;
  ops::Fault fault;
};
inline Failure FailureOf(const Error& error) {
  return {error.code(), ops::FaultOf(error)};
}

class HttpResponse {
 public:
  int status = 200;
  std::string_view content_type;  // static text; empty: no such header
  std::string body;
  bool close = false;  // after this answer
  // With status 101, by AcceptChannel (wire/channel.h): who has the connection from then on.
  std::shared_ptr<ChannelHandler> channel;

  // Adds a header. One whose value has control characters is left out: they could end the head, and begin an
  // answer that somebody else has written.
  void AddHeader(std::string_view name, std::string_view value);
  // Adds whole lines of this program's own, each ending in \r\n.
  void AddHeaderLines(std::string_view lines) { headers_.append(lines); }
  const std::string& headers() const { return headers_; }

  void Clear() {
    status = 200;
    content_type = {};
    headers_.clear();
    body.clear();
    close = false;
    channel.reset();
  }

 private:
  std::string headers_;
};

class Exchange : public engine::DurabilityWaiter {
 public:
  virtual const HttpRequest& request() const = 0;
  HttpResponse& response() { return response_; }
  // From any thread, once, after the handler returned kPending.
  virtual void Finish() = 0;
  // The client has gone, or will send nothing more: most likely nobody reads the answer. From any thread.
  virtual bool abandoned() const = 0;
  // Whether there is memory for an answer of so many bytes: when clients are slow to take theirs, there may
  // be none (I-16). Asked before the request is carried out, and refused in a retryable way. From any thread.
  virtual bool HasRoomFor(size_t) const { return true; }
  // The answer's body is made, and its memory counts from now on, though it may have to wait before it is
  // sent. By whoever has the exchange; Finish() implies it.
  virtual void AnswerMade() {}

  // For the handler's own use: what it must remember until the answer is out.
  std::string request_id;
  size_t operation = static_cast<size_t>(-1);
  int64_t started_micros = 0;
  std::optional<Failure> error;
  std::shared_ptr<engine::Table> table;  // whose request it is; null: nobody's
  bool waits = false;  // for something to happen: how long it takes says nothing about the server

 protected:
  HttpResponse response_;
};

class HttpHandler {
 public:
  enum class Handled : uint8_t { kDone, kPending };

  virtual ~HttpHandler() = default;
  virtual Handled Handle(Exchange* exchange) = 0;
  // A durability wait of the handler's ended; called on the committer's thread, before Finish.
  virtual void Durable(Exchange* exchange, const Status& durable) = 0;
  // A connection came (+1) or went (-1); for metrics. From any thread.
  virtual void Connected(int delta) = 0;
  // The answer is about to be sent; for logs and metrics.
  virtual void Answered(Exchange* exchange, size_t received_bytes, size_t sent_bytes) = 0;
};

}  // namespace holdfast::wire
