// CRC-32C (Castagnoli), the checksum of RocksDB's log.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace holdfast::base {

// Of the bytes whose checksum is `before`, followed by `bytes`.
uint32_t Crc32c(uint32_t before, ByteView bytes);

}  // namespace holdfast::base
