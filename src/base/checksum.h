// The checksum of the files that we write and read ourselves: XXH3, 64 bits. It finds damage, not forgery.
// Stored on disk: never change.
//
//   Checksum checksum;
//   checksum.Update(bytes);            // in any pieces: the value depends on the bytes alone
//   uint64_t value = checksum.Value();
//
// Files of formats 1 and 2 have another one (ADR 0042); whoever reads those names it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/checksum_format2.h"

struct XXH3_state_s;

namespace holdfast::base {

enum class ChecksumKind : uint8_t { kXxh3, kFormat2 };

class Checksum {
 public:
  explicit Checksum(ChecksumKind kind = ChecksumKind::kXxh3);
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void Update(ByteView bytes);
  uint64_t Value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;  // null: kFormat2
  std::optional<ChecksumFormat2> format2_;
};

// Of bytes that lie in one piece.
uint64_t ChecksumOf(ByteView bytes, ChecksumKind kind = ChecksumKind::kXxh3);

}  // namespace holdfast::base
