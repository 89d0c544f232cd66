#include "json/item_reader.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "json/writer.h"

namespace holdfast::json {
namespace {

// What becomes of JSON that is read as an item: the item as JSON, "defect: …" or "error: …".
std::string Read(
    std::string_view text, Result<Item> (*read)(const Element&) = [](const Element& element) {
      return ReadItem(element, Place::kField);
    }) {
  simdjson::dom::parser parser;
  Element element;
  if (parser.parse(text.data(), text.size()).get(element) != simdjson::SUCCESS) return "not JSON";
  Result<Item> item = read(element);
  if (!item) return "error: " + item.error().message();
  if (item->defect() != nullptr) return "defect: " + item->defect()->message();
  std::string written;
  AppendItem(value::MapView(*item), &written);
  return written;
}

std::string Nested(int levels) {
  std::string text;
  for (int i = 1; i < levels; ++i) text += R"({"L":[)";
  text += R"({"S":"x"})";
  for (int i = 1; i < levels; ++i) text += "]}";
  return R"({"a":)" + text + "}";
}

TEST(ItemReader, EveryTypeIsReadAndWrittenBack) {
  for (std::string_view text :
       {R"({})", R"({"a":{"S":""}})", R"({"a":{"S":"\"\\\n\u0001é😀"}})", R"({"a":{"N":"-1.5"}})",
        R"({"a":{"B":"AP8="}})", R"({"a":{"BOOL":true},"b":{"BOOL":false},"c":{"NULL":true}})",
        R"({"a":{"SS":["a","b"]},"b":{"NS":["1","2"]},"c":{"BS":["AA==","/w=="]}})",
        R"({"a":{"L":[{"S":"x"},{"L":[]},{"M":{}}]},"b":{"M":{"c":{"M":{"d":{"N":"0"}}}}}})"}) {
    std::string once = Read(text);
    EXPECT_FALSE(once.starts_with("error") || once.starts_with("defect") || once == "not JSON") << once;
    EXPECT_EQ(Read(once), once) << "one form, whatever was sent";
  }
  EXPECT_EQ(Read(R"({"b":{"N":"01.50"},"a":{"SS":["z","y"]}})"), R"({"a":{"SS":["y","z"]},"b":{"N":"1.5"}})");
}

TEST(ItemReader, NullCountsAsAbsent) {
  EXPECT_EQ(Read(R"({"a":null,"b":{"S":"x","N":null}})"), R"({"b":{"S":"x"}})");
}

// The last of two equal names wins, as it does in AWS's decoder.
TEST(ItemReader, OfEqualNamesTheLastWins) {
  EXPECT_EQ(Read(R"({"a":{"S":"first"},"b":{"S":"x"},"a":{"S":"last"}})"),
            R"({"a":{"S":"last"},"b":{"S":"x"}})");
}

// Wrong shapes end the request; the texts are those of AWS's decoder.
TEST(ItemReader, JsonOfTheWrongShapeIsASerializationError) {
  EXPECT_EQ(Read(R"([])"),
            "error: Unrecognized collection type java.util.Map<java.lang.String, "
            "com.amazonaws.dynamodb.v20120810.AttributeValue>");
  EXPECT_EQ(Read(R"("x")"), "error: Unexpected field type");
  EXPECT_EQ(Read(R"({"a":"x"})"), "error: Unexpected value type in payload");
  EXPECT_EQ(Read(R"({"a":[]})"),
            "error: Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue");
  EXPECT_EQ(Read(R"({"a":{"S":1}})"), "error: NUMBER_VALUE cannot be converted to String");
  EXPECT_EQ(Read(R"({"a":{"S":1.5}})"), "error: DECIMAL_VALUE cannot be converted to String");
  EXPECT_EQ(Read(R"({"a":{"N":true}})"), "error: TRUE_VALUE cannot be converted to String");
  EXPECT_EQ(Read(R"({"a":{"S":["x"]}})"), "error: Unrecognized collection type class java.lang.String");
  EXPECT_EQ(Read(R"({"a":{"S":{}}})"), "error: Start of structure or map found where not expected");
  EXPECT_EQ(Read(R"({"a":{"BOOL":"maybe"}})"), "error: Unexpected token received from parser");
  EXPECT_EQ(Read(R"({"a":{"L":{}}})"), "error: Start of structure or map found where not expected");
  EXPECT_EQ(Read(R"({"a":{"L":"x"}})"), "error: Unexpected field type");
  EXPECT_EQ(Read(R"({"a":{"SS":[1]}})"), "error: NUMBER_VALUE cannot be converted to String");
  EXPECT_EQ(Read(R"({"a":{"B":"abc"}})"),
            "error: Base64 encoded length is expected a multiple of 4 bytes but found: 3");
  EXPECT_EQ(Read(R"({"a":{"B":"ab*="}})"), "error: Invalid last non-pad Base64 character dectected");
  EXPECT_EQ(Read(R"({"a":{"B":1}})"), "error: only base-64-encoded strings are convertible to bytes");
}

