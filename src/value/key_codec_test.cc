#include "value/key_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "value/number.h"

namespace holdfast::value {
namespace {

TEST(KeyCodec, FieldsRoundTripAndKeepTheOrderOfBytes) {
  std::mt19937_64 random(5);
  auto bytes = [&] {
    std::string text;
    for (size_t n = random() % 6; n > 0; --n)
      text.push_back(
          static_cast<char>("\x00\x01\xfe\xff"
                            "ab"[random() % 6]));
    return text;
  };
  for (int i = 0; i < 20000; ++i) {
    std::string a1 = bytes(), a2 = bytes(), b1 = bytes(), b2 = bytes(), a, b;
    AppendKeyField(a1, &a);
    AppendKeyField(a2, &a);
    AppendKeyField(b1, &b);
    AppendKeyField(b2, &b);
    EXPECT_EQ(a < b, std::pair(a1, a2) < std::pair(b1, b2));
    ByteView rest = a;
    std::string first, second;
    ASSERT_TRUE(ReadKeyField(&rest, &first) && ReadKeyField(&rest, &second));
    EXPECT_TRUE(first == a1 && second == a2 && rest.empty());
  }
}

TEST(KeyCodec, PrefixSuccessorIsTheLeastBoundAboveThePrefix) {
  EXPECT_EQ(PrefixSuccessor("ab"), "ac");
  EXPECT_EQ(PrefixSuccessor("a\xff"), "b");
  EXPECT_EQ(PrefixSuccessor("\xff\xff"), "");
}

// A key of several attributes orders by its first, then its second, each by its own rule: strings and binary
// by bytes, numbers by value.
TEST(KeyCodec, KeysOfMixedTypesOrderAttributeByAttribute) {
  struct Key {
    std::string text;
    int64_t number;
    std::string bytes;
    auto operator<=>(const Key&) const = default;
  };
  std::mt19937_64 random(23);
  auto key = [&] {
    Key made{std::string(random() % 3, 'a'), static_cast<int64_t>(random() % 5) - 2, {}};
    if (random() % 2) made.number *= static_cast<int64_t>(random() % 1'000'000'000);
    for (size_t n = random() % 3; n > 0; --n) made.bytes.push_back(static_cast<char>(random() % 3 - 1));
    return made;
  };
  auto encode = [](const Key& made) {
    std::string field, number;
    AppendKeyField(made.text, &field);
    Number::FromInt(made.number).Encode(&number);
    AppendKeyField(number, &field);
    AppendKeyField(made.bytes, &field);
    return field;
  };
  for (int i = 0; i < 20000; ++i) {
    Key a = key(), b = key();
    // std::string compares bytes as unsigned, as memcmp does.
    EXPECT_EQ(encode(a) < encode(b), a < b);
    EXPECT_EQ(encode(a) == encode(b), a == b);
  }
}

// begins_with scans from the prefix to its successor: exactly the keys that start with it lie between.
TEST(KeyCodec, APrefixBoundsTheFieldsThatBeginWithIt) {
  std::mt19937_64 random(29);
  auto bytes = [&](size_t longest) {
    std::string text;
    for (size_t n = random() % (longest + 1); n > 0; --n)
      text.push_back(
          "\x00\x01\xff"
          "a"[random() % 4]);
    return text;
  };
  for (int i = 0; i < 20000; ++i) {
    std::string prefix = bytes(2), payload = bytes(4), lower = "t", field = "t";
    AppendKeyPrefix(prefix, &lower);
    AppendKeyField(payload, &field);
    bool between = field >= lower && field < PrefixSuccessor(lower);
    EXPECT_EQ(between, payload.starts_with(prefix));
  }
}

TEST(KeyCodec, DamagedFieldsAreRefused) {
  using namespace std::string_view_literals;
  for (ByteView bytes : {""sv, "abc"sv, "abc\x00"sv, "abc\x00\x02"sv, "\x00\xff"sv}) {
    std::string payload;
    EXPECT_FALSE(ReadKeyField(&bytes, &payload));
  }
}

// Stored in every key. The expected figures are MD5("Outliers" ‖ key), computed elsewhere.
TEST(KeyCodec, ThePartitionHashNeverChanges) {
  EXPECT_EQ(PartitionHash("abc"), 0x12db);
  EXPECT_EQ(PartitionHash(std::string(300, 'k')), 0x6a4b);
}

}  // namespace
}  // namespace holdfast::value
