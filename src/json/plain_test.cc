// Plain JSON: numbers keep their digits, and what an item cannot hold is refused with its place.
#include "json/plain.h"

#include <gtest/gtest.h>

namespace holdfast::json {
namespace {

std::string There(const AttributeValue& value) {
  Item item{{"v", value}};
  std::string text;
  AppendPlainItem(value::MapView(item), &text);
  return text;
}

TEST(Plain, ComesBackAsItWas) {
  for (const char* text :
       {R"({"v":12345678901234567890123456789012345678})", R"({"v":0.1})", R"({"v":-7})",
        R"({"v":"a\"b\\c\n\u0001ü"})", R"({"v":[1,[true,null],{"x":{}}]})", R"({"v":false})"}) {
    auto item = ReadPlainItem(text);
    ASSERT_TRUE(item) << text;
    EXPECT_EQ(There(*item->Get("v")), text);
  }
  EXPECT_EQ(ReadPlainValue("1e3").value(), AttributeValue(1000));
  EXPECT_EQ(ReadPlainValue(" [1, 2] ").value(), AttributeValue::List({1, 2}));
}

TEST(Plain, WritesWhatJsonLacks) {
  EXPECT_EQ(There(AttributeValue::Binary("abc")), R"({"v":"YWJj"})");
  EXPECT_EQ(There(AttributeValue::StringSet({"b", "a"})), R"({"v":["a","b"]})");
  EXPECT_EQ(There(AttributeValue::NumberSet({"2"})), R"({"v":[2]})");
}

TEST(Plain, RefusesWhatAnItemCannotHold) {
  std::string deep(100, '[');
  for (const std::string& text :
       {std::string(""), std::string("[]"), std::string("1"), std::string("{"),
        std::string(R"({"a":1,"a":2})"), std::string(R"({"a":123456789012345678901234567890123456789})"),
        std::string(R"({"a":1e200})"), std::string(R"({"a":1} x)"), std::string(R"({"a":"\ud800"})"),
        std::string("{\"a\":\"\xff\"}"), std::string(R"({"a":01})"), std::string(R"({"a":nan})"),
        "{\"a\":" + deep + std::string(100, ']') + "}"})
    EXPECT_FALSE(ReadPlainItem(text)) << text;
}

// People type values on a command line: what is no JSON must not pass for some other value.
TEST(Plain, RefusesWhatIsNoJson) {
  for (const char* text :
       {"", "none", "nul", "nulls", "tru", "1 2", "1,2", "1],[2", "{}}", "[1", "'a'", "01", "abc"}) {
    EXPECT_FALSE(ReadPlainValue(text)) << text;
  }
  EXPECT_TRUE(ReadPlainValue(" null ")->is_null());
}

}  // namespace
}  // namespace holdfast::json
