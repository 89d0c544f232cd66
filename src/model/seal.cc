#include "model/seal.h"

#include "base/base64.h"
#include "base/limits.h"
#include "crypt/box.h"
#include "model/refusal.h"

namespace holdfast::model {
namespace {

// Stored on disk: never change.
constexpr std::string_view kMagic{"HFS\x01", 4};
constexpr size_t kVersionBytes = 4;
constexpr size_t kBoxBytes = crypt::kBoxBytes;
constexpr size_t kWrappedBytes = sizeof(SecretKey::bytes) + kBoxBytes;

unsigned char* Bytes(char* text) {
  return reinterpret_cast<unsigned char*>(text);
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
  if (bytes.size() < payload_at + kBoxBytes) return damaged;
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
  if (!crypt::Unlock(*master, parts.wrapped, std::string(parts.header).append(context),
                     data_key->bytes.data())) {
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
  HF_CHECK_OK(crypt::Lock(*master, crypt::View(data_key), bytes + std::string(context), &bytes));
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
  HF_TRY(SecretKey data_key, crypt::RandomKey());
  HF_TRY(std::string bytes, Wrap(keys, data_key, context));
  HF_CHECK_OK(crypt::Lock(data_key, plaintext, context, &bytes));
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
  std::string plaintext(parts.payload.size() - kBoxBytes, '\0');
  if (!crypt::Unlock(data_key, parts.payload, context, Bytes(plaintext.data()))) {
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
