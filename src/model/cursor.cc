#include "model/cursor.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "auth/hmac.h"
#include "base/base64.h"
#include "base/check.h"
#include "model/refusal.h"
#include "value/flat.h"

namespace holdfast::model {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr size_t kBlockBytes = 64;  // of SHA-256
constexpr size_t kSignatureBytes = 16;
constexpr size_t kCursorBytesMax = 16 * 1024;

Error BadCursor() {
  return Refuse("InvalidCursor", "the cursor is not one of this pattern with these parameters");
}

}  // namespace

CursorCodec::CursorCodec(std::string key) : inner_(EVP_MD_CTX_new()), outer_(EVP_MD_CTX_new()) {
  if (key.empty()) {
    key.resize(kKeyBytes);
    HF_ASSERT(RAND_bytes(reinterpret_cast<unsigned char*>(key.data()), static_cast<int>(key.size())) == 1);
  }
  if (key.size() > kBlockBytes) key = auth::HmacSha256("", key);
  // HMAC's two hashes, each with its half of the key taken in already.
  auto begin = [&](evp_md_ctx_st* hash, char pad) {
    std::string block = key;
    block.resize(kBlockBytes, '\0');
    for (char& c : block) c = static_cast<char>(c ^ pad);
    HF_ASSERT(EVP_DigestInit_ex(hash, EVP_sha256(), nullptr) == 1);
    EVP_DigestUpdate(hash, block.data(), block.size());
  };
  begin(inner_, 0x36);
  begin(outer_, 0x5c);
}

CursorCodec::~CursorCodec() {
  EVP_MD_CTX_free(inner_);
  EVP_MD_CTX_free(outer_);
}

std::string CursorCodec::Signature(std::string_view payload, std::string_view bound_to) const {
  EVP_MD_CTX* hash = EVP_MD_CTX_new();
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_MD_CTX_copy_ex(hash, inner_);
  std::string length = std::to_string(bound_to.size()) + ":";  // keeps the two apart
  for (std::string_view text : {std::string_view(length), bound_to, payload})
    EVP_DigestUpdate(hash, text.data(), text.size());
  EVP_DigestFinal_ex(hash, digest, &size);
  EVP_MD_CTX_copy_ex(hash, outer_);
  EVP_DigestUpdate(hash, digest, size);
  EVP_DigestFinal_ex(hash, digest, &size);
  EVP_MD_CTX_free(hash);
  return std::string(reinterpret_cast<const char*>(digest), kSignatureBytes);
}

std::string CursorCodec::Encode(const Position& position, std::string_view bound_to) const {
  value::FlatWriter writer;
  auto number = [&](std::string_view name, int64_t value) {
    writer.Name(name);
    writer.Number(value::Number::FromInt(value));
  };
  std::string start;
  writer.BeginMap();
  number("s", position.step);
  if (position.start) {
    // An item is the payload of a map.
    start = static_cast<char>(value::Type::kMap) + std::string(position.start->flat());
    writer.Name("k");
    writer.Copy(value::ValueView(start));
  }
  if (position.after_millis) number("m", *position.after_millis);
  if (!position.after_key.empty()) {
    writer.Name("a");
    writer.String(position.after_key);
  }
  if (!position.after_item.empty()) {
    writer.Name("i");
    writer.Binary(position.after_item);
  }
  if (position.skip > 0) number("n", position.skip);
  writer.EndMap();
  std::string payload = writer.TakeMap();
  return base::Base64Url(Signature(payload, bound_to) + payload);
}

Result<Position> CursorCodec::Decode(std::string_view cursor, std::string_view bound_to) const {
  std::string bytes;
  if (cursor.size() > kCursorBytesMax || !base::DecodeBase64Url(cursor, &bytes) ||
      bytes.size() <= kSignatureBytes)
    return BadCursor();
  std::string payload = bytes.substr(kSignatureBytes);
  std::string expected = Signature(payload, bound_to);
  if (CRYPTO_memcmp(expected.data(), bytes.data(), kSignatureBytes) != 0) return BadCursor();
  if (!value::IsWellFormedItem(payload)) return BadCursor();
  Item fields = Item::FromFlat(std::move(payload));
  Position position;
  if (auto step = fields.Get("s")) position.step = step->AsInt64().value_or(0);
  if (auto key = fields.Get("k")) position.start = Item(key->AsMap());
  if (auto millis = fields.Get("m")) position.after_millis = millis->AsInt64();
  if (auto after = fields.Get("a")) position.after_key = after->AsText();
  if (auto item = fields.Get("i")) position.after_item = item->AsText();
  if (auto skip = fields.Get("n")) position.skip = skip->AsInt64().value_or(0);
  return position;
}

}  // namespace holdfast::model
