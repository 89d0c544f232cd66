#include "model/cursor.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>

#include "base/base64.h"
#include "model/refusal.h"
#include "value/flat.h"

namespace holdfast::model {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr size_t kSignatureBytes = 16;
constexpr size_t kCursorBytesMax = 16 * 1024;

Error BadCursor() {
  return Refuse("InvalidCursor", "the cursor is not one of this pattern with these parameters");
}

}  // namespace

CursorCodec::CursorCodec(std::string key) : key_(std::move(key)) {
  if (!key_.empty()) return;
  key_.resize(kKeyBytes);
  RAND_bytes(reinterpret_cast<unsigned char*>(key_.data()), static_cast<int>(key_.size()));
}

std::string CursorCodec::Signature(std::string_view payload, std::string_view bound_to) const {
  // The length in front keeps the two apart.
  std::string text = std::to_string(bound_to.size()) + ":";
  text.append(bound_to).append(payload);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return std::string(reinterpret_cast<const char*>(digest), kSignatureBytes);
}

std::string CursorCodec::Encode(const Position& position, std::string_view bound_to) const {
  AttributeMap fields{{"s", position.step}};
  if (position.start) fields["k"] = AttributeValue::Map(position.start->ToMap());
  if (position.after_millis) fields["m"] = *position.after_millis;
  if (!position.after_key.empty()) fields["a"] = position.after_key;
  if (position.skip > 0) fields["n"] = position.skip;
  std::string payload(Item(fields).flat());
  std::string text = base::Base64(Signature(payload, bound_to) + payload);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  while (text.ends_with('=')) text.pop_back();
  return text;
}

Result<Position> CursorCodec::Decode(std::string_view cursor, std::string_view bound_to) const {
  std::string text(cursor);
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  while (text.size() % 4 != 0) text.push_back('=');
  std::string bytes;
  if (cursor.size() > kCursorBytesMax || !base::DecodeBase64(text, &bytes) || bytes.size() <= kSignatureBytes)
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
  if (auto skip = fields.Get("n")) position.skip = skip->AsInt64().value_or(0);
  return position;
}

}  // namespace holdfast::model
