#include "auth/issuer.h"

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <utility>

#include "auth/jwt.h"
#include "base/base64.h"
#include "base/file.h"
#include "json/writer.h"

namespace holdfast::auth {
namespace {

constexpr size_t kFileBytesMax = 16 * 1024;

using Memory = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

// The key in a PEM text; null when there is none. One with a password is none: nobody is there to be asked.
KeyHandle KeyIn(const std::string& pem) {
  Memory memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free_all);
  auto no_password = [](char*, int, int, void*) { return 0; };
  return KeyHandle(PEM_read_bio_PrivateKey(memory.get(), nullptr, no_password, nullptr));
}

Status WriteKey(const KeyHandle& key, const std::string& path) {
  Memory memory(BIO_new(BIO_s_secmem()), &BIO_free_all);
  char* text = nullptr;
  if (key == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(memory.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return Error(ErrorCode::kInternal, "no key could be made");
  auto size = static_cast<size_t>(BIO_get_mem_data(memory.get(), &text));
  return base::ReplaceFile(path, {text, size}, 0600);
}

std::string ClaimsText(const TokenClaims& claims) {
  std::string text = "{";
  auto name = [&](std::string_view member) {
    text.append(text.size() > 1 ? ",\"" : "\"").append(member).append("\":");
  };
  auto add = [&](std::string_view member, std::string_view value) {
    if (value.empty()) return;
    name(member);
    json::AppendString(value, &text);
  };
  auto add_time = [&](std::string_view member, int64_t seconds) {
    name(member);
    json::AppendInteger(seconds, &text);
  };
  add("iss", kDevelopmentIssuer);
  add("aud", kDevelopmentAudience);
  add("sub", claims.subject);
  add("role", claims.role);
  add("tenant", claims.tenant);
  if (!claims.agents.empty()) {
    name("agents");
    char before = '[';
    for (const std::string& agent : claims.agents) {
      text.push_back(std::exchange(before, ','));
      json::AppendString(agent, &text);
    }
    text.push_back(']');
  }
  add_time("iat", claims.issued_at);
  add_time("nbf", claims.issued_at);
  add_time("exp", claims.expires_at);
  return text + "}";
}

}  // namespace

Result<Issuer> Issuer::Load(const std::string& path) {
  HF_TRY(std::string text, base::ReadPrivateFile(path, kFileBytesMax));
  KeyHandle key = KeyIn(text);
  OPENSSL_cleanse(text.data(), text.size());
  auto unusable = [&](const std::string& why) {
    return Error(ErrorCode::kCorruption, "the key file " + path + " cannot be used: " + why);
  };
  if (key == nullptr) return unusable("it holds no private key in PEM");
  Result<PublicKey> half = PublicKey::OnP256(key);
  if (!half) return unusable(half.error().message());
  return Issuer(std::move(key), *std::move(half));
}

Result<Issuer> Issuer::LoadOrCreate(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) {
    HF_TRY(base::FileDescriptor directory, base::LockDirectoryOf(path));
    if (::access(path.c_str(), F_OK) != 0) HF_CHECK_OK(WriteKey(KeyHandle(EVP_EC_gen("P-256")), path));
  }
  return Load(path);
}

Result<std::string> Issuer::MakeToken(const TokenClaims& claims) const {
  std::string header = R"({"alg":"ES256","typ":"JWT","kid":")" + public_key_.id() + "\"}";
  std::string token = base::Base64Url(header) + "." + base::Base64Url(ClaimsText(claims));
  HF_TRY(std::string signature, SignEs256(key_, token));
  token += "." + base::Base64Url(signature);
  if (token.size() > kTokenBytesMax)
    return ValidationError("the token would have more than " + std::to_string(kTokenBytesMax) + " bytes");
  return token;
}

}  // namespace holdfast::auth
