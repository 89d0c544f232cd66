// HTTP/1.1 as a client: requests over connections that stay open, all on one thread of its own.
//
// libcurl's multi interface does the waiting, so a request costs a handle and no thread; pauses before a
// request are taken there as well. docs/adr/0017-libcurl-on-one-thread.md says why.
//
// Thread-safe. The destructor waits until every request has been answered; those that were to wait for a
// later moment are answered by kIo at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::store {

struct HttpClientOptions {
  int connections = 32;  // open at once; more requests wait their turn
  int connect_timeout_millis = 2000;
  int request_timeout_millis = 10'000;
  size_t answer_bytes_max = 32 << 20;
};

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;         // "Name: value"
  std::shared_ptr<const std::string> body;  // null: a GET, otherwise a POST
};

struct HttpAnswer {
  int status = 0;
  std::string body;
  std::string server;  // what it calls itself
};

class HttpClient {
 public:
  // Called on the client's thread, so it must not block. kIo: there was no answer, and the request may or may
  // not have been carried out. kLimitExceeded: the answer was too long.
  using Done = std::function<void(Result<HttpAnswer>)>;
  // Makes the request when its turn has come, on the client's thread: a signature must not age in a queue.
  using Prepare = std::function<HttpRequest()>;

  explicit HttpClient(const HttpClientOptions& options);
  ~HttpClient();

  void Send(Prepare prepare, Done done, int64_t pause_millis = 0);

 private:
  class Loop;
  const std::unique_ptr<Loop> loop_;
};

// The body of what a GET of the URL gives, in at most five seconds and a megabyte. kIo: there was no answer,
// or one of another status than 200. Redirections are not followed.
Result<std::string> FetchText(const std::string& url);

// The parts of an address that a signature covers.
struct Address {
  std::string url;
  std::string host;  // as in the Host header: with the port, unless it is the scheme's own
  std::string path;
};
// Fails unless `url` is http:// or https:// with a host and without a query.
Result<Address> ParseAddress(const std::string& url);

}  // namespace holdfast::store
