#include "value/number.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
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

// An index keeps floats: each must be the one that strtof, which rounds correctly, makes of the text.
TEST(Number, NearestFloatIsTheCorrectlyRoundedOne) {
  std::vector<std::string> texts = {"0",
                                    "1",
                                    "-1",
                                    "16777217",
                                    "16777219",
                                    "0.1",
                                    "3.4028235e38",
                                    "3.40282357e38",
                                    "1e39",
                                    "-1e125",
                                    "1e-45",
                                    "7e-46",
                                    "-1e-130",
                                    "1.17549435e-38",
                                    "0.3333333333333333333333333333333333"};
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    uint32_t bits = static_cast<uint32_t>(random());
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value)) continue;
    char text[64];
    // Shortest, a double's digits, and the middle between two floats, on and beside it.
    std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(value));
    texts.emplace_back(text);
    double middle = (static_cast<double>(value) + static_cast<double>(std::nextafter(value, 0.0F))) / 2;
    std::snprintf(text, sizeof(text), i % 2 == 0 ? "%.17g" : "%.37g", middle);
    texts.emplace_back(text);
  }
  for (const std::string& text : texts) {
    auto number = Number::Parse(text);
    if (!number) continue;
    std::string encoded;
    number->Encode(&encoded);
    EXPECT_EQ(NearestFloat(encoded), std::strtof(number->ToString().c_str(), nullptr)) << text;
  }
}

// A float that leaves an index as text and is read again must be the same float.
TEST(Number, FloatsHaveDecimalsThatReadBack) {
  for (float value : {0.0F, 1.0F, 0.1F, -0.6F, 16777216.0F, 1e-5F, 3.4028235e38F, 1e-45F, -1.17549435e-38F}) {
    std::string encoded;
    Number::FromFloat(value).Encode(&encoded);
    EXPECT_EQ(NearestFloat(encoded), value) << value;
  }
  EXPECT_EQ(Number::FromFloat(0.1F).ToString(), "0.1");
}

}  // namespace
}  // namespace holdfast::value
