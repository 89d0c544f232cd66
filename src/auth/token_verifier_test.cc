#include "auth/token_verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "auth/hmac.h"
#include "auth/issuer.h"
#include "auth/testing.h"

namespace holdfast::auth {
namespace {

using testing::HasSubstr;

constexpr int64_t kNow = 1'700'000'000;

const SigningKey& RsaKey() {
  static const SigningKey key = SigningKey::Rsa(2048);
  return key;
}
const SigningKey& EcKey() {
  static const SigningKey key = SigningKey::Ec();
  return key;
}

std::string Header(const std::string& algorithm, const std::string& kid) {
  return R"({"alg":")" + algorithm + R"(","typ":"JWT","kid":")" + kid + "\"}";
}

// The claims of a good token, with `more` after them: ,"role":"admin".
std::string Claims(const std::string& more = "", int64_t expires_at = kNow + 3600) {
  return R"({"iss":"https://id.example","aud":"shop","sub":"ann","exp":)" + std::to_string(expires_at) +
         more + "}";
}

class TokenVerifierTest : public testing::Test {
 protected:
  TokenVerifierTest() {
    std::filesystem::create_directory(directory_);
    SetKeys(RsaKey().Jwk(R"(,"kid":"rsa")") + "," + EcKey().Jwk(R"(,"kid":"ec")"));
  }
  ~TokenVerifierTest() override { std::filesystem::remove_all(directory_); }

  // What the URL of the issuer answers from now on; nothing when empty.
  void SetKeys(const std::string& entries) {
    base::MutexLock lock(&mu_);
    published_ = entries.empty() ? "" : KeySet(entries);
  }

  TrustedIssuer Trusted() const {
    return {
        .name = "https://id.example", .audiences = {"shop", "till"}, .key_set = "https://id.example/keys"};
  }

  std::unique_ptr<TokenVerifier> Make(TrustedIssuer issuer) { return MakeAll({std::move(issuer)}).value(); }
  Result<std::unique_ptr<TokenVerifier>> MakeAll(std::vector<TrustedIssuer> issuers,
                                                 const std::string& issuer_key = "") {
    auto fetch = [this](const std::string&) -> Result<std::string> {
      base::MutexLock lock(&mu_);
      ++fetches_;
      if (published_.empty()) return Error(ErrorCode::kIo, "connection refused");
      return published_;
    };
    return TokenVerifier::Make({std::move(issuers), issuer_key, fetch, &log_}, kNow);
  }

  // Who sent it, or why nobody did.
  static std::string Verified(TokenVerifier* verifier, const std::string& token, int64_t now = kNow) {
    Result<Identity> identity = verifier->Verify(token, now);
    if (identity) return identity->subject + " " + identity->role + " " + identity->tenant;
    EXPECT_EQ(identity.error().code(), ErrorCode::kUnrecognizedClient);
    return identity.error().message();
  }
  std::string Verified(const std::string& token, int64_t now = kNow) {
    if (verifier_ == nullptr) verifier_ = Make(Trusted());
    return Verified(verifier_.get(), token, now);
  }
  static std::string EcToken(const std::string& claims) {
    return EcKey().Token(Header("ES256", "ec"), claims);
  }

  // Polls, as the keys come from another thread.
  static bool BecomesValid(TokenVerifier* verifier, const std::string& token, int64_t now) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      if (verifier->Verify(token, now)) return true;
      std::this_thread::yield();
    }
    return false;
  }

  const std::string directory_ = testing::TempDir() + "token_verifier_test." + std::to_string(::getpid());
  std::vector<std::string> lines_;
  base::Log log_{base::LogLevel::kInfo, [this](std::string_view line) { lines_.emplace_back(line); }};
  base::Mutex mu_;
  std::string published_ HF_GUARDED_BY(mu_);
  std::atomic<int> fetches_ = 0;
  std::unique_ptr<TokenVerifier> verifier_;
};

