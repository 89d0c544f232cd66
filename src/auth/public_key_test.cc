#include "auth/public_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "auth/jwt.h"
#include "auth/testing.h"

namespace holdfast::auth {
namespace {

using testing::HasSubstr;

const std::string kRsaEntry =
    R"({"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt)"
    R"(0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA)"
    R"(9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9ia)"
    R"(GNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"})";
const std::string kEcEntry = R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
                             R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})";
const std::string kClaims =
    ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.";
const std::string kRsaToken =
    "eyJhbGciOiJSUzI1NiJ9" + kClaims +
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
    "O8W2Fp5jujGbds9uJdbF9"
    "CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_"
    "eSN9383LcOL"
    "n6_dO--xi12jzDwusC-"
    "eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtV"
    "rBp0igcN_IoypGlUPQGe77Rw";
const std::string kEcToken =
    "eyJhbGciOiJFUzI1NiJ9" + kClaims +
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

std::string WhyNot(const std::string& key_set) {
  Result<PublicKeys> keys = ReadKeySet(key_set);
  return keys ? "it is one" : keys.error().message();
}

// The examples of RFC 7515, appendices A.2 and A.3: what others sign counts here.
TEST(PublicKeyTest, VerifiesTheExamplesOfTheStandard) {
  Result<PublicKeys> keys = ReadKeySet(KeySet(kRsaEntry + "," + kEcEntry));
  ASSERT_TRUE(keys) << keys.error().message();
  ASSERT_EQ(keys->size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    Result<Jwt> jwt = ReadJwt(i == 0 ? kRsaToken : kEcToken);
    ASSERT_TRUE(jwt) << jwt.error().message();
    EXPECT_EQ(jwt->algorithm, (*keys)[i].algorithm());
    EXPECT_EQ(jwt->claims.at("iss").AsText(), "joe");
    EXPECT_TRUE((*keys)[i].Verifies(jwt->signed_text, jwt->signature));
    EXPECT_FALSE((*keys)[1 - i].Verifies(jwt->signed_text, jwt->signature));
    EXPECT_FALSE((*keys)[i].Verifies(jwt->signed_text, jwt->signature + '\0'));
    for (size_t at : {size_t{0}, jwt->signature.size() / 2, jwt->signature.size() - 1}) {
      std::string changed = jwt->signature;
      changed[at] ^= 1;
      EXPECT_FALSE((*keys)[i].Verifies(jwt->signed_text, changed)) << at;
    }
  }
}

// Zero, and a DER signature in place of r and s, have been accepted by other implementations.
TEST(PublicKeyTest, RefusesSignaturesThatAreNone) {
  SigningKey key = SigningKey::Ec();
  Result<PublicKeys> keys = ReadKeySet(KeySet(key.Jwk()));
  ASSERT_TRUE(keys);
  std::string good = SignEs256(key.handle(), "text").value();
  EXPECT_TRUE((*keys)[0].Verifies("text", good));
  EXPECT_FALSE((*keys)[0].Verifies("text", std::string(64, '\0')));
  EXPECT_FALSE((*keys)[0].Verifies("text", std::string(32, '\0') + good.substr(32)));
  EXPECT_FALSE((*keys)[0].Verifies("text", ""));
  EXPECT_FALSE(
      (*keys)[0].Verifies("text", "\x30\x44\x02\x20" + good.substr(0, 32) + "\x02\x20" + good.substr(32)));
}

// Key sets of others hold much; what is weak or for another use must not be taken, and must not hide the
// rest.
TEST(PublicKeyTest, PassesOverWhatItDoesNotUse) {
  SigningKey weak = SigningKey::Rsa(1024), good = SigningKey::Ec();
  std::string mixed = R"({"kty":"oct","k":"AAAA"},{"kty":"OKP","crv":"Ed25519","x":"AAAA"},{},)" +
                      weak.Jwk() + "," + good.Jwk(R"(,"use":"enc")") + "," +
                      good.Jwk(R"(,"kid":"mine","use":"sig","alg":"ES256")");
  Result<PublicKeys> keys = ReadKeySet(KeySet(mixed));
  ASSERT_TRUE(keys) << keys.error().message();
  ASSERT_EQ(keys->size(), 1u);
  EXPECT_EQ((*keys)[0].id(), "mine");

  EXPECT_THAT(WhyNot(KeySet(weak.Jwk())), HasSubstr("its modulus has 1024 bits"));
  EXPECT_THAT(WhyNot(KeySet(good.Jwk(R"(,"use":"enc")"))), HasSubstr("not for signatures"));
  EXPECT_THAT(WhyNot(KeySet(good.Jwk(R"(,"alg":"ES384")"))), HasSubstr("it is for ES384"));
  EXPECT_THAT(WhyNot(KeySet(R"({"kty":"EC","crv":"P-384","x":"AA","y":"AA"})")), HasSubstr("not P-256"));
  EXPECT_THAT(WhyNot(KeySet("")), HasSubstr("it is empty"));
}

TEST(PublicKeyTest, RefusesPointsAndNumbersThatAreNoKeys) {
  std::string zero = base::Base64Url(std::string(32, '\0'));
  auto ec = [](const std::string& x, const std::string& y) {
    return KeySet(R"({"kty":"EC","crv":"P-256","x":")" + x + R"(","y":")" + y + "\"}");
  };
  EXPECT_THAT(WhyNot(ec(zero, zero)), HasSubstr("it is no key"));  // not on the curve
  EXPECT_THAT(WhyNot(ec(zero + "AAAA", zero)), HasSubstr("32 bytes"));
  EXPECT_THAT(WhyNot(ec(base::Base64Url(std::string(31, 'x')), base::Base64Url(std::string(33, 'x')))),
              HasSubstr("32 bytes"));
  std::string modulus = kRsaEntry.substr(0, kRsaEntry.rfind("AQAB"));
  for (const char* exponent : {"", "AQ", "Ag", "AQAAAAE"})
    EXPECT_THAT(WhyNot(KeySet(modulus + exponent + "\"}")), HasSubstr("its exponent is none")) << exponent;
}

TEST(PublicKeyTest, RefusesWhatIsNoKeySet) {
  for (const char* text : {"", "[]", "{}", R"({"keys":{}})", R"({"keys":[1]})", R"({"keys":[]} x)",
                           R"({"keys":[],"keys":[]})", "<html>"})
    EXPECT_THAT(WhyNot(text), testing::AnyOf(HasSubstr("a key set is like"), HasSubstr("it is empty")))
        << text;
  EXPECT_THAT(WhyNot(std::string(300'000, ' ')), HasSubstr("too long"));
}

}  // namespace
}  // namespace holdfast::auth
