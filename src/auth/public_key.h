// The public keys of an issuer of tokens, from the JSON that issuers publish (JWKS, RFC 7517).
//
// Two kinds are used: RSA of 2048 bits and more for RS256, EC on P-256 for ES256. A key is good for its own
// algorithm alone, so that a token cannot choose how it is verified.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

struct evp_pkey_st;

namespace holdfast::auth {

struct FreeKey {
  void operator()(evp_pkey_st* key) const;
};
using KeyHandle = std::unique_ptr<evp_pkey_st, FreeKey>;

// Thread-safe: verifying changes nothing.
class PublicKey {
 public:
  enum class Algorithm : unsigned char { kRs256, kEs256 };

  // The public half of a key on P-256; its ID is the thumbprint of RFC 7638.
  static Result<PublicKey> OnP256(const KeyHandle& key);

  Algorithm algorithm() const { return algorithm_; }
  // Empty when it has none.
  const std::string& id() const { return id_; }

  // A signature as tokens have it: for ES256 r and s, 32 bytes each.
  bool Verifies(std::string_view text, std::string_view signature) const;

 private:
  friend class KeyReader;
  PublicKey(Algorithm algorithm, std::string id, KeyHandle key)
      : algorithm_(algorithm), id_(std::move(id)), key_(std::move(key)) {}

  Algorithm algorithm_;
  std::string id_;
  KeyHandle key_;
};

std::string_view NameOf(PublicKey::Algorithm algorithm);

// Signs with a private key on P-256, as Verifies wants it.
Result<std::string> SignEs256(const KeyHandle& key, std::string_view text);

using PublicKeys = std::vector<PublicKey>;

inline constexpr size_t kKeySetBytesMax = 256 * 1024;

// {"keys":[…]}. Keys of other kinds and for other uses are passed over, as the standard wants; fails with a
// ValidationException when it is no such JSON, or when no key is left, saying why the last one is none.
Result<PublicKeys> ReadKeySet(std::string_view json);

}  // namespace holdfast::auth
