// AWS Signature Version 4, both ends: checking what a client signed, and signing.
//
// Knows no HTTP library: a request is its method, path, query, headers and body. Signatures in the
// Authorization header and in the query string (presigned) are understood.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "holdfast/result.h"

namespace holdfast::auth {

struct HeaderView {
  std::string_view name;
  std::string_view value;
};

struct SignedRequest {
  std::string_view method;
  std::string_view path;
  std::string_view query;  // as sent, without '?'
  const HeaderView* headers = nullptr;
  size_t header_count = 0;
  std::string_view body;

  std::string_view Header(std::string_view lower_case_name) const;
  bool Has(std::string_view lower_case_name) const;
};

// The parts of a signature, wherever it stood.
struct Signature {
  bool in_query = false;
  std::string algorithm;
  std::string access_key;
  std::string date;  // of the credential's scope: YYYYMMDD
  std::string region;
  std::string service;
  std::string terminator;
  std::string signed_headers;   // "host;x-amz-date"
  std::string signature;        // hex
  std::string timestamp;        // YYYYMMDDTHHMMSSZ
  int64_t expires_seconds = 0;  // presigned only; 0: it does not say
};

// Checks that a request carries a signature with all its parts. This much is asked even where any credentials
// pass, because it is what tells a client that it forgot to sign.
Result<Signature> ParseSignature(const SignedRequest& request);
// The same without keeping the parts, for where nothing will be verified.
Status CheckSignatureShape(const SignedRequest& request);

struct Credential {
  std::string secret;
  std::string principal;
};

// Access keys and whom they belong to, from one JSON file:
//   {"accessKeys": {"AKIDEXAMPLE": {"secret": "…", "principal": "alice"}}}
class Credentials {
 public:
  static Result<Credentials> Load(const std::string& path);
  static Result<Credentials> Parse(std::string_view json, const std::string& where);
  void Add(std::string access_key, Credential credential);
  // Null when there is no such key.
  const Credential* Find(std::string_view access_key) const;
  // By access key.
  const std::map<std::string, Credential, std::less<>>& all() const { return keys_; }

 private:
  std::map<std::string, Credential, std::less<>> keys_;
};

// Verifies the signature, its age, and that it is for `region` (empty: for whichever) and covers all headers
// that say what is asked. Returns the principal.
Result<std::string> Verify(const SignedRequest& request, const Credentials& credentials,
                           std::string_view region, const base::Clock& clock);

// A time as signatures have it: YYYYMMDDTHHMMSSZ.
std::string FormatTimestamp(int64_t seconds);

// The Authorization header for a request that already has its host and x-amz-date headers.
std::string Sign(const SignedRequest& request, std::string_view access_key, std::string_view secret,
                 std::string_view region, std::string_view service, std::string_view timestamp,
                 std::string_view signed_headers);

}  // namespace holdfast::auth
