#include "base/md5.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace holdfast::base {
namespace {

std::string Hex(ByteView message) {
  std::string text;
  for (uint8_t byte : Md5(message)) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

// The digest stands in every storage key: a wrong one would lose data. The vectors of RFC 1321, A.5.
TEST(Md5, GivesTheDigestsOfItsStandard) {
  EXPECT_EQ(Hex(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Hex("a"), "0cc175b9c0f1b6a831c399e269772661");
  EXPECT_EQ(Hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(Hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(Hex("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

// The padding takes one block or two, depending on where the message ends.
TEST(Md5, PadsMessagesAroundTheBlockBoundary) {
  EXPECT_EQ(Hex(std::string(55, 'x')), "04364420e25c512fd958a70738aa8f72");
  EXPECT_EQ(Hex(std::string(56, 'x')), "668a72d5ba17f08e62dabcafad6db14b");
  EXPECT_EQ(Hex(std::string(63, 'x')), "7dc2ca208106a2f703567bdff99d8981");
  EXPECT_EQ(Hex(std::string(64, 'x')), "c1bb4f81d892b2d57947682aeb252456");
  EXPECT_EQ(Hex(std::string(120, 'x')), "fb98667f98096de92620b64f46e1c5b5");
}

}  // namespace
}  // namespace holdfast::base