TEST_F(TokenVerifierTest, AcceptsBothAlgorithmsAndReadsTheClaims) {
  EXPECT_EQ(Verified(RsaKey().Token(Header("RS256", "rsa"), Claims())), "ann  ann");
  EXPECT_EQ(Verified(EcToken(Claims(R"(,"role":"user","tenant":"t1","nbf":1.5,"iat":1)"))), "ann user t1");
  Result<Identity> again = verifier_->Verify(EcToken(Claims(R"(,"tenant":"")")), kNow);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->tenant, "ann") << "an empty tenant must not become that of everyone";
  EXPECT_EQ(again->issuer, "https://id.example");
  EXPECT_EQ(again->expires_at, kNow + 3600);
}

// A token must not choose how it is verified: each of these has let strangers in somewhere.
// Which agents a worker may serve: a token that does not say means all, an empty list means none.
TEST_F(TokenVerifierTest, NamesTheAgentsOfAWorker) {
  verifier_ = Make(Trusted());
  auto agents = [&](const std::string& more) {
    return verifier_->Verify(EcToken(Claims(more)), kNow).value().agents;
  };
  EXPECT_EQ(agents(""), std::nullopt);
  EXPECT_EQ(agents(R"(,"agents":null)"), std::nullopt);
  EXPECT_EQ(agents(R"(,"agents":[])"), std::vector<std::string>());
  EXPECT_EQ(agents(R"(,"agents":["guide","clerk"])"), (std::vector<std::string>{"guide", "clerk"}));
  EXPECT_THAT(Verified(EcToken(Claims(R"(,"agents":[7])"))), HasSubstr("its claim agents is no text"));
}

TEST_F(TokenVerifierTest, RefusesOtherAlgorithmsAndConfusedOnes) {
  std::string body = base::Base64Url(Claims());
  for (const char* none : {"none", "None", "nOnE", ""}) {
    std::string unsigned_token = base::Base64Url(Header(none, "ec")) + "." + body;
    EXPECT_THAT(Verified(unsigned_token + "."), HasSubstr("RS256 and ES256 are accepted")) << none;
    EXPECT_THAT(Verified(unsigned_token + ".AAAA"), HasSubstr("RS256 and ES256 are accepted")) << none;
  }
  for (const std::string& secret : {RsaKey().Jwk(), EcKey().Jwk(), std::string()}) {
    std::string text = base::Base64Url(Header("HS256", "rsa")) + "." + body;
    EXPECT_THAT(Verified(text + "." + base::Base64Url(HmacSha256(secret, text))),
                HasSubstr("it is signed with \"HS256\""));
  }
  EXPECT_THAT(Verified(RsaKey().Token(Header("RS256", "ec"), Claims())),
              HasSubstr("its key ec is not for RS256"));
  EXPECT_THAT(Verified(EcKey().Token(Header("ES256", "rsa"), Claims())),
              HasSubstr("its key rsa is not for ES256"));
  EXPECT_THAT(Verified(RsaKey().Token(Header("ES256", "ec"), Claims())), HasSubstr("its signature is wrong"));
  EXPECT_THAT(Verified(RsaKey().Token(Header("RS512", "rsa"), Claims())), HasSubstr("RS512"));
}

TEST_F(TokenVerifierTest, RefusesWhatOthersSigned) {
  SigningKey other = SigningKey::Ec();
  std::string own = other.Jwk();
  EXPECT_THAT(Verified(other.Token(Header("ES256", "ec"), Claims())), HasSubstr("its signature is wrong"));
  EXPECT_THAT(Verified(other.Token(Header("ES256", "mine"), Claims())), HasSubstr("not one of its issuer's"));
  EXPECT_THAT(Verified(other.Token(R"({"alg":"ES256","kid":"ec","jwk":)" + own + "}", Claims())),
              HasSubstr("its signature is wrong"));
}

