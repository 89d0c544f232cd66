#include "value/flat.h"

#include <gtest/gtest.h>

#include <random>

#include "base/limits.h"

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

// What one level more would hold is refused where it is built, not where it is stored.
TEST(Flat, ADocumentMayBe32LevelsDeepAndNoDeeper) {
  AttributeValue value("leaf");
  for (int level = 1; level < limits::kDocumentDepthMax; ++level) value = AttributeValue::List({value});
  EXPECT_EQ(Item({{"deep", value}}).defect(), nullptr);
  Item deeper{{"deep", AttributeValue::List({value})}};
  ASSERT_NE(deeper.defect(), nullptr);
  EXPECT_EQ(deeper.defect()->message(), NestingTooDeep().message());
  EXPECT_TRUE(deeper.empty());
}

TEST(Flat, SetsRefuseWhatDynamoDbRefuses) {
  EXPECT_NE(Item({{"s", AttributeValue::StringSet({})}}).defect(), nullptr);
  EXPECT_NE(Item({{"s", AttributeValue::StringSet({"a", "a"})}}).defect(), nullptr);
  EXPECT_NE(Item({{"s", AttributeValue::NumberSet({"1", "1.0"})}}).defect(), nullptr) << "one number twice";
  EXPECT_NE(Item({{"s", AttributeValue::NumberSet({"one"})}}).defect(), nullptr);
  EXPECT_EQ(Item({{"s", AttributeValue::StringSet({"1", "1.0"})}}).defect(), nullptr);
}

// A stored set is never empty; bytes that say so are damaged.
TEST(Flat, AnEmptySetIsNotWellFormed) {
  for (Type type : {Type::kStringSet, Type::kNumberSet, Type::kBinarySet}) {
    FlatWriter writer;
    writer.BeginMap();
    writer.Name("s");
    writer.BeginSet();
    EXPECT_TRUE(writer.EndSet(type));
    writer.EndMap();
    EXPECT_FALSE(IsWellFormedItem(writer.TakeMap())) << TypeName(type);
  }
}

TEST(Flat, ItemsAreEditedInPlaceAndKeepOneForm) {
  Item item{{"b", 2}, {"d", 4}};
  item.Set("a", 1);
  item.Set("c", AttributeValue::List({"x"}));
  item.Set("b", "two");
  item.Remove("d");
  item.Remove("not there");
  EXPECT_EQ(item, (Item{{"c", AttributeValue::List({"x"})}, {"b", "two"}, {"a", 1}}));
  EXPECT_FALSE(item.Has("d"));
  item.Set("bad", AttributeValue::Number("x"));
  EXPECT_NE(item.defect(), nullptr);
}

// Offsets are 1, 2 or 4 bytes wide; an entry that crosses the border must move all of them.
TEST(Flat, ContainersOfEverySizeAreReadBack) {
  for (size_t bytes : {0, 100, 252, 253, 254, 255, 256, 65000, 65530, 65534, 65535, 65536, 70000}) {
    Item item{{"a", std::string(bytes, 'x')}, {"b", 7}, {std::string(bytes % 60000 + 1, 'n'), true}};
    ASSERT_TRUE(IsWellFormedItem(item.flat())) << bytes;
    EXPECT_EQ(item.Get("a")->AsText().size(), bytes);
    EXPECT_EQ(item.Get("b")->AsInt64(), 7);
    EXPECT_TRUE(item.Get(std::string(bytes % 60000 + 1, 'n'))->AsBool());
  }
}

TEST(Flat, IntegersAreReadBackToTheirLimits) {
  for (int64_t value : {INT64_MIN, INT64_MIN + 1, int64_t{-1}, int64_t{0}, INT64_MAX}) {
    EXPECT_EQ(AttributeValue(value).AsInt64(), value);
  }
  EXPECT_EQ(AttributeValue::Number("9223372036854775808").AsInt64(), std::nullopt);
  EXPECT_EQ(AttributeValue::Number("-9223372036854775809").AsInt64(), std::nullopt);
  EXPECT_EQ(AttributeValue::Number("1.5").AsInt64(), std::nullopt);
  EXPECT_EQ(AttributeValue::Number("1e3").AsInt64(), 1000);
  EXPECT_EQ(AttributeValue("1").AsInt64(), std::nullopt);
  EXPECT_EQ(AttributeValue::Number(0.1).AsText(), "0.1");
}

}  // namespace
}  // namespace holdfast::value
