#include "value/flat.h"

#include <gtest/gtest.h>

#include <random>

#include "value/key_codec.h"

namespace holdfast::value {
namespace {

AttributeValue RandomValue(std::mt19937_64* random, int depth) {
  auto text = [&] {
    return std::string((*random)() % 300 == 0 ? 70000 : (*random)() % 12,
                       static_cast<char>('a' + (*random)() % 26));
  };
  switch ((*random)() % (depth > 0 ? 8 : 5)) {
    case 0: return AttributeValue(text());
    case 1: return AttributeValue(static_cast<int64_t>((*random)()));
    case 2: return AttributeValue::Binary(text());
    case 3: return AttributeValue((*random)() % 2 == 0);
    case 4: return AttributeValue();
    case 5: return AttributeValue::NumberSet({"1", "2.5", std::to_string((*random)() % 1000 + 10)});
    case 6: {
      std::vector<AttributeValue> elements;
      for (size_t n = (*random)() % 5; n > 0; --n) elements.push_back(RandomValue(random, depth - 1));
      return AttributeValue::List(std::move(elements));
    }
    default: {
      AttributeMap entries;
      for (size_t n = (*random)() % 5; n > 0; --n)
        entries.emplace("k" + std::to_string((*random)() % 1000), RandomValue(random, depth - 1));
      return AttributeValue::Map(std::move(entries));
    }
  }
}

TEST(Flat, ItemsRoundTripThroughTheStoredForm) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 3000; ++i) {
    AttributeMap attributes;
    for (size_t n = random() % 9; n > 0; --n)
      attributes.emplace("a" + std::to_string(random() % 50), RandomValue(&random, 4));
    Item item(attributes);
    ASSERT_TRUE(IsWellFormedItem(item.flat()));
    EXPECT_EQ(item.ToMap(), attributes);
    EXPECT_EQ(Item::FromFlat(std::string(item.flat())), item);
  }
}

// Stored bytes are compared instead of values, so equal values must have equal bytes.
TEST(Flat, EqualItemsHaveEqualBytesWhateverTheOrderTheyWereBuiltIn) {
  Item a{{"x", AttributeValue::StringSet({"b", "a"})}, {"n", AttributeValue::Number("1.0")}};
  Item b{{"n", AttributeValue::Number("01")}, {"x", AttributeValue::StringSet({"a", "b"})}};
  EXPECT_EQ(a.flat(), b.flat());
}

// Damaged bytes must be recognised, never walked out of.
TEST(Flat, EveryCutAndManyFlipsOfAnItemAreSafeToCheck) {
  Item item{{"list", AttributeValue::List({1, "two", AttributeValue::Map({{"deep", 3}})})},
            {"set", AttributeValue::NumberSet({"1", "2"})},
            {"text", "hello"}};
  std::string bytes(item.flat());
  for (size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_FALSE(IsWellFormedItem(ByteView(bytes).substr(0, cut)));
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (IsWellFormedItem(damaged)) static_cast<void>(Item::FromFlat(damaged).ToMap());
  }
}

TEST(Flat, SizesFollowTheItemSizeRule) {
  EXPECT_EQ(Item({{"k", "abc"}}).SizeBytes(), 4u);
  EXPECT_EQ(Item({{"k", AttributeValue()}}).SizeBytes(), 2u);
  EXPECT_EQ(Item({{"k", true}}).SizeBytes(), 2u);
  EXPECT_EQ(Item({{"k", AttributeValue::Binary(std::string(10, 'b'))}}).SizeBytes(), 11u);
  EXPECT_EQ(Item({{"k", AttributeValue::List({})}}).SizeBytes(), 4u);
  EXPECT_EQ(Item({{"k", AttributeValue::List({"ab"})}}).SizeBytes(), 1u + 3 + 1 + 2);
}

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

}  // namespace
}  // namespace holdfast::value