// Without a kid the only key of the algorithm is meant, and nothing is guessed when there are two.
TEST_F(TokenVerifierTest, FindsTheKeyOfATokenThatNamesNone) {
  std::string token = EcKey().Token(R"({"alg":"ES256"})", Claims());
  EXPECT_EQ(Verified(token), "ann  ann");
  SetKeys(EcKey().Jwk() + "," + SigningKey::Ec().Jwk());
  EXPECT_THAT(Verified(Make(Trusted()).get(), token), HasSubstr("which of several keys"));
  SetKeys(RsaKey().Jwk());
  EXPECT_THAT(Verified(Make(Trusted()).get(), token), HasSubstr("no key for ES256"));
}

TEST_F(TokenVerifierTest, EveryPartIsCoveredByTheSignature) {
  std::string token = EcToken(Claims());
  size_t dots[] = {token.find('.'), token.rfind('.')};
  for (size_t at = 0; at < token.size(); ++at) {
    if (at == dots[0] || at == dots[1]) continue;
    std::string changed = token;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_THAT(Verified(changed), HasSubstr("the token is not accepted")) << at;
  }
  EXPECT_EQ(Verified(token), "ann  ann");
  std::string admin = EcToken(Claims(R"(,"role":"admin")"));
  EXPECT_THAT(Verified(admin.substr(0, admin.rfind('.')) + token.substr(dots[1])),
              HasSubstr("its signature is wrong"));
}

TEST_F(TokenVerifierTest, RefusesOtherFormsInWords) {
  std::string token = EcToken(Claims());
  size_t first = token.find('.'), last = token.rfind('.');
  std::string header = token.substr(0, first), claims = token.substr(first + 1, last - first - 1);
  for (const std::string& text : {std::string(), std::string("abc"), header + "." + claims, token + ".",
                                  "." + token, token + ".AA.AA", std::string("..")})
    EXPECT_THAT(Verified(text), HasSubstr("the token is not accepted")) << text;
  EXPECT_THAT(Verified(header + "=." + claims + token.substr(last)), HasSubstr("header is not base64url"));
  EXPECT_THAT(Verified(token + "="), HasSubstr("signature is not base64url"));
  EXPECT_THAT(Verified(token + " "), HasSubstr("signature is not base64url"));
  EXPECT_THAT(Verified(header + "." + claims + "."), HasSubstr("signature is not base64url"));
  EXPECT_THAT(Verified(std::string(8193, 'a')), HasSubstr("more than 8192 bytes"));
  EXPECT_THAT(Verified(EcKey().Token(R"({"alg":"ES256","crit":["exp"],"exp":1})", Claims())),
              HasSubstr("crit"));
  EXPECT_THAT(Verified(EcKey().Token(R"({"alg":"ES256","kid":7})", Claims())), HasSubstr("kid"));
  EXPECT_THAT(Verified(EcKey().Token(R"({"alg":"ES256","alg":"ES256"})", Claims())),
              HasSubstr("stands twice"));
  EXPECT_THAT(Verified(EcToken(Claims(R"(,"sub":"eve")"))), HasSubstr("the member sub stands twice"));
  EXPECT_THAT(Verified(EcToken("[]")), HasSubstr("claims is no JSON object"));
  EXPECT_THAT(Verified(EcToken(Claims() + "x")), HasSubstr("claims cannot be read"));
  EXPECT_THAT(Verified(EcToken(Claims(",\"x\":\"\xff\""))), HasSubstr("claims cannot be read"));
}

