#include "base/crc32c.h"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

// RFC 3720, B.4; and in pieces the same as at once.
TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(Crc32c(0, "123456789"), 0xE3069283U);
  EXPECT_EQ(Crc32c(0, std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(Crc32c(0, std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(Crc32c(Crc32c(0, "1234"), "56789"), 0xE3069283U);
}

}  // namespace
}  // namespace holdfast::base
