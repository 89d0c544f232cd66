#include "model/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <memory>

#include "base/base64.h"
#include "base/limits.h"
#include "model/refusal.h"

namespace holdfast::model {
namespace {

// Stored on disk: never change.
constexpr std::string_view kMagic{"HFS\x01", 4};
constexpr size_t kNonceBytes = 12, kTagBytes = 16, kVersionBytes = 4;
constexpr size_t kWrappedBytes = kNonceBytes + sizeof(SecretKey::bytes) + kTagBytes;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

enum Direction : int { kDecrypt = 0, kEncrypt = 1 };

unsigned char* Bytes(char* text) {
  return reinterpret_cast<unsigned char*>(text);
}
const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
std::string_view View(const SecretKey& key) {
  return {reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()};
}

// A cipher that has taken in key, nonce and associated data, and put `in` through to `out`; null when
// something failed.
Cipher Run(Direction direction, const SecretKey& key, const unsigned char* nonce, std::string_view associated,
           std::string_view in, unsigned char* out) {
  Cipher cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int size = 0;
  bool done =
      cipher != nullptr &&
      EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.bytes.data(), nonce, direction) == 1 &&
      EVP_CipherUpdate(cipher.get(), nullptr, &size, Bytes(associated),
                       static_cast<int>(associated.size())) == 1 &&
      EVP_CipherUpdate(cipher.get(), out, &size, Bytes(in), static_cast<int>(in.size())) == 1;
  if (!done) cipher.reset();
  return cipher;
}

// Appends a box: nonce ‖ ciphertext ‖ tag.
Status Lock(const SecretKey& key, std::string_view plaintext, std::string_view associated, std::string* out) {
  size_t at = out->size();
  out->resize(at + kNonceBytes + plaintext.size() + kTagBytes);
  unsigned char *nonce = Bytes(out->data() + at), *text = nonce + kNonceBytes, *tag = text + plaintext.size();
  int size = 0;
  if (RAND_bytes(nonce, kNonceBytes) == 1) {
    Cipher cipher = Run(kEncrypt, key, nonce, associated, plaintext, text);
    if (cipher != nullptr && EVP_CipherFinal_ex(cipher.get(), tag, &size) == 1 &&
        EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag) == 1) {
      return Ok{};
    }
  }
  return Error(ErrorCode::kInternal, "encryption failed");
}

// Writes what is in the box to `out`, which has room for it: wiped when the box is not what it was.
// Requires: box.size() >= kNonceBytes + kTagBytes.
bool Unlock(const SecretKey& key, std::string_view box, std::string_view associated, unsigned char* out) {
  std::string_view text = box.substr(kNonceBytes, box.size() - kNonceBytes - kTagBytes);
  std::string tag(box.substr(box.size() - kTagBytes));
  unsigned char rest[EVP_MAX_BLOCK_LENGTH];
  int size = 0;
  Cipher cipher = Run(kDecrypt, key, Bytes(box), associated, text, out);
  bool sound = cipher != nullptr &&
               EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
               EVP_CipherFinal_ex(cipher.get(), rest, &size) == 1;
  if (!sound) OPENSSL_cleanse(out, text.size());
  return sound;
}

// The parts of a sealed text, as views of its decoded bytes.
struct Parts {
  std::string_view
      header;  // magic, key id and version: what the wrapped key is bound to, besides the context
  std::string_view key_id;
  int version = 0;
  std::string_view wrapped;  // box with the data key
  std::string_view payload;  // box with the text
};

Result<Parts> Split(std::string_view bytes) {
  Error damaged = Refuse("DecryptFailed", "this is no sealed text, or a damaged one");
  size_t id_at = kMagic.size() + 1;
  if (bytes.size() < id_at || !bytes.starts_with(kMagic)) return damaged;
  size_t version_at = id_at + static_cast<unsigned char>(bytes[kMagic.size()]);
  size_t wrapped_at = version_at + kVersionBytes, payload_at = wrapped_at + kWrappedBytes;
  if (bytes.size() < payload_at + kNonceBytes + kTagBytes) return damaged;
  uint64_t version = base::ReadBigEndian(bytes.substr(version_at), kVersionBytes);
  if (version > INT32_MAX) return damaged;
  return Parts{bytes.substr(0, wrapped_at), bytes.substr(id_at, version_at - id_at),
               static_cast<int>(version), bytes.substr(wrapped_at, kWrappedBytes), bytes.substr(payload_at)};
}

