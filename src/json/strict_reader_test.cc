#include "json/strict_reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "json/struct_reader.h"

namespace holdfast::json {
namespace {

Element Parse(simdjson::dom::parser* parser, std::string_view text) {
  Element element;
  EXPECT_EQ(parser->parse(text.data(), text.size()).get(element), simdjson::SUCCESS) << text;
  return element;
}

std::string StrictError(std::string_view text) {
  simdjson::dom::parser parser;
  Status checked = CheckStrict<SearchVectorsRequest>(Parse(&parser, text), text);
  return checked ? "none" : checked.error().message();
}

// The places are those of the decoder that AWS has before SearchVectors.
TEST(StrictReader, ARefusalSaysWhere) {
  EXPECT_EQ(StrictError(R"({"TableName":null})"),
            "invalid type: null, expected a string at line 1 column 17");
  EXPECT_EQ(StrictError("{\n \"TopK\" : \"x\\\"}\" }"),
            "invalid type: string \"x\\\"}\", expected i32 at line 2 column 16");
  EXPECT_EQ(StrictError(R"({"SearchVector":{}})"),
            "invalid type: map, expected a sequence at line 1 column 16");
  EXPECT_EQ(StrictError("{}"), "missing field `TableName` at line 1 column 2");
  EXPECT_EQ(StrictError(" { } \n"), "missing field `TableName` at line 1 column 4");
}

// Whatever stands before a member must not be taken for it.
TEST(StrictReader, OtherMembersAreStepsOnTheWay) {
  EXPECT_EQ(StrictError(R"({"x":{"TopK":null,"y":["}",{"z":"\\"}]},"IndexName":"i","TopK":1,)"
                        R"("SearchVector":[],"TableName":"t"})"),
            "none");
  EXPECT_EQ(StrictError(R"({"x":"TopK","y":-1.5e3,"z":[[]],"TopK":true})"),
            "invalid type: boolean `true`, expected i32 at line 1 column 43");
}

SearchVector ReadVector(std::string_view text) {
  simdjson::dom::parser parser;
  return ReadSearchVector(Parse(&parser, text)).value();
}

TEST(SearchVectorJson, NumbersBecomeTheNearestFloats) {
  SearchVector read = ReadVector(
      R"([{"N":"0.1"},{"N":"-16777217"},{"N":"1e-5"},{"N":"+2.5E0"},{"N":"0.1000000014901161193847656251"},
          {"N":"340282346638528859811704183484516925440"},{"N":"1e-120"},{"S":null,"N":".5"}])");
  ASSERT_TRUE(read.sound());
  EXPECT_EQ(read.values(), (std::vector<float>{0.1F, -16777216.0F, 1e-5F, 2.5F, 0.1F,
                                               std::numeric_limits<float>::max(), 0.0F, 0.5F}));
}

// Half way between two floats the digits beyond a double's decide: rounding twice would get this wrong.
TEST(SearchVectorJson, RoundingHappensOnce) {
  EXPECT_EQ(ReadVector(R"([{"N":"1.000000059604644775390625"}])").values()[0], 1.0F);
  EXPECT_EQ(ReadVector(R"([{"N":"1.00000005960464477539062501"}])").values()[0], std::nextafter(1.0F, 2.0F));
}

TEST(SearchVectorJson, AnythingElseMakesItUnsound) {
  for (std::string_view element : {R"({"N":"1e39"})",
                                   R"({"N":"nan"})",
                                   R"({"N":"inf"})",
                                   R"({"N":"-Infinity"})",
                                   R"({"N":"0x1"})",
                                   R"({"N":""})",
                                   R"({"N":"-"})",
                                   R"({"N":" 1"})",
                                   R"({"N":1})",
                                   R"({"S":"1"})",
                                   R"({"N":"1","S":"1"})",
                                   R"({"L":[{"N":"1"}]})",
                                   R"({})",
                                   R"({"N":null})",
                                   "null",
                                   "1",
                                   R"("1")",
                                   "[]",
                                   R"({"N":"1e126"})",
                                   R"({"N":"123456789012345678901234567890123456789"})"}) {
    SearchVector read = ReadVector("[{\"N\":\"1\"}," + std::string(element) + "]");
    EXPECT_FALSE(read.sound()) << element;
    EXPECT_EQ(read.size(), 2U) << "its length is checked all the same";
  }
}

}  // namespace
}  // namespace holdfast::json
