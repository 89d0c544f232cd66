#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

#include "holdfast/value.h"

namespace holdfast {
namespace {

using Type = AttributeValue::Type;

// C++ turns numbers and pointers into bool unasked. A score that is stored as TRUE is lost.
TEST(AttributeValue, KeepsTheTypeOfWhatItIsMadeFrom) {
  Item item{{"score", 0.5}, {"count", 7u}, {"live", true}, {"text", "true"}, {"none", nullptr}};
  EXPECT_EQ(item.Get("score"), AttributeValue::Number("0.5"));
  EXPECT_EQ(item.Get("count"), AttributeValue::Number("7"));
  EXPECT_EQ(item.Get("live")->type(), Type::kTrue);
  EXPECT_EQ(item.Get("text")->type(), Type::kString);
  EXPECT_TRUE(item.Get("none")->is_null());
  static_assert(!std::is_constructible_v<AttributeValue, int*>);
  static_assert(!std::is_constructible_v<AttributeValue, char>);
}

TEST(AttributeValue, DoublesComeBackAsTheyWent) {
  for (double value : {0.1, -2.5e-7, 1e21, 123456789.125, 1.0 / 3, 9.9e125}) {
    Item item{{"n", value}};
    ASSERT_EQ(item.defect(), nullptr) << value;
    EXPECT_EQ(item.Get("n")->AsDouble(), value);
  }
  EXPECT_NE(Item({{"n", std::numeric_limits<double>::infinity()}}).defect(), nullptr);
}

TEST(AttributeValue, IntegersComeBackUpToBothEnds) {
  for (int64_t value : {int64_t{0}, INT64_MIN, INT64_MIN + 1, INT64_MAX}) {
    EXPECT_EQ(AttributeValue(value).AsInt64(), value);
  }
  EXPECT_EQ(AttributeValue::Number("9223372036854775808").AsInt64(), std::nullopt);
  EXPECT_EQ(AttributeValue::Number("-9223372036854775809").AsInt64(), std::nullopt);
  EXPECT_EQ(AttributeValue(0.5).AsInt64(), std::nullopt);
}

// Anybody who may write a table stores any type under any name. A program that reads the wrong one gets an
// empty value: an exception out of a background thread would end the process, at every start again.
TEST(AttributeValue, AccessorsOfAnotherTypeAreEmptyAndDoNotThrow) {
  const AttributeValue values[] = {nullptr,
                                   true,
                                   false,
                                   7,
                                   "text",
                                   AttributeValue::Binary("bytes"),
                                   AttributeValue::StringSet({"a"}),
                                   AttributeValue::NumberSet({"1"}),
                                   AttributeValue::BinarySet({"b"}),
                                   AttributeValue::List({"element"}),
                                   AttributeValue::Map({{"name", "entry"}})};
  for (const AttributeValue& value : values) {
    SCOPED_TRACE(static_cast<int>(value.type()));
    Type type = value.type();
    bool text = type == Type::kNumber || type == Type::kString || type == Type::kBinary;
    bool set = type == Type::kStringSet || type == Type::kNumberSet || type == Type::kBinarySet;
    EXPECT_EQ(value.AsBool(), type == Type::kTrue);
    EXPECT_EQ(value.AsText().empty(), !text);
    EXPECT_EQ(value.AsSet().size(), set ? 1U : 0U);
    EXPECT_EQ(value.AsList().size(), type == Type::kList ? 1U : 0U);
    EXPECT_EQ(value.AsMap().size(), type == Type::kMap ? 1U : 0U);
    EXPECT_EQ(value.AsInt64().has_value(), type == Type::kNumber);
    EXPECT_EQ(value.AsDouble(), type == Type::kNumber ? 7.0 : 0.0);
  }
}

}  // namespace
}  // namespace holdfast
