#include "json/struct_reader.h"

#include <gtest/gtest.h>

#include "holdfast/ops/batch_get_item.h"
#include "holdfast/ops/create_table.h"
#include "holdfast/ops/put_item.h"
#include "holdfast/ops/query.h"
#include "holdfast/ops/search_vectors.h"
#include "holdfast/ops/transact_get_items.h"

namespace holdfast::json {
namespace {

template <class T>
Result<T> Read(std::string_view text, Violations* violations) {
  simdjson::dom::parser parser;
  Element element;
  EXPECT_EQ(parser.parse(text.data(), text.size()).get(element), simdjson::SUCCESS) << text;
  return ReadStruct<T>(element, violations);
}

template <class T>
std::string ErrorOf(std::string_view text) {
  Violations violations;
  Result<T> read = Read<T>(text, &violations);
  return read ? "none" : read.error().message();
}

TEST(StructReader, FieldsAreReadByTheirWireNames) {
  Violations violations;
  auto request = Read<QueryRequest>(
      R"({"TableName":"t","Limit":5,"ScanIndexForward":false,"Select":"COUNT",
          "ExpressionAttributeNames":{"#a":"b"},"ExpressionAttributeValues":{":v":{"N":"1"}}})",
      &violations);
  ASSERT_TRUE(request.has_value());
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(request->table_name, "t");
  EXPECT_EQ(request->limit, 5);
  EXPECT_EQ(request->scan_index_forward, false);
  EXPECT_EQ(request->select, Select::kCount);
  EXPECT_EQ(request->expression_attribute_names->at("#a"), "b");
  EXPECT_EQ(request->expression_attribute_values->Get(":v")->AsInt64(), 1);
  EXPECT_FALSE(request->index_name.has_value());
}

// AWS's clients may send members of a newer API, and null for what is not set.
TEST(StructReader, UnknownMembersAndNullsAreIgnored) {
  Violations violations;
  auto request = Read<QueryRequest>(R"({"TableName":"t","Limit":null,"New":{"x":[1]}})", &violations);
  ASSERT_TRUE(request.has_value());
  EXPECT_TRUE(violations.empty());
  EXPECT_FALSE(request->limit.has_value());
}

TEST(StructReader, WhatIsMissingOrNoEnumIsNotedInOrder) {
  Violations violations;
  auto request = Read<PutItemRequest>(R"({"ReturnValues":"SOME"})", &violations);
  ASSERT_TRUE(request.has_value()) << "a violation is no error of shape";
  std::string texts;
  for (const Violation& violation : violations.list) texts += violation.text + "\n";
  EXPECT_EQ(
      texts,
      "Value 'SOME' at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set: "
      "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]\n"
      "Value null at 'tableName' failed to satisfy constraint: Member must not be null\n"
      "Value null at 'item' failed to satisfy constraint: Member must not be null\n");
}

TEST(StructReader, JsonOfTheWrongTypeIsASerializationError) {
  EXPECT_EQ(ErrorOf<QueryRequest>(R"([])"), "");
  EXPECT_EQ(ErrorOf<QueryRequest>(R"({"TableName":1})"), "NUMBER_VALUE cannot be converted to String");
  EXPECT_EQ(ErrorOf<QueryRequest>(R"({"TableName":["t"]})"),
            "Unrecognized collection type class java.lang.String");
  EXPECT_EQ(ErrorOf<QueryRequest>(R"({"TableName":{}})"),
            "Start of structure or map found where not expected");
  EXPECT_EQ(ErrorOf<QueryRequest>(R"({"Limit":"5"})"), "STRING_VALUE cannot be converted to Integer");
  EXPECT_EQ(ErrorOf<QueryRequest>(R"({"ConsistentRead":5})"), "NUMBER_VALUE cannot be converted to Boolean");
  EXPECT_EQ(ErrorOf<QueryRequest>(R"({"ExpressionAttributeNames":["#a"]})"),
            "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>");
  EXPECT_EQ(ErrorOf<QueryRequest>(R"({"ExpressionAttributeNames":"#a"})"), "Unexpected field type");
  EXPECT_EQ(ErrorOf<CreateTableRequest>(R"({"KeySchema":{}})"),
            "Start of structure or map found where not expected");
  EXPECT_EQ(ErrorOf<CreateTableRequest>(R"({"KeySchema":[[]]})"),
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.KeySchemaElement");
}

TEST(StructReader, FractionsOfIntegersAreCutAndHugeOnesRefused) {
  Violations violations;
  EXPECT_EQ(Read<QueryRequest>(R"({"TableName":"t","Limit":5.9})", &violations)->limit, 5);
  EXPECT_EQ(ErrorOf<QueryRequest>(R"({"Limit":1e30})"), "DECIMAL_VALUE cannot be converted to Integer");
  EXPECT_EQ(ErrorOf<QueryRequest>(R"({"Limit":18446744073709551615})"),
            "NUMBER_VALUE cannot be converted to Integer");
}

// Of equal names the last wins, for collections as for anything else: two must not become one long one.
TEST(StructReader, OfEqualNamesTheLastWins) {
  Violations violations;
  auto table = Read<CreateTableRequest>(
      R"({"TableName":"a","KeySchema":[{"AttributeName":"x","KeyType":"HASH"}],"TableName":"b",
          "KeySchema":[{"AttributeName":"y","KeyType":"HASH"}]})",
      &violations);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->table_name, "b");
  ASSERT_EQ(table->key_schema.size(), 1u);
  EXPECT_EQ(table->key_schema[0].attribute_name, "y");
  auto batch = Read<BatchGetItemRequest>(
      R"({"RequestItems":{"a":{"Keys":[]}},"RequestItems":{"b":{"Keys":[]}}})", &violations);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->request_items.size(), 1u);
  EXPECT_TRUE(batch->request_items.contains("b"));
}