TEST_F(TokenVerifierTest, ChecksIssuerAudienceAndSubject) {
  auto token = [](const std::string& claims) {
    return EcToken("{" + claims + ",\"exp\":" + std::to_string(kNow + 60) + "}");
  };
  const std::string iss = R"("iss":"https://id.example")", aud = R"("aud":"shop")", sub = R"("sub":"ann")";
  EXPECT_EQ(Verified(token(iss + R"(,"aud":["x","till"],)" + sub)), "ann  ann");
  EXPECT_THAT(Verified(token(aud + "," + sub)), HasSubstr("(iss)"));
  EXPECT_THAT(Verified(token(R"("iss":"https://id.example/",)" + aud + "," + sub)),
              HasSubstr("is not trusted here"));
  EXPECT_THAT(Verified(token(R"("iss":["https://id.example"],)" + aud + "," + sub)), HasSubstr("(iss)"));
  EXPECT_THAT(Verified(token(iss + "," + sub)), HasSubstr("aud is not shop"));
  EXPECT_THAT(Verified(token(iss + R"(,"aud":"shops",)" + sub)), HasSubstr("aud is not shop"));
  EXPECT_THAT(Verified(token(iss + R"(,"aud":[],)" + sub)), HasSubstr("aud is not shop"));
  EXPECT_THAT(Verified(token(iss + R"(,"aud":{"shop":1},)" + sub)), HasSubstr("aud is no text"));
  EXPECT_THAT(Verified(token(iss + "," + aud)), HasSubstr("whose it is (sub)"));
  EXPECT_THAT(Verified(token(iss + "," + aud + R"(,"sub":"")")), HasSubstr("whose it is (sub)"));
  EXPECT_THAT(Verified(token(iss + "," + aud + R"(,"sub":7)")), HasSubstr("sub is no text"));
}

// Clocks differ by up to a minute, and by not a second more.
TEST_F(TokenVerifierTest, TimesCountToTheSecond) {
  EXPECT_EQ(Verified(EcToken(Claims("", kNow - 59))), "ann  ann");
  EXPECT_THAT(Verified(EcToken(Claims("", kNow - 60))), HasSubstr("it expired 60 seconds ago"));
  EXPECT_EQ(Verified(EcToken(Claims(",\"nbf\":" + std::to_string(kNow + 60)))), "ann  ann");
  EXPECT_THAT(Verified(EcToken(Claims(",\"nbf\":" + std::to_string(kNow + 61)))), HasSubstr("in 61 seconds"));
  EXPECT_EQ(Verified(EcToken(Claims(",\"iat\":" + std::to_string(kNow + 60)))), "ann  ann");
  EXPECT_THAT(Verified(EcToken(Claims(",\"iat\":" + std::to_string(kNow + 61)))), HasSubstr("in the future"));
  auto with_expiry = [](const std::string& exp) {
    return EcToken(R"({"iss":"https://id.example","aud":"shop","sub":"ann")" + exp + "}");
  };
  EXPECT_THAT(Verified(with_expiry("")), HasSubstr("does not say when it expires"));
  for (const char* exp : {R"(,"exp":"1900000000")", R"(,"exp":null)", R"(,"exp":1e99)", R"(,"exp":true)"})
    EXPECT_THAT(Verified(with_expiry(exp)), HasSubstr("exp is no time")) << exp;
}

// What is remembered must not be worth more than what is verified.
TEST_F(TokenVerifierTest, WhatIsRememberedEndsWithTheToken) {
  std::string token = EcToken(Claims("", kNow + 10));
  EXPECT_EQ(Verified(token), "ann  ann");
  EXPECT_EQ(Verified(token, kNow + 69), "ann  ann");
  EXPECT_THAT(Verified(token, kNow + 70), HasSubstr("it expired"));
}

// A key that its issuer withdrew ends the tokens it signed, remembered or not.
TEST_F(TokenVerifierTest, AWithdrawnKeyIsForgotten) {
  std::string token = EcToken(Claims("", kNow * 2));
  EXPECT_EQ(Verified(token), "ann  ann");
  SetKeys(RsaKey().Jwk(R"(,"kid":"rsa")"));
  std::string of_rsa = RsaKey().Token(Header("RS256", "rsa"), Claims("", kNow * 2));
  int64_t later = kNow + 601;
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (Verified(token, later) == "ann  ann" && std::chrono::steady_clock::now() < deadline) later += 301;
  EXPECT_THAT(Verified(token, later), HasSubstr("not one of its issuer's"));
  EXPECT_EQ(Verified(of_rsa, later), "ann  ann");
}

// Issuers change keys. A stranger who names keys that do not exist must not make us ask them all the time.
TEST_F(TokenVerifierTest, UnknownKeysAreFetchedOnceInThirtySeconds) {
  verifier_ = Make(Trusted());
  EXPECT_EQ(fetches_, 1);
  SigningKey fresh = SigningKey::Ec();
  std::string token = fresh.Token(Header("ES256", "fresh"), Claims());
  SetKeys(EcKey().Jwk(R"(,"kid":"ec")") + "," + fresh.Jwk(R"(,"kid":"fresh")"));
  EXPECT_THAT(Verified(token, kNow + 29), HasSubstr("its key fresh is not one of its issuer's"));
  EXPECT_EQ(fetches_, 1);
  EXPECT_TRUE(BecomesValid(verifier_.get(), token, kNow + 30));
  EXPECT_EQ(fetches_, 2);
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(
        verifier_->Verify(fresh.Token(Header("ES256", "no" + std::to_string(i)), Claims()), kNow + 59));
  EXPECT_EQ(fetches_, 2);
  // Nor may tokens that could not count anyway.
  EXPECT_FALSE(verifier_->Verify(fresh.Token(Header("ES256", "none"), Claims("", kNow)), kNow + 100));
  EXPECT_EQ(fetches_, 2);
}

TEST_F(TokenVerifierTest, AnIssuerThatDoesNotAnswerIsAWarningUntilItDoes) {
  SetKeys("");
  verifier_ = Make(Trusted());
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_[0], HasSubstr("connection refused"));
  EXPECT_THAT(Verified(EcToken(Claims())), HasSubstr("the keys could not be loaded"));
  SetKeys(EcKey().Jwk(R"(,"kid":"ec")"));
  EXPECT_TRUE(BecomesValid(verifier_.get(), EcToken(Claims()), kNow + 30));
}

TEST_F(TokenVerifierTest, KeysThatCannotBeRenewedStay) {
  verifier_ = Make(Trusted());
  SetKeys("");
  std::string token = EcToken(Claims());
  EXPECT_EQ(Verified(token, kNow + 700), "ann  ann");
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (fetches_ < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(fetches_, 2);
  EXPECT_EQ(Verified(token, kNow + 1000), "ann  ann");
}

// The claims of real issuers: groups in a list, roles in a map, names with dots, an audience called
// otherwise.
TEST_F(TokenVerifierTest, ClaimsAreFoundWhereAnIssuerPutsThem) {
  TrustedIssuer issuer = Trusted();
  issuer.claims = {
      .subject = "user.id", .role = "groups", .tenant = "https://id.example/org", .audience = "client_id"};
  issuer.roles = {"user", "admin"};
  std::unique_ptr<TokenVerifier> verifier = Make(issuer);
  auto token = [](const std::string& more) {
    return EcToken(
        Claims(R"(,"client_id":"till","user":{"id":"u7"},"https://id.example/org":"acme")" + more));
  };
  EXPECT_EQ(Verified(verifier.get(), token(R"(,"groups":["us-east-1_Google","admin","user"])")),
            "u7 admin acme");
  EXPECT_EQ(Verified(verifier.get(), token(R"(,"groups":["root"])")), "u7  acme");
  EXPECT_EQ(Verified(verifier.get(), token("")), "u7  acme");
  EXPECT_THAT(Verified(verifier.get(), token(R"(,"groups":[["admin"]])")), HasSubstr("groups is no text"));
  EXPECT_THAT(Verified(verifier.get(), EcToken(Claims())), HasSubstr("client_id is not shop"));
}

// One issuer's key must not speak for another.
TEST_F(TokenVerifierTest, IssuersAreKeptApart) {
  std::string path = directory_ + "/keys.json";
  SigningKey other = SigningKey::Ec();
  std::ofstream(path) << KeySet(other.Jwk(R"(,"kid":"other")"));
  TrustedIssuer second{.name = "https://two.example", .audiences = {"shop"}, .key_set = path};
  verifier_ = MakeAll({Trusted(), second}).value();
  auto from = [](const std::string& issuer) {
    return R"({"iss":")" + issuer + R"(","aud":"shop","sub":"bob","exp":)" + std::to_string(kNow + 60) + "}";
  };
  EXPECT_EQ(Verified(other.Token(Header("ES256", "other"), from("https://two.example"))), "bob  bob");
  EXPECT_THAT(Verified(other.Token(Header("ES256", "other"), from("https://id.example"))),
              HasSubstr("not one of its issuer's"));
  EXPECT_THAT(Verified(EcToken(from("https://two.example"))), HasSubstr("not one of its issuer's"));

  EXPECT_THAT(MakeAll({second, second}).error().message(), HasSubstr("is named twice"));
  second.key_set = directory_ + "/absent.json";
  EXPECT_THAT(MakeAll({second}).error().message(), HasSubstr("cannot read the key set"));
  std::ofstream(path) << "{}";
  second.key_set = path;
  EXPECT_THAT(MakeAll({second}).error().message(), HasSubstr("a key set is like"));
  second.audiences.clear();
  EXPECT_THAT(MakeAll({second}).error().message(), HasSubstr("an audience"));
}

TEST_F(TokenVerifierTest, TheDevelopmentIssuersKeyMayComeLater) {
  std::string path = directory_ + "/issuer.pem";
  verifier_ = MakeAll({}, path).value();
  SigningKey stranger = SigningKey::Ec();
  std::string claims =
      R"({"iss":"holdfast-dev","aud":"holdfast","sub":"eve","exp":)" + std::to_string(kNow + 60) + "}";
  EXPECT_THAT(Verified(stranger.Token(Header("ES256", "x"), claims)),
              HasSubstr("the keys could not be loaded"));

  Result<Issuer> issuer = Issuer::LoadOrCreate(path);
  ASSERT_TRUE(issuer) << issuer.error().message();
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  TokenClaims wanted{
      .subject = "ann", .role = "admin", .tenant = "t1", .issued_at = kNow, .expires_at = kNow + 60};
  std::string token = issuer->MakeToken(wanted).value();
  EXPECT_THAT(Verified(token), HasSubstr("not one of its issuer's")) << "looked for in this second already";
  EXPECT_EQ(Verified(token, kNow + 1), "ann admin t1");
  EXPECT_EQ(Issuer::LoadOrCreate(path)->public_key().id(), issuer->public_key().id());

  // A new key in its place ends what the old one signed.
  std::filesystem::remove(path);
  std::string other = Issuer::LoadOrCreate(path)->MakeToken(wanted).value();
  EXPECT_EQ(Verified(other, kNow + 2), "ann admin t1");
  EXPECT_THAT(Verified(issuer->MakeToken(wanted).value(), kNow + 3), HasSubstr("not one of its issuer's"));
}

TEST_F(TokenVerifierTest, AnIssuersKeyMustBePrivateAndOnP256) {
  std::string path = directory_ + "/issuer.pem";
  ASSERT_TRUE(Issuer::LoadOrCreate(path));
  ::chmod(path.c_str(), 0644);
  EXPECT_EQ(Issuer::Load(path).error().code(), ErrorCode::kAccessDenied);
  EXPECT_EQ(MakeAll({}, path).error().code(), ErrorCode::kAccessDenied);
  std::ofstream(path) << "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
  ::chmod(path.c_str(), 0600);
  EXPECT_EQ(Issuer::LoadOrCreate(path).error().code(), ErrorCode::kCorruption) << "and is never overwritten";
  EXPECT_EQ(Issuer::LoadOrCreate(directory_ + "/absent/issuer.pem").error().code(), ErrorCode::kIo);
  EXPECT_EQ(PublicKey::OnP256(RsaKey().handle()).error().code(), ErrorCode::kValidation);
  EXPECT_EQ(PublicKey::OnP256(SigningKey::Ec("P-384").handle()).error().code(), ErrorCode::kValidation);
}

}  // namespace
}  // namespace holdfast::auth
