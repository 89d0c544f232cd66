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

// An index holds floats: what comes back are their digits, not those of a double or of the table's item.
TEST(Writer, ScoresAndVectorsOfASearchAreFloats) {
  SearchResult result;
  static_cast<Item&>(result.item) =
      Item{{"n", 1}, {"v", AttributeValue::List({1, 0.1, -0.6, 16777216})}, {"w", AttributeValue::List({1})}};
  result.item.vector_attribute = "v";
  result.score = 0.4F;
  std::string text;
  Write(result, &text);
  EXPECT_EQ(text,
            R"({"Item":{"n":{"N":"1"},"v":{"L":[{"N":"1.0"},{"N":"0.1"},{"N":"-0.6"},{"N":"16777216.0"}]},)"
            R"("w":{"L":[{"N":"1"}]}},"Score":0.4})");
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

// What a client sends: values of the old parameters stand alone, a vector is a list of numbers.
TEST(Writer, RequestsAreWrittenAsAServerReadsThem) {
  std::string json;
  WriteStruct(LegacyCondition{.attribute_value_list = {{AttributeValue("x"), AttributeValue(1)}},
                              .comparison_operator = ComparisonOperator::kBetween},
              &json);
  EXPECT_EQ(json, R"({"AttributeValueList":[{"S":"x"},{"N":"1"}],"ComparisonOperator":"BETWEEN"})");
  json.clear();
  WriteStruct(SearchVectorsRequest{.table_name = "t",
                                   .index_name = "i",
                                   .search_vector = {0.5F, 2.0F},
                                   .top_k = 3,
                                   .expression_attribute_values = {{{":v", true}}}},
              &json);
  EXPECT_EQ(json, R"({"TableName":"t","IndexName":"i","SearchVector":[{"N":"0.5"},{"N":"2.0"}],"TopK":3,)"
                  R"("ExpressionAttributeValues":{":v":{"BOOL":true}}})");
}

}  // namespace
}  // namespace holdfast::json
