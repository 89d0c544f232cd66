#include "base/base64.h"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

// The vectors of RFC 4648, section 10.
TEST(Base64, EncodesTheVectorsOfItsStandard) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, EveryByteRoundTripsAtEveryAlignment) {
  for (size_t length = 0; length < 300; ++length) {
    std::string bytes;
    for (size_t i = 0; i < length; ++i) bytes.push_back(static_cast<char>(255 - i));
    std::string decoded = "kept";
    ASSERT_TRUE(DecodeBase64(Base64(bytes), &decoded));
    EXPECT_EQ(decoded, "kept" + bytes);
  }
}

// One value must have one text: a key that could be spelled twice would be two keys.
TEST(Base64, RefusesEveryOtherSpellingAndLeavesTheOutputAlone) {
  for (std::string_view text : {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Z===", "=Zg=", "Zg==Zg==", "Zm 9",
                                "Zm9v\n", "Zm-_", "Zm\x80v"}) {
    std::string decoded = "kept";
    EXPECT_FALSE(DecodeBase64(text, &decoded)) << text;
    EXPECT_EQ(decoded, "kept") << text;
  }
}

// Tokens and cursors stand in URLs and headers; a second spelling of one would be a second token.
TEST(Base64, TheFormForUrlsIsAsStrict) {
  EXPECT_EQ(Base64Url("\xfb\xff\xfe"), "-__-");
  EXPECT_EQ(Base64Url("fo"), "Zm8");
  for (std::string_view bytes : {"", "f", "fo", "foo", "\xfb\xff"}) {
    std::string decoded = "kept";
    ASSERT_TRUE(DecodeBase64Url(Base64Url(bytes), &decoded));
    EXPECT_EQ(decoded, "kept" + std::string(bytes));
  }
  for (std::string_view text : {"Zm8=", "Z", "Zg==", "Zh", "+__-", "-//-", "Zm 9", "Zm9v\n", "AAAAA"}) {
    std::string decoded = "kept";
    EXPECT_FALSE(DecodeBase64Url(text, &decoded)) << text;
    EXPECT_EQ(decoded, "kept") << text;
  }
}

}  // namespace
}  // namespace holdfast::base
