// Keys and tokens for tests: of any header and claims, so also such as no issuer would make.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <string>
#include <string_view>

#include "auth/public_key.h"
#include "base/base64.h"

namespace holdfast::auth {

class SigningKey {
 public:
  static SigningKey Rsa(size_t bits) { return {EVP_RSA_gen(bits), "RSA"}; }
  static SigningKey Ec(const char* curve = "P-256") { return {EVP_EC_gen(curve), "EC"}; }

  const KeyHandle& handle() const { return key_; }

  // Its entry in a key set. `more` stands in it as it is: ,"kid":"a".
  std::string Jwk(const std::string& more = "") const {
    if (type_ == "RSA") {
      return R"({"kty":"RSA","n":")" + Number(OSSL_PKEY_PARAM_RSA_N) + R"(","e":")" +
             Number(OSSL_PKEY_PARAM_RSA_E) + "\"" + more + "}";
    }
    return R"({"kty":"EC","crv":"P-256","x":")" + Number(OSSL_PKEY_PARAM_EC_PUB_X, 32) + R"(","y":")" +
           Number(OSSL_PKEY_PARAM_EC_PUB_Y, 32) + "\"" + more + "}";
  }

  std::string Token(std::string_view header, std::string_view claims) const {
    std::string token = base::Base64Url(header) + "." + base::Base64Url(claims);
    return token + "." + base::Base64Url(Sign(token));
  }

 private:
  SigningKey(EVP_PKEY* key, std::string type) : key_(key), type_(std::move(type)) {}

  std::string Number(const char* name, int bytes = 0) const {
    BIGNUM* number = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &number);
    std::string text(static_cast<size_t>(bytes == 0 ? BN_num_bytes(number) : bytes), '\0');
    BN_bn2binpad(number, reinterpret_cast<unsigned char*>(text.data()), static_cast<int>(text.size()));
    BN_free(number);
    return base::Base64Url(text);
  }

  std::string Sign(const std::string& text) const {
    if (type_ == "EC") return SignEs256(key_, text).value();
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    std::string signature(2048, '\0');
    size_t size = signature.size();
    EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key_.get());
    EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size,
                   reinterpret_cast<const unsigned char*>(text.data()), text.size());
    EVP_MD_CTX_free(context);
    return signature.substr(0, size);
  }

  KeyHandle key_;
  std::string type_;
};

inline std::string KeySet(const std::string& entries) {
  return R"({"keys":[)" + entries + "]}";
}

}  // namespace holdfast::auth
