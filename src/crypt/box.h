// A small secret in a box: AES-256-GCM under a random nonce, bound to what stands beside it.
//
//   HF_CHECK_OK(Lock(key, secret, header, &bytes));                  // appends nonce ‖ ciphertext ‖ tag
//   if (!Unlock(key, box, header, out)) …                            // another key, box or header
//
// Nonces being random, a key locks at most 2³² boxes.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/master_keys.h"
#include "holdfast/result.h"

namespace holdfast::crypt {

inline constexpr size_t kNonceBytes = 12, kTagBytes = 16;
// What a box has beyond the text in it.
inline constexpr size_t kBoxBytes = kNonceBytes + kTagBytes;

// Requires: OpenSSL counts in int, so both texts are below 2 GB.
Status Lock(const SecretKey& key, std::string_view plaintext, std::string_view associated, std::string* out);

// Writes what is in the box to `out`, which has room for it: wiped when the box is not what it was.
// Requires: box.size() >= kBoxBytes.
bool Unlock(const SecretKey& key, std::string_view box, std::string_view associated, unsigned char* out);

Result<SecretKey> RandomKey();
inline std::string_view View(const SecretKey& key) {
  return {reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()};
}

}  // namespace holdfast::crypt
