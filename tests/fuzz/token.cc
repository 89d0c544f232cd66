// A bearer token and a key set of unknown origin: read or refused, and never accepted. What was signed here
// is accepted, and is not once a character of it was changed.
#include "auth/jwt.h"
#include "auth/public_key.h"

#include "base/base64.h"
#include "tests/fuzz/fuzz.h"

#include <openssl/ec.h>
#include <openssl/evp.h>

#include <cstring>

using namespace holdfast;

FUZZ(bytes) {
  static const auth::KeyHandle key(EVP_EC_gen("P-256"));
  static const auth::PublicKey half = auth::PublicKey::OnP256(key).value();
  std::string_view token = TakeLine(&bytes);
  if (auto jwt = auth::ReadJwt(token)) {
    HF_ASSERT(!half.Verifies(jwt->signed_text, jwt->signature));
    HF_ASSERT(token.starts_with(jwt->signed_text) && !jwt->signature.empty());
    static_cast<void>(auth::FindClaim(jwt->claims, "realm_access.roles"));
  }
  if (auto keys = auth::ReadKeySet(bytes)) HF_ASSERT(!keys->empty());

  std::string own = base::Base64Url(R"({"alg":"ES256"})") + "." + base::Base64Url(bytes);
  own += "." + base::Base64Url(auth::SignEs256(key, own).value());
  if (auto jwt = auth::ReadJwt(own)) HF_ASSERT(half.Verifies(jwt->signed_text, jwt->signature));
  own[token.size() % own.size()] ^= 1;
  if (auto jwt = auth::ReadJwt(own)) HF_ASSERT(!half.Verifies(jwt->signed_text, jwt->signature));
}
