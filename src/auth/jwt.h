// A token of the form header.claims.signature (JWS compact, RFC 7515; JWT, RFC 7519), taken apart.
#pragma once

#include <string>
#include <string_view>

#include "auth/public_key.h"
#include "holdfast/result.h"
#include "holdfast/value.h"

namespace holdfast::auth {

inline constexpr size_t kTokenBytesMax = 8 * 1024;

struct Jwt {
  PublicKey::Algorithm algorithm;
  std::string key_id;  // empty: the token names none
  AttributeMap claims;
  std::string_view signed_text;  // of the token that was read
  std::string signature;
};

// Nothing in it is proven. Refuses, with kUnrecognizedClient, what is no token of RS256 or ES256: `none`,
// HS256 and all others; extensions that must be understood (crit); JSON with a name twice; padded Base64;
// more than kTokenBytesMax.
Result<Jwt> ReadJwt(std::string_view token);

// Why a token does not count.
Error TokenError(std::string why);

// A claim by its name, or by the way to it: realm_access.roles. Null when there is none.
const AttributeValue* FindClaim(const AttributeMap& claims, std::string_view path);

}  // namespace holdfast::auth