// Values of the right shape that DynamoDB refuses are kept with the item until its turn comes.
TEST(ItemReader, UnacceptableValuesBecomeTheItemsDefect) {
  EXPECT_EQ(Read(R"({"a":{}})"),
            "defect: Supplied AttributeValue is empty, must contain exactly one of the "
            "supported datatypes");
  EXPECT_EQ(Read(R"({"a":{"S":"x","N":"1"}})"),
            "defect: Supplied AttributeValue has more than one datatypes "
            "set, must contain exactly one of the supported datatypes");
  EXPECT_EQ(Read(R"({"a":{"N":"one"}})"),
            "defect: The parameter cannot be converted to a numeric value: one");
  EXPECT_EQ(Read(R"({"a":{"N":""}})"), "defect: The parameter cannot be converted to a numeric value");
  EXPECT_EQ(Read(R"({"a":{"NULL":false}})"),
            "defect: One or more parameter values were invalid: Null "
            "attribute value types must have the value of true");
  EXPECT_EQ(Read(R"({"a":{"SS":[]}})"),
            "defect: One or more parameter values were invalid: An string set  may not be empty");
  EXPECT_EQ(
      Read(R"({"a":{"SS":["x","x"]}})"),
      "defect: One or more parameter values were invalid: Input collection [x, x] contains duplicates.");
  EXPECT_EQ(Read(R"({"a":{"NS":["1","1.0"]}})"), "defect: Input collection contains duplicates");
  EXPECT_EQ(Read(R"({"":{"S":"x"}})"),
            "defect: One or more parameter values were invalid: Empty attribute name");
}

// A defect does not hide a later error of shape, nor the other way round.
TEST(ItemReader, AWrongShapeIsReportedBeforeAnEarlierDefect) {
  EXPECT_EQ(Read(R"({"a":{"N":"one"},"b":{"S":1}})"), "error: NUMBER_VALUE cannot be converted to String");
}

TEST(ItemReader, NestingIsBounded) {
  EXPECT_FALSE(Read(Nested(limits::kDocumentDepthMax)).starts_with("defect"));
  EXPECT_TRUE(Read(Nested(limits::kDocumentDepthMax + 1)).starts_with("defect: Nesting Levels"));
  EXPECT_TRUE(Read(Nested(400)).starts_with("defect: Nesting Levels"));
  EXPECT_EQ(Read(Nested(100000)), "not JSON") << "the parser has a depth of its own";
}

TEST(ItemReader, TextThatIsNotUtf8IsNotJson) {
  EXPECT_EQ(Read("{\"a\":{\"S\":\"\xff\"}}"), "not JSON");
  EXPECT_EQ(Read("{\"a\":{\"S\":\"\xc0\x80\"}}"), "not JSON");
  EXPECT_EQ(Read("{\"a\":{\"S\":\"\xed\xa0\x80\"}}"), "not JSON") << "a lone surrogate";
  EXPECT_EQ(Read(R"({"a":{"S":"\ud800"}})"), "not JSON");
}

TEST(ItemReader, TheDefectOfAnExpressionValueNamesItsKey) {
  auto read = [](std::string_view text) { return Read(text, ReadExpressionValues); };
  EXPECT_EQ(
      read(R"({":a":{"S":"x"},":b":{"N":"one"}})"),
      "defect: ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a "
      "numeric value: one for key :b");
  EXPECT_EQ(read(R"({":a":{"L":[{"SS":[]}]}})"),
            "defect: ExpressionAttributeValues contains invalid value: One or more parameter values were "
            "invalid: An string set  may not be empty for key :a");
}

// What is larger than any item is refused while it is read: 32 levels of 16 MB are half a gigabyte to move.
TEST(ItemReader, WhatIsLargerThanAnyItemIsNotBuilt) {
  const std::string kTooLarge = "defect: Item size has exceeded the maximum allowed size";
  std::string large(3'000'000, 'x');
  EXPECT_EQ(Read(R"({"a":{"S":")" + large + R"("}})"), kTooLarge);
  EXPECT_EQ(Read(R"({"a":{"B":")" + std::string(4'000'000, 'A') + R"("}})"), kTooLarge);
  std::string many = R"({"S":""})", members = R"("0")";
  for (int i = 0; i < 2'500'000; ++i) many += R"(,{"S":""})";
  for (int i = 1; i < 500'000; ++i) members += ",\"" + std::to_string(i) + "\"";
  EXPECT_EQ(Read(R"({"a":{"L":[)" + many + "]}}"), kTooLarge);
  EXPECT_EQ(Read(R"({"a":{"SS":[)" + members + "]}}"), kTooLarge);
  // A wrong shape behind it is still told.
  EXPECT_EQ(Read(R"({"a":{"S":")" + large + R"("},"b":{"S":1}})"),
            "error: NUMBER_VALUE cannot be converted to String");
  // Digits are no bytes of an item.
  EXPECT_EQ(Read(R"({"a":{"N":")" + std::string(3'000'000, '0') + R"(7"}})"), R"({"a":{"N":"7"}})");
}

// Errors show the beginning of what they refuse.
TEST(ItemReader, ErrorsDoNotRepeatLargeValues) {
  EXPECT_LT(Read(R"({"a":{"N":")" + std::string(1'000'000, 'x') + R"("}})").size(), 2000u);
  std::string same = R"("x")";
  for (int i = 0; i < 100'000; ++i) same += R"(,"x")";
  EXPECT_LT(Read(R"({"a":{"SS":[)" + same + "]}}").size(), 2000u);
}

}  // namespace
}  // namespace holdfast::json
