#include "auth/public_key.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>

#include "auth/hmac.h"
#include "base/base64.h"
#include "json/plain.h"

namespace holdfast::auth {
namespace {

constexpr int kRsaBitsMin = 2048;
constexpr int kRsaBitsMax = 8192;  // verifying costs time that a stranger chooses
constexpr size_t kRsaExponentBytesMax = 4;
constexpr size_t kCoordinateBytes = 32;
constexpr size_t kPointBytes = 1 + 2 * kCoordinateBytes;

template <class T, void (*Free)(T*)>
struct Freeing {
  void operator()(T* one) const { Free(one); }
};
using Number = std::unique_ptr<BIGNUM, Freeing<BIGNUM, BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freeing<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>>;
using KeyParameters = std::unique_ptr<OSSL_PARAM, Freeing<OSSL_PARAM, OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freeing<EVP_PKEY_CTX, EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freeing<EVP_MD_CTX, EVP_MD_CTX_free>>;
using EcdsaSignature = std::unique_ptr<ECDSA_SIG, Freeing<ECDSA_SIG, ECDSA_SIG_free>>;

const unsigned char* BytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Number NumberOf(std::string_view bytes) {
  return Number(BN_bin2bn(BytesOf(bytes), static_cast<int>(bytes.size()), nullptr));
}

// Null when OpenSSL finds it to be no key.
KeyHandle MakeKey(const char* type, const Builder& builder) {
  KeyParameters parameters(OSSL_PARAM_BLD_to_param(builder.get()));
  KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* made = nullptr;
  if (context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1)
    return nullptr;
  KeyHandle key(made);
  KeyContext check(EVP_PKEY_CTX_new_from_pkey(nullptr, made, nullptr));
  return EVP_PKEY_public_check(check.get()) == 1 ? std::move(key) : nullptr;
}

// A key on P-256 of 0x04, x and y.
KeyHandle KeyAt(std::string_view point) {
  Builder builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, SN_X9_62_prime256v1, 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  return MakeKey("EC", builder);
}

// The DER that OpenSSL wants of r and s; empty when they are none.
std::string DerOf(std::string_view signature) {
  if (signature.size() != 2 * kCoordinateBytes) return {};
  EcdsaSignature both(ECDSA_SIG_new());
  Number r = NumberOf(signature.substr(0, kCoordinateBytes));
  Number s = NumberOf(signature.substr(kCoordinateBytes));
  ECDSA_SIG_set0(both.get(), r.release(), s.release());
  unsigned char* bytes = nullptr;
  int size = i2d_ECDSA_SIG(both.get(), &bytes);
  std::string der(reinterpret_cast<char*>(bytes), static_cast<size_t>(std::max(size, 0)));
  OPENSSL_free(bytes);
  return der;
}

}  // namespace

void FreeKey::operator()(evp_pkey_st* key) const {
  EVP_PKEY_free(key);
}

std::string_view NameOf(PublicKey::Algorithm algorithm) {
  return algorithm == PublicKey::Algorithm::kRs256 ? "RS256" : "ES256";
}

bool PublicKey::Verifies(std::string_view text, std::string_view signature) const {
  std::string der;
  if (algorithm_ == Algorithm::kEs256) {
    der = DerOf(signature);
    signature = der;
  }
  DigestContext context(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(context.get(), BytesOf(signature), signature.size(), BytesOf(text), text.size()) ==
             1;
}

Result<std::string> SignEs256(const KeyHandle& key, std::string_view text) {
  DigestContext context(EVP_MD_CTX_new());
  unsigned char der[128];  // at most 72 are used
  size_t size = sizeof der;
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), der, &size, BytesOf(text), text.size()) != 1)
    return Error(ErrorCode::kInternal, "nothing can be signed with this key");
  const unsigned char* next = der;
  EcdsaSignature both(d2i_ECDSA_SIG(nullptr, &next, static_cast<long>(size)));
  std::string raw(2 * kCoordinateBytes, '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(both.get()), out, kCoordinateBytes);
  BN_bn2binpad(ECDSA_SIG_get0_s(both.get()), out + kCoordinateBytes, kCoordinateBytes);
  return raw;
}

