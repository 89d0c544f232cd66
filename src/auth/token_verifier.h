// Who sends a request, proven by a bearer token of an issuer that is trusted.
//
//   HF_TRY(auto verifier, TokenVerifier::Make({.issuers = {…}, .fetch = FetchText, .log = &log},
//   now_seconds)); Result<Identity> caller = verifier->Verify(token, now_seconds);
//
// Each issuer has a key set (JWKS) in a file or at a URL. Keys are kept; they are loaded again when a token
// names one that is not known, at most every 30 seconds from a URL and every second from a file, and when
// they are older than ten minutes. docs/auth.md says what a token must be like.
//
// Thread-safe. Verify never waits for the network: keys at URLs are fetched by a thread of the verifier's
// own, and a token that needs them is refused until they are there.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "auth/identity.h"
#include "base/log.h"
#include "base/mutex.h"
#include "holdfast/result.h"

namespace holdfast::auth {

struct Jwt;

// How an issuer calls its claims. A name with dots is also a way: realm_access.roles.
struct ClaimNames {
  std::string subject = "sub";
  std::string role = "role";
  std::string tenant = "tenant";
  std::string audience = "aud";
  std::string agents = "agents";
};

struct TrustedIssuer {
  std::string name;                    // what `iss` must be
  std::vector<std::string> audiences;  // one of which the token must be for
  std::string key_set;                 // a file, or an http:// or https:// URL
  ClaimNames claims = {};
  // Where the role is a list: those that count. Empty: all. The first that counts is the role.
  std::vector<std::string> roles = {};
};

// The body of an answer with status 200. Takes bounded time.
using Fetch = std::function<Result<std::string>(const std::string& url)>;

struct VerifierOptions {
  std::vector<TrustedIssuer> issuers;
  // The key of the development issuer (auth/issuer.h), whether it is there yet or not. Empty: it is not
  // trusted.
  std::string issuer_key;
  Fetch fetch;
  const base::Log* log = nullptr;
};

class TokenVerifier {
 public:
  // Loads all keys. A URL that does not answer is a warning; a file that cannot be read is an error.
  static Result<std::unique_ptr<TokenVerifier>> Make(VerifierOptions options, int64_t now_seconds);
  // Waits for a fetch that is under way.
  ~TokenVerifier();
  TokenVerifier(const TokenVerifier&) = delete;
  TokenVerifier& operator=(const TokenVerifier&) = delete;

  // kUnrecognizedClient says in words why a token does not count. What was verified is remembered for five
  // minutes, and not beyond its expiry.
  Result<Identity> Verify(std::string_view jwt, int64_t now_seconds);

 private:
  class KeyRing;
  struct Remembered {
    Identity identity;
    int64_t until = 0;
  };
  struct FirstBytes {
    size_t operator()(const std::string& digest) const;
  };
  // By SHA-256, so that no token lies in memory for longer than its request.
  struct Shard {
    base::Mutex mu;
    std::unordered_map<std::string, Remembered, FirstBytes> tokens HF_GUARDED_BY(mu);
  };

  explicit TokenVerifier(const base::Log* log);
  Status Add(TrustedIssuer issuer, const Fetch& fetch, const std::string& issuer_key, int64_t now_seconds);
  Result<Identity> VerifyAnew(std::string_view jwt, int64_t now_seconds);
  Status CheckSignature(const Jwt& jwt, KeyRing* ring, int64_t now_seconds);
  // Returns whether the keys have been loaded already.
  bool Reload(KeyRing* ring, int64_t now_seconds);
  Shard& ShardOf(const std::string& digest);
  void Remember(const std::string& digest, const Identity& identity, int64_t now_seconds);
  void FetchAsWanted();

  static constexpr size_t kShards = 16;

  const base::Log* const log_;
  std::unordered_map<std::string, std::unique_ptr<KeyRing>> rings_;  // by issuer; unchanged once made
  std::array<Shard, kShards> shards_;

  base::Mutex loading_;  // of key files: one at a time
  base::Mutex mu_;
  base::CondVar changed_;
  std::vector<KeyRing*> wanted_ HF_GUARDED_BY(mu_);
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::thread fetcher_;  // runs when an issuer's keys are at a URL
};

}  // namespace holdfast::auth
