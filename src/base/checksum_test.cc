#include "base/checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::base {
namespace {

std::string Bytes(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i * 131 + i / 7));
  return bytes;
}

// Values stand in files: another library, or another version of it, must give the same. These are XXH3's own,
// of the reference implementation.
TEST(ChecksumTest, ValuesAreThoseOfXxh3) {
  EXPECT_EQ(ChecksumOf(""), 0x2D06800538D394C2ULL);
  EXPECT_EQ(ChecksumOf("a"), 0xE6C632B61E964E1FULL);
  EXPECT_EQ(ChecksumOf("abc"), 0x78AF5F94892F3950ULL);
}

// What formats 1 and 2 wrote stays readable as long as those formats are.
TEST(ChecksumTest, ValuesOfFormat2AreWhatTheyWere) {
  EXPECT_EQ(ChecksumOf("", ChecksumKind::kFormat2), 0xE13393B6E3289EAEULL);
  EXPECT_EQ(ChecksumOf("abc", ChecksumKind::kFormat2), 0x7058C9AE131E44D3ULL);
  EXPECT_EQ(ChecksumOf(Bytes(1000), ChecksumKind::kFormat2), 0xF57F9BB25D41AC3AULL);
}

// Writers and readers take a file in pieces of their own.
TEST(ChecksumTest, TheValueDependsOnTheBytesAlone) {
  for (ChecksumKind kind : {ChecksumKind::kXxh3, ChecksumKind::kFormat2}) {
    std::string bytes = Bytes(5000);
    for (size_t piece : {1, 7, 32, 240, 241, 1024, 4999}) {
      Checksum checksum(kind);
      for (size_t at = 0; at < bytes.size(); at += piece) checksum.Update(ByteView(bytes).substr(at, piece));
      EXPECT_EQ(checksum.Value(), ChecksumOf(bytes, kind)) << piece;
      EXPECT_EQ(checksum.Value(), ChecksumOf(bytes, kind)) << "asked again";
    }
  }
}

TEST(ChecksumTest, EveryFlippedBitChangesIt) {
  for (ChecksumKind kind : {ChecksumKind::kXxh3, ChecksumKind::kFormat2}) {
    std::string bytes = Bytes(300);
    uint64_t value = ChecksumOf(bytes, kind);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      EXPECT_NE(ChecksumOf(bytes, kind), value) << bit;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    }
  }
}

}  // namespace
}  // namespace holdfast::base