Result<PublicKey> PublicKey::OnP256(const KeyHandle& key) {
  char group[32] = "";
  std::string point(kPointBytes, '\0');
  size_t size = 0;
  auto* bytes = reinterpret_cast<unsigned char*>(point.data());
  KeyHandle half;
  if (EVP_PKEY_get_group_name(key.get(), group, sizeof group, &size) == 1 &&
      std::string_view(group) == SN_X9_62_prime256v1 &&
      EVP_PKEY_get_octet_string_param(key.get(), OSSL_PKEY_PARAM_PUB_KEY, bytes, kPointBytes, &size) == 1 &&
      size == kPointBytes)
    half = KeyAt(point);
  if (half == nullptr) return ValidationError("it is no key on the curve P-256");
  std::string x = point.substr(1, kCoordinateBytes), y = point.substr(1 + kCoordinateBytes);
  // Members in the order of the alphabet, without blanks: that is what a thumbprint is taken of.
  std::string members =
      R"({"crv":"P-256","kty":"EC","x":")" + base::Base64Url(x) + R"(","y":")" + base::Base64Url(y) + "\"}";
  return PublicKey(Algorithm::kEs256, base::Base64Url(Sha256(members)), std::move(half));
}

// One entry of a key set.
class KeyReader {
 public:
  explicit KeyReader(const AttributeMap& entry) : entry_(entry) {}

  Result<PublicKey> Read() const {
    std::string_view use = Text("use"), type = Text("kty");
    if (!use.empty() && use != "sig") return ValidationError("it is not for signatures");
    if (type == "RSA") return ReadRsa();
    if (type == "EC") return ReadEc();
    return ValidationError("its type is neither RSA nor EC");
  }

 private:
  // Empty when there is none.
  std::string_view Text(std::string_view name) const {
    auto found = entry_.find(name);
    if (found == entry_.end() || found->second.type() != AttributeValue::Type::kString) return {};
    return found->second.AsText();
  }
  std::string Bytes(std::string_view name) const {
    std::string bytes;
    base::DecodeBase64Url(Text(name), &bytes);
    return bytes;
  }
  Result<PublicKey> Finish(PublicKey::Algorithm algorithm, KeyHandle key) const {
    if (key == nullptr) return ValidationError("it is no key");
    std::string_view stated = Text("alg");
    if (!stated.empty() && stated != NameOf(algorithm))
      return ValidationError("it is for " + std::string(stated) + ", which is not used here");
    return PublicKey(algorithm, std::string(Text("kid")), std::move(key));
  }

  Result<PublicKey> ReadRsa() const {
    std::string modulus = Bytes("n"), exponent = Bytes("e");
    Number n = NumberOf(modulus), e = NumberOf(exponent);
    int bits = BN_num_bits(n.get());
    if (bits < kRsaBitsMin || bits > kRsaBitsMax)
      return ValidationError("its modulus has " + std::to_string(bits) + " bits; " +
                             std::to_string(kRsaBitsMin) + " to " + std::to_string(kRsaBitsMax) +
                             " are used");
    if (exponent.size() > kRsaExponentBytesMax || BN_is_odd(e.get()) == 0 || BN_is_one(e.get()) == 1)
      return ValidationError("its exponent is none");
    Builder builder(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
    OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
    return Finish(PublicKey::Algorithm::kRs256, MakeKey("RSA", builder));
  }

  Result<PublicKey> ReadEc() const {
    if (Text("crv") != "P-256") return ValidationError("its curve is not P-256");
    std::string point = "\x04" + Bytes("x") + Bytes("y");
    if (Bytes("x").size() != kCoordinateBytes || point.size() != kPointBytes)
      return ValidationError("its coordinates have not 32 bytes each");
    return Finish(PublicKey::Algorithm::kEs256, KeyAt(point));
  }

  const AttributeMap& entry_;
};

Result<PublicKeys> ReadKeySet(std::string_view json) {
  constexpr const char* kShape = "a key set is like {\"keys\":[{\"kty\":\"EC\",…}]}";
  if (json.size() > kKeySetBytesMax) return ValidationError("the key set is too long");
  Result<AttributeValue> document = json::ReadPlainValue(json);
  if (!document) return ValidationError(std::string(kShape) + "; " + document.error().message());
  if (document->type() != AttributeValue::Type::kMap) return ValidationError(kShape);
  auto list = document->AsMap().find("keys");
  if (list == document->AsMap().end() || list->second.type() != AttributeValue::Type::kList)
    return ValidationError(kShape);
  PublicKeys keys;
  std::string passed_over = "it is empty";
  for (const AttributeValue& entry : list->second.AsList()) {
    if (entry.type() != AttributeValue::Type::kMap) return ValidationError(kShape);
    Result<PublicKey> key = KeyReader(entry.AsMap()).Read();
    if (key)
      keys.push_back(*std::move(key));
    else
      passed_over = "of the last: " + key.error().message();
  }
  if (keys.empty()) return ValidationError("the key set has no usable key: " + passed_over);
  return keys;
}

}  // namespace holdfast::auth