std::string Decode(std::string_view sealed) {
  std::string bytes;
  if (sealed.size() <= limits::kItemSizeBytesMax) base::DecodeBase64(sealed, &bytes);
  return bytes;  // empty is no sealed text
}

Status Unwrap(const MasterKeys& keys, const Parts& parts, std::string_view context, SecretKey* data_key) {
  const SecretKey* master = parts.key_id == keys.id ? keys.Find(parts.version) : nullptr;
  if (master == nullptr) {
    return Refuse("DecryptFailed", "sealed under version " + std::to_string(parts.version) +
                                       " of a master key that is unknown here, or disabled");
  }
  if (!Unlock(*master, parts.wrapped, std::string(parts.header).append(context), data_key->bytes.data())) {
    return Refuse("DecryptFailed", "the sealed text, or the context it belongs to, was changed");
  }
  return Ok{};
}

// All of a sealed text before its payload.
Result<std::string> Wrap(const MasterKeys& keys, const SecretKey& data_key, std::string_view context) {
  const SecretKey* master = keys.Find(keys.current);
  if (master == nullptr || keys.id.size() > UINT8_MAX)
    return Refuse("NotConfigured", "there is no current master key");
  std::string bytes(kMagic);
  bytes.push_back(static_cast<char>(keys.id.size()));
  bytes += keys.id;
  base::AppendBigEndian(&bytes, static_cast<uint64_t>(keys.current), kVersionBytes);
  HF_CHECK_OK(Lock(*master, View(data_key), bytes + std::string(context), &bytes));
  return bytes;
}

// Nothing longer is ever stored, and OpenSSL counts in int.
Status CheckSize(std::string_view text, std::string_view context) {
  if (text.size() + context.size() <= limits::kItemSizeBytesMax) return Ok{};
  return Refuse("ItemTooLarge", "an encrypted attribute does not fit in an item");
}

}  // namespace

Result<std::string> Seal(const MasterKeys& keys, std::string_view plaintext, std::string_view context) {
  HF_CHECK_OK(CheckSize(plaintext, context));
  SecretKey data_key;
  if (RAND_bytes(data_key.bytes.data(), static_cast<int>(data_key.bytes.size())) != 1) {
    return Error(ErrorCode::kInternal, "the system has no randomness to give");
  }
  HF_TRY(std::string bytes, Wrap(keys, data_key, context));
  HF_CHECK_OK(Lock(data_key, plaintext, context, &bytes));
  std::string sealed = base::Base64(bytes);
  HF_CHECK_OK(CheckSize(sealed, {}));
  return sealed;
}

Result<std::string> Unseal(const MasterKeys& keys, std::string_view sealed, std::string_view context) {
  HF_CHECK_OK(CheckSize({}, context));
  std::string bytes = Decode(sealed);
  HF_TRY(Parts parts, Split(bytes));
  SecretKey data_key;
  HF_CHECK_OK(Unwrap(keys, parts, context, &data_key));
  std::string plaintext(parts.payload.size() - kNonceBytes - kTagBytes, '\0');
  if (!Unlock(data_key, parts.payload, context, Bytes(plaintext.data()))) {
    return Refuse("DecryptFailed", "the sealed text, or the context it belongs to, was changed");
  }
  return plaintext;
}

Result<std::string> Rewrap(const MasterKeys& keys, std::string_view sealed, std::string_view context) {
  HF_CHECK_OK(CheckSize({}, context));
  std::string bytes = Decode(sealed);
  HF_TRY(Parts parts, Split(bytes));
  if (parts.key_id == keys.id && parts.version == keys.current) return std::string(sealed);
  SecretKey data_key;
  HF_CHECK_OK(Unwrap(keys, parts, context, &data_key));
  HF_TRY(std::string wrapped, Wrap(keys, data_key, context));
  return base::Base64(wrapped.append(parts.payload));
}

Result<int> SealedVersion(std::string_view sealed) {
  std::string bytes = Decode(sealed);
  return Split(bytes).transform([](const Parts& parts) { return parts.version; });
}

}  // namespace holdfast::model
