// A POST of JSON to a service elsewhere, within what an operator allows:
//
//   HF_TRY(Webhook hook, Webhook::Make({.url = "https://embed.example/v1", .allowed = {{"embed.example"}}}));
//   HF_TRY(std::string answer, hook.Post(R"({"text":"…"})"));
//
// Only http and https, only hosts that are listed, no proxy, no redirects, everything bounded. The address
// that a name turns out to have is checked when the connection is made: a private one (loopback, link-local,
// a local network, …) passes only when it is listed with the host, so that whoever controls a name cannot
// point it inside.
//
// Thread-safe. A call blocks, for the total time at most.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::model {

struct AllowedHost {
  std::string name;  // as in a URL, in lower case. An address in its place is thereby listed itself
  std::vector<std::string> private_addresses = {};
};

struct WebhookOptions {
  std::string url;
  std::vector<AllowedHost> allowed;
  // Signs the body, unless empty: X-Holdfast-Signature: sha256=<HMAC-SHA-256 in hex>.
  std::string secret = {};
  long connect_millis = 2'000;
  long total_millis = 10'000;
  size_t answer_bytes_max = 1 << 20;
};

// What the other side said, whatever it was.
struct WebhookAnswer {
  int status = 0;
  std::string body;
  int64_t retry_after_seconds = 0;  // 0: it did not say
};

// Whether an address, as text, can be one of the public internet.
bool IsPublicAddress(const std::string& address);

// Its host in lower case, without the brackets of an IPv6 address; empty when it is no URL.
std::string HostOfUrl(const std::string& url);

class Webhook {
 public:
  // Refuses, as NotConfigured, a URL that may not be called.
  static Result<Webhook> Make(WebhookOptions options);
  // The body of an answer with status 200. Everything else is Unavailable; a private address NotConfigured.
  Result<std::string> Post(std::string_view body) const;
  // Any answer at all, with further lines in the request's header; without one the errors are the same.
  Result<WebhookAnswer> Call(std::string_view body, const std::vector<std::string>& headers) const;

 private:
  Webhook(WebhookOptions options, AllowedHost host) : options_(std::move(options)), host_(std::move(host)) {}

  WebhookOptions options_;
  AllowedHost host_;
};

}  // namespace holdfast::model
