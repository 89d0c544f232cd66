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

// One reader says why: a second one, which built a tree of values for that, took a hundred times the text.
TEST(Plain, SaysWhy) {
  auto why = [](const std::string& text) { return ReadPlainItem(text).error().message(); };
  EXPECT_EQ(why(R"({"a":1,"b":{"c":2,"c":3}})"), "the member c stands twice");
  EXPECT_EQ(why("[1]"), "should be a JSON object");
  EXPECT_EQ(why("17"), "should be a JSON object");
  EXPECT_EQ(why(R"({"a":1e200})"),
            "Number overflow. Attempting to store a number with magnitude larger than supported range");
  EXPECT_TRUE(
      why("{\"a\":" + std::string(40, '[') + std::string(40, ']') + "}").starts_with("Nesting Levels"));
  EXPECT_TRUE(why("{").starts_with("no JSON: "));
  EXPECT_TRUE(why("").starts_with("no JSON: "));
  EXPECT_TRUE(ReadPlainItem(R"({"a":1})")) << "and the next text is read as if nothing had been";
}

TEST(Plain, ADocumentHasABoundedNumberOfValues) {
  std::string zeros = "0";
  for (int i = 0; i < 1'100'000; ++i) zeros += ",0";
  EXPECT_EQ(ReadPlainItem("{\"a\":[" + zeros + "]}").error().message(),
            "the document has more than 1048576 values");
}

}  // namespace
}  // namespace holdfast::json
