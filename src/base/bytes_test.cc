#include "base/bytes.h"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

TEST(Bytes, BigEndianOrdersAsNumbersAndReadsBack) {
  uint64_t previous = 0;
  for (uint64_t value : {0ULL, 1ULL, 255ULL, 256ULL, 65535ULL, 1ULL << 32, (1ULL << 63) - 1, ~0ULL}) {
    std::string bytes, before;
    AppendBigEndian(&bytes, value, 8);
    AppendBigEndian(&before, previous, 8);
    EXPECT_EQ(ReadBigEndian(bytes, 8), value);
    EXPECT_LE(before, bytes);
    previous = value;
  }
  std::string narrow;
  AppendBigEndian(&narrow, 0x12345, 2);
  EXPECT_EQ(narrow, "\x23\x45");
}

TEST(Bytes, VarintsRoundTripAtEveryLength) {
  for (int bits = 0; bits < 64; ++bits) {
    for (uint64_t value : {(1ULL << bits) - 1, 1ULL << bits, ~0ULL >> bits}) {
      std::string bytes;
      AppendVarint(&bytes, value);
      EXPECT_EQ(bytes.size(), VarintSize(value));
      bytes += "rest";
      ByteView view = bytes;
      uint64_t read = 0;
      ASSERT_TRUE(ReadVarint(&view, &read));
      EXPECT_EQ(read, value);
      EXPECT_EQ(view, "rest");
    }
  }
}

// Lengths are varints: one that never ends must not be read past the bytes that are there.
TEST(Bytes, AVarintThatIsCutOffOrTooLongIsRefused) {
  uint64_t value = 0;
  for (const std::string& bytes : {std::string(), std::string("\x80"), std::string(9, '\xff'),
                                   std::string(11, '\xff'), std::string(10, '\xff') + "\x01"}) {
    ByteView view = bytes;
    EXPECT_FALSE(ReadVarint(&view, &value));
    EXPECT_EQ(view, bytes);
  }
}

}  // namespace
}  // namespace holdfast::base
