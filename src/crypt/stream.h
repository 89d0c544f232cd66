// AES-256-CTR by position: any part of a file can be encrypted or decrypted alone, and a byte stays a byte.
//
//   Stream stream(data_key);
//   stream.Apply(offset, bytes, out, size);         // twice is the identity
//
// The counter is the position, so a key belongs to one file and every position is encrypted once: two texts
// at one position under one key would give each other away. Nothing is authenticated.
//
// Thread-safe: each thread keeps a cipher, which remembers the key it was used with last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/master_keys.h"

namespace holdfast::crypt {

class Stream {
 public:
  explicit Stream(const SecretKey& key);

  // `in` and `out` may be the same.
  void Apply(uint64_t position, const char* in, char* out, size_t size) const;

 private:
  const SecretKey key_;
  const uint64_t id_;  // no other stream of the process has it
};

}  // namespace holdfast::crypt