// A request has a fault in every third byte if it likes: what is kept for the report is what can be reported.
TEST(StructReader, OfManyFaultsTheFirstTenAreKept) {
  std::string definitions;
  for (int i = 0; i < 8000; ++i) definitions += i == 0 ? "{}" : ",{}";
  Violations violations;
  ASSERT_TRUE(Read<CreateTableRequest>(
      R"({"TableName":"t","KeySchema":[],"AttributeDefinitions":[)" + definitions + "]}", &violations));
  ASSERT_EQ(violations.list.size(), 10u);
  EXPECT_EQ(
      violations.list[0].text,
      "Value null at 'attributeDefinitions.1.member.attributeName' failed to satisfy constraint: Member must "
      "not be null");
  EXPECT_EQ(
      violations.list[9].text,
      "Value null at 'attributeDefinitions.5.member.attributeType' failed to satisfy constraint: Member must "
      "not be null");
  EXPECT_EQ(violations.missing.size(), 16000u) << "places, for the checks that come";
}

// The order of the report is that of the API's fields, whatever the order of the JSON's: none of the ten may
// be lost.
TEST(StructReader, TheFirstFaultsAreThoseOfTheFirstFields) {
  std::string definitions;
  for (int i = 0; i < 50; ++i) definitions += i == 0 ? "{}" : ",{}";
  Violations violations;
  ASSERT_TRUE(Read<CreateTableRequest>(
      R"({"BillingMode":"X","KeySchema":[{}],"AttributeDefinitions":[)" + definitions + "]}", &violations));
  std::string texts;
  for (const Violation& violation : violations.list) texts += violation.text + "\n";
  EXPECT_EQ(violations.list.size(), 11u) << "ten, and the one that is reported alone";
  EXPECT_NE(texts.find("'attributeDefinitions.1.member"), std::string::npos) << texts;
  EXPECT_NE(texts.find("The parameter 'TableName' is required"), std::string::npos) << texts;
}

// Of a list that is too long by its rule one element more is read than the rule allows: its length is
// refused.
TEST(StructReader, ListsAndMapsAreReadAsFarAsTheirRulesAllow) {
  auto repeat = [](const std::string& what, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + what;
    return text;
  };
  Violations violations;
  auto gets = Read<TransactGetItemsRequest>(R"({"TransactItems":[)" + repeat(R"({"Get":{}})", 100000) + "]}",
                                            &violations);
  ASSERT_TRUE(gets.has_value());
  EXPECT_EQ(gets->transact_items.size(), 101u);
  EXPECT_EQ(violations.missing.size(), 202u);
  std::string tables;
  for (int i = 0; i < 60000; ++i)
    tables.append(i == 0 ? "\"t" : ",\"t").append(std::to_string(i)).append("\":{}");
  auto batch = Read<BatchGetItemRequest>(R"({"RequestItems":{)" + tables + "}}", &violations);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->request_items.size(), 101u);
}

// Lists without a rule of their own have one together.
TEST(StructReader, ARequestHasABoundedNumberOfElements) {
  auto definitions = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += i == 0 ? "{}" : ",{}";
    return R"({"TableName":"t","AttributeDefinitions":[)" + text + "]}";
  };
  EXPECT_EQ(ErrorOf<CreateTableRequest>(definitions(32768)), "none");
  EXPECT_EQ(ErrorOf<CreateTableRequest>(definitions(32769)),
            "The lists and maps of a request may have 32768 elements at most");
  EXPECT_EQ(ErrorOf<CreateTableRequest>(definitions(5'000'000)),
            "The lists and maps of a request may have 32768 elements at most");
  // Items are as many as their bytes: an answer has tens of thousands.
  std::string items;
  for (int i = 0; i < 50000; ++i) items += i == 0 ? "{}" : ",{}";
  EXPECT_EQ(ErrorOf<QueryResponse>(R"({"Items":[)" + items + "]}"), "none");
}

// Responses have kinds of values that no request has.
TEST(StructReader, ResponsesAreRead) {
  Violations violations;
  auto found = Read<SearchVectorsResponse>(
      R"({"SearchResults":[{"Item":{"p":{"S":"x"}},"Score":0.25},{"Item":{},"Score":2}],
          "ConsumedCapacity":{"VectorSearchRequestBytes":12.5}})",
      &violations);
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->search_results.size(), 2U);
  EXPECT_EQ(found->search_results[0].item.Get("p"), "x");
  EXPECT_EQ(found->search_results[0].score, 0.25F);
  EXPECT_EQ(found->search_results[1].score, 2.0F);
  EXPECT_EQ(found->consumed_capacity->vector_search_request_bytes, 12.5);
  auto table = Read<TableDescription>(R"({"CreationDateTime":1.794778283005E9,"TableStatus":"CREATING"})",
                                      &violations);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->creation_date_time->millis, 1794778283005);
  EXPECT_EQ(table->table_status, TableStatus::kCreating);
  EXPECT_EQ(ErrorOf<SearchResult>(R"({"Score":"high"})"), "STRING_VALUE cannot be converted to Double");
}

}  // namespace
}  // namespace holdfast::json
