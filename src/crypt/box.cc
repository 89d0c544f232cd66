#include "crypt/box.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <memory>

namespace holdfast::crypt {
namespace {

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

enum Direction : int { kDecrypt = 0, kEncrypt = 1 };

unsigned char* Bytes(char* text) {
  return reinterpret_cast<unsigned char*>(text);
}
const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
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

}  // namespace

Status Lock(const SecretKey& key, std::string_view plaintext, std::string_view associated, std::string* out) {
  size_t at = out->size();
  out->resize(at + kBoxBytes + plaintext.size());
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

bool Unlock(const SecretKey& key, std::string_view box, std::string_view associated, unsigned char* out) {
  std::string_view text = box.substr(kNonceBytes, box.size() - kBoxBytes);
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

Result<SecretKey> RandomKey() {
  SecretKey key;
  if (RAND_bytes(key.bytes.data(), static_cast<int>(key.bytes.size())) == 1) return key;
  return Error(ErrorCode::kInternal, "the system has no randomness to give");
}

}  // namespace holdfast::crypt
