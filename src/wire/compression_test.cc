#include "wire/compression.h"

#include <gtest/gtest.h>

namespace holdfast::wire {
namespace {

constexpr size_t kMax = 1 << 20;

std::string Inflate(Coding coding, std::string_view body, size_t bytes_max = kMax) {
  Result<std::string> inflated = Decompress(coding, body, bytes_max);
  return inflated ? *inflated : std::string(ErrorName(inflated.error().code()));
}

TEST(Compression, BodiesComeBackAsTheyWere) {
  for (Coding coding : {Coding::kGzip, Coding::kDeflate}) {
    for (size_t size : {0, 1, 100, 5000, 1 << 20}) {
      std::string body;
      for (size_t i = 0; i < size; ++i) body.push_back(static_cast<char>(i * i >> 3));
      EXPECT_EQ(Inflate(coding, Compress(coding, body)), body) << size;
    }
  }
}

// A few kilobytes may claim to be gigabytes: what is allocated is bounded by what is allowed.
TEST(Compression, ABombIsRefusedAtTheLimit) {
  for (Coding coding : {Coding::kGzip, Coding::kDeflate}) {
    std::string bomb = Compress(coding, std::string(64 << 20, '0'));
    EXPECT_LT(bomb.size(), 100'000u);
    EXPECT_EQ(Inflate(coding, bomb), "LimitExceededException");
    std::string exact = Compress(coding, std::string(kMax, '0'));
    EXPECT_EQ(Inflate(coding, exact).size(), kMax);
    EXPECT_EQ(Inflate(coding, exact, kMax - 1), "LimitExceededException");
  }
}

TEST(Compression, BytesThatAreNotTheCodingAreRefused) {
  std::string gzip = Compress(Coding::kGzip, "hello");
  EXPECT_EQ(Inflate(Coding::kDeflate, gzip), "IoError");
  EXPECT_EQ(Inflate(Coding::kGzip, ""), "IoError");
  EXPECT_EQ(Inflate(Coding::kGzip, "hello"), "IoError");
  for (size_t cut = 0; cut < gzip.size(); ++cut)
    EXPECT_EQ(Inflate(Coding::kGzip, gzip.substr(0, cut)), "IoError");
  std::string flipped = gzip;
  flipped[flipped.size() - 6] ^= 1;
  EXPECT_EQ(Inflate(Coding::kGzip, flipped), "IoError") << "the checksum is looked at";
  EXPECT_EQ(Inflate(Coding::kGzip, gzip + "x"), "IoError");
  EXPECT_EQ(Inflate(Coding::kDeflate, Compress(Coding::kDeflate, "a") + "x"), "IoError");
}

TEST(Compression, GzipMembersFollowOneAnother) {
  EXPECT_EQ(Inflate(Coding::kGzip, Compress(Coding::kGzip, "one ") + Compress(Coding::kGzip, "two")),
            "one two");
  std::string half = Compress(Coding::kGzip, std::string(kMax / 2, 'x'));
  EXPECT_EQ(Inflate(Coding::kGzip, half + half).size(), kMax);
  EXPECT_EQ(Inflate(Coding::kGzip, half + half + Compress(Coding::kGzip, "x")), "LimitExceededException");
}

// Each member used to get a buffer of its own, as large as all that might follow: this body then took
// minutes.
TEST(Compression, ManyEmptyMembersCostNoMoreThanTheirBytes) {
  const std::string empty = Compress(Coding::kGzip, "");
  std::string body;
  while (body.size() < 4 << 20) body += empty;
  EXPECT_EQ(Inflate(Coding::kGzip, body, 16 << 20), "");
}

TEST(Compression, TheClientsPreferenceIsKept) {
  EXPECT_EQ(ChooseCoding(""), Coding::kNone);
  EXPECT_EQ(ChooseCoding("identity"), Coding::kNone);
  EXPECT_EQ(ChooseCoding("GZIP"), Coding::kGzip);
  EXPECT_EQ(ChooseCoding("deflate, gzip"), Coding::kDeflate);
  EXPECT_EQ(ChooseCoding("deflate;q=0.5, gzip;q=0.8"), Coding::kGzip);
  EXPECT_EQ(ChooseCoding("gzip;q=0"), Coding::kNone);
  EXPECT_EQ(ChooseCoding("gzip;q=0, *"), Coding::kDeflate);
  EXPECT_EQ(ChooseCoding(",,;;==, ;q"), Coding::kNone);
}

}  // namespace
}  // namespace holdfast::wire
