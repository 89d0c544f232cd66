// The development issuer: makes tokens with a key of its own, for machines without an identity provider.
//
// The key is a file beside the data (PEM, EC on P-256, for its owner alone). Who can read it can be anyone,
// so it stays where the data is; docs/adr/0021-development-tokens-are-signed-by-a-key-file.md says why it is
// no shared secret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "auth/public_key.h"
#include "holdfast/result.h"

namespace holdfast::auth {

inline constexpr std::string_view kDevelopmentIssuer = "holdfast-dev";
inline constexpr std::string_view kDevelopmentAudience = "holdfast";
inline constexpr std::string_view kIssuerKeyFile = "issuer.pem";  // in the directory of a store

// What a token is to say.
struct TokenClaims {
  std::string subject;
  std::string role;    // empty: none
  std::string tenant;  // empty: the subject's own
  int64_t issued_at = 0;
  int64_t expires_at = 0;
  std::vector<std::string> agents = {};  // of a worker; empty: all
};

class Issuer {
 public:
  // kAccessDenied when others may read the file, kCorruption when it holds no such key.
  static Result<Issuer> Load(const std::string& path);
  // Makes the key when there is no file. Of several processes that do so at once, one makes it.
  static Result<Issuer> LoadOrCreate(const std::string& path);

  const PublicKey& public_key() const { return public_key_; }
  PublicKey TakePublicKey() && { return std::move(public_key_); }
  // Fails when the token would be longer than is accepted.
  Result<std::string> MakeToken(const TokenClaims& claims) const;

 private:
  Issuer(KeyHandle key, PublicKey public_key) : key_(std::move(key)), public_key_(std::move(public_key)) {}

  KeyHandle key_;
  PublicKey public_key_;
};

}  // namespace holdfast::auth
