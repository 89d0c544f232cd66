#include "value/number.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace holdfast::value {
namespace {

std::string Canonical(std::string_view text) {
  Result<Number> number = Number::Parse(text);
  return number ? number->ToString() : "error: " + number.error().message();
}

std::string Encoded(std::string_view text) {
  std::string bytes;
  Number::Parse(text).value().Encode(&bytes);
  return bytes;
}

TEST(Number, EverySpellingOfAValueHasOneCanonicalText) {
  EXPECT_EQ(Canonical("0"), "0");
  EXPECT_EQ(Canonical("-0"), "0");
  EXPECT_EQ(Canonical("0.000"), "0");
  EXPECT_EQ(Canonical("007"), "7");
  EXPECT_EQ(Canonical("+5"), "5");
  EXPECT_EQ(Canonical("1.50"), "1.5");
  EXPECT_EQ(Canonical("1e3"), "1000");
  EXPECT_EQ(Canonical("12E-1"), "1.2");
  EXPECT_EQ(Canonical("-.5"), "-0.5");
  EXPECT_EQ(Canonical("100"), "100");
}

TEST(Number, Keeps38DigitsExactlyAndRefusesA39th) {
  const std::string digits38(38, '9');
  EXPECT_EQ(Canonical(digits38), digits38);
  EXPECT_EQ(Canonical("0." + digits38), "0." + digits38);
  EXPECT_TRUE(Number::Parse(digits38 + "0").has_value()) << "a trailing zero is no digit";
  EXPECT_FALSE(Number::Parse("1" + digits38).has_value());
}

TEST(Number, MagnitudeIsBounded) {
  EXPECT_TRUE(Number::Parse("9.9999999999999999999999999999999999999E+125").has_value());
  EXPECT_FALSE(Number::Parse("1E126").has_value());
  EXPECT_TRUE(Number::Parse("1E-130").has_value());
  EXPECT_FALSE(Number::Parse("1E-131").has_value());
  EXPECT_FALSE(Number::Parse("1E999999999999999999999").has_value());
}

TEST(Number, RefusesWhatIsNoNumber) {
  for (std::string_view text :
       {"", " ", "a", "1a", "--1", "1.2.3", "e5", "1e", "1e+", "NaN", "Infinity", "0x10", "."}) {
    EXPECT_FALSE(Number::Parse(text).has_value()) << text;
  }
}

// The order of encoded bytes is what key conditions and index order stand on.
TEST(Number, EncodedBytesOrderAsNumbers) {
  const std::vector<std::string> ascending = {
      "-9.9E125", "-100",  "-99.99", "-10",     "-2",
      "-1.5",     "-1",    "-0.1",   "-1E-130", "0",
      "1E-130",   "1E-5",  "0.0099", "0.01",    "0.1",
      "0.5",      "1",     "1.5",    "2",       "9.99",
      "10",       "10.01", "99.99",  "100",     "12345678901234567890123456789012345678",
      "9.9E125"};
  for (size_t i = 1; i < ascending.size(); ++i) {
    EXPECT_LT(Encoded(ascending[i - 1]), Encoded(ascending[i])) << ascending[i - 1] << " < " << ascending[i];
  }
}

TEST(Number, EncodingRoundTripsAndIsRecognised) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string text = random() % 2 ? "-" : "";
    for (size_t n = random() % 38 + 1; n > 0; --n) text.push_back(static_cast<char>('0' + random() % 10));
    text += "E" + std::to_string(static_cast<int>(random() % 200) - 120);
    Result<Number> number = Number::Parse(text);
    if (!number) continue;
    std::string bytes, direct;
    number->Encode(&bytes);
    EXPECT_TRUE(IsEncodedNumber(bytes)) << text;
    EXPECT_EQ(Number::Decode(bytes).ToString(), number->ToString()) << text;
    AppendNumberText(bytes, &direct);
    EXPECT_EQ(direct, number->ToString()) << text;
  }
}

TEST(Number, SumsAreExactOrRefused) {
  auto add = [](std::string_view a, std::string_view b) {
    Result<Number> sum = Number::Add(Number::Parse(a).value(), Number::Parse(b).value());
    return sum ? sum->ToString() : std::string("refused");
  };
  EXPECT_EQ(add("0.1", "0.2"), "0.3");
  EXPECT_EQ(add("1", "-1"), "0");
  EXPECT_EQ(add("99999999999999999999999999999999999999", "1"), "1" + std::string(38, '0'));
  EXPECT_EQ(add("1E37", "0.1"), "refused") << "39 digits would be needed";
  EXPECT_EQ(add("9.9E125", "9.9E125"), "refused");
  EXPECT_EQ(add("-5", "3"), "-2");
}

}  // namespace
}  // namespace holdfast::value
