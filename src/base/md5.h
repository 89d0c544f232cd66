// MD5 (RFC 1321), for placement only: DynamoDB spreads partition keys by it. Not for security.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace holdfast::base {

std::array<uint8_t, 16> Md5(ByteView message);

}  // namespace holdfast::base
