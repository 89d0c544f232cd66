#include "json/writer.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include "holdfast/ops/put_item.h"
#include "json/struct_writer.h"

namespace holdfast::json {
namespace {

// Escaping works on eight bytes at a time: every byte must be seen at every place in such a group.
TEST(Writer, StringsReadBackWhateverTheyHold) {
  simdjson::dom::parser parser;
  for (int byte = 0; byte < 0x80; ++byte) {
    for (size_t before = 0; before < 17; ++before) {
      std::string text = std::string(before, 'a') + static_cast<char>(byte) + "é😀 and more";
      std::string json;
      AppendString(text, &json);
      std::string_view read;
      ASSERT_EQ(parser.parse(json).get(read), simdjson::SUCCESS) << json;
      EXPECT_EQ(read, text);
    }
  }
}

TEST(Writer, NumbersHaveTheFormsOfAwsAnswers) {
  auto text = [](double value) {
    std::string out;
    AppendDouble(value, &out);
    return out;
  };
  EXPECT_EQ(text(2), "2.0");
  EXPECT_EQ(text(0.5), "0.5");
  EXPECT_EQ(text(0), "0.0");
  EXPECT_EQ(text(1794778283.466), "1794778283.466");
  std::string integer;
  AppendInteger(INT64_MIN, &integer);
  EXPECT_EQ(integer, "-9223372036854775808");
}

TEST(Writer, StructsLeaveOutWhatIsNotSet) {
  PutItemResponse response;
  std::string json;
  WriteStruct(response, &json);
  EXPECT_EQ(json, "{}");
  response.attributes = Item{{"a", "x\"y"}};
  response.consumed_capacity = ConsumedCapacity{.table_name = "t", .capacity_units = 1};
  json.clear();
  WriteStruct(response, &json);
  EXPECT_EQ(json,
            R"({"Attributes":{"a":{"S":"x\"y"}},"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.0}})");
}

TEST(Writer, TimesAreSecondsWithMilliseconds) {
  std::string json;
  Write(Timestamp{1794778283005}, &json);
  EXPECT_EQ(json, "1794778283.005");
}

}  // namespace
}  // namespace holdfast::json
