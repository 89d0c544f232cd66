// What requests come to, as data: who asks for what, and whether the policies let them.
#include "store/access.h"

#include <gtest/gtest.h>

#include "auth/permissions.h"
#include "json/struct_reader.h"
#include "store/embedded_store.h"
#include "store/guarded_store.h"

namespace holdfast::store {
namespace {

constexpr std::string_view kFile = R"({
  "policies": {
    "write-log": {"Statement": {"Effect": "Allow", "Action": "dynamodb:PutItem",
                                "Resource": "arn:aws:dynamodb:*:*:table/Log"}},
    "own-games": {"Version": "2012-10-17", "Statement": {
      "Effect": "Allow", "Action": "dynamodb:*", "Resource": ["arn:aws:dynamodb:*:*:table/Games*", "arn:aws:dynamodb:*:*:table/Gone"],
      "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${aws:username}"},
                    "Null": {"dynamodb:LeadingKeys": "false"}}}},
    "by-score": {"Statement": {"Effect": "Allow", "Action": ["dynamodb:Query", "dynamodb:Scan", "dynamodb:SearchVectors"],
                               "Resource": "arn:aws:dynamodb:*:*:table/Games/index/*"}},
    "columns": {"Statement": {
      "Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:*:*:table/Games*",
      "Condition": {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["user", "game", "score"]},
                    "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES",
                                             "dynamodb:ReturnValues": ["NONE", "UPDATED_OLD", "UPDATED_NEW"]}}}},
    "read-games": {"Statement": {"Effect": "Allow",
      "Action": ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:Scan", "dynamodb:Describe*"],
      "Resource": "arn:aws:dynamodb:*:*:table/Games"}},
    "number-7": {"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*",
      "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "7"}}}},
    "blind-log": {"Statement": {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "arn:aws:dynamodb:*:*:table/Log",
      "Condition": {"StringEqualsIfExists": {"dynamodb:ReturnValues": "NONE"}}}},
    "keys-only": {"Statement": {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*",
      "Condition": {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["user", "score"]}}}},
    "no-keyless": {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"},
      {"Effect": "Deny", "Action": "*", "Resource": "*", "Condition": {"Null": {"dynamodb:LeadingKeys": "true"}}}]},
    "restore": {"Statement": [{"Effect": "Allow", "Action": ["dynamodb:Restore*", "dynamodb:BatchWriteItem", "dynamodb:PutItem",
      "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:Query"], "Resource": "*"},
      {"Effect": "Allow", "Action": "dynamodb:Scan", "Resource": "arn:aws:dynamodb:*:*:table/Copy"}]}
  },
  "principals": {
    "worker": {"policies": ["write-log"]},
    "ann": {"policies": ["own-games"]},
    "scores": {"policies": ["by-score"]},
    "columns": {"policies": ["columns"]},
    "reader": {"policies": ["read-games"]},
    "both": {"policies": ["read-games", "write-log"]},
    "seven": {"policies": ["number-7"]},
    "blind": {"policies": ["blind-log"]},
    "keys": {"policies": ["keys-only"]},
    "keyed": {"policies": ["no-keyless"]},
    "restorer": {"policies": ["restore"]},
    "every": {"policies": [{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}]}
  }
})";

struct Case {
  const char* who;
  const char* operation;
  const char* body;
  bool allowed;
};

const Case kCases[] = {
    // TRIP-R-17: the worker adds to the log, and that is all.
    {"worker", "PutItem", R"j({"TableName":"Log","Item":{"id":{"S":"1"}}})j", true},
    {"worker", "PutItem", R"j({"TableName":"arn:aws:dynamodb:us-east-1:123456789012:table/Log","Item":{}})j",
     true},
    {"worker", "PutItem", R"j({"TableName":"Games","Item":{"user":{"S":"ann"}}})j", false},
    {"worker", "GetItem", R"j({"TableName":"Log","Key":{"id":{"S":"1"}}})j", false},
    {"worker", "UpdateItem", R"j({"TableName":"Log","Key":{"id":{"S":"1"}}})j", false},
    {"worker", "DeleteItem", R"j({"TableName":"Log","Key":{"id":{"S":"1"}}})j", false},
    {"worker", "Query", R"j({"TableName":"Log","KeyConditionExpression":"id = :i"})j", false},
    {"worker", "Scan", R"j({"TableName":"Log"})j", false},
    {"worker", "BatchWriteItem", R"j({"RequestItems":{"Log":[{"PutRequest":{"Item":{"id":{"S":"1"}}}}]}})j",
     false},
    {"worker", "DescribeTable", R"j({"TableName":"Log"})j", false},
    {"worker", "DeleteTable", R"j({"TableName":"Log"})j", false},
    {"worker", "ListTables", "{}", false},
    {"worker", "DescribeLimits", "{}", false},
    {"worker", "DescribeEndpoints", "{}", false},
    {"worker", "TagResource",
     R"j({"ResourceArn":"arn:aws:dynamodb:us-east-1:123456789012:table/Log","Tags":[]})j", false},
    // transactions: each action under its own name
    {"worker", "TransactWriteItems",
     R"j({"TransactItems":[{"Put":{"TableName":"Log","Item":{"id":{"S":"1"}}}}]})j", true},
    {"worker", "TransactWriteItems",
     R"j({"TransactItems":[{"Put":{"TableName":"Log","Item":{"id":{"S":"1"}}}},
        {"ConditionCheck":{"TableName":"Games","Key":{"user":{"S":"a"}},"ConditionExpression":"attribute_exists(#u)"}}]
})j",
     false},
    {"worker", "TransactWriteItems",
     R"j({"TransactItems":[{"Update":{"TableName":"Log","Key":{"id":{"S":"1"}},"UpdateExpression":"SET a = :a"}}]})j",
     false},
    {"worker", "TransactWriteItems",
     R"j({"TransactItems":[{"Delete":{"TableName":"Log","Key":{"id":{"S":"1"}}}}]})j", false},
    {"reader", "TransactGetItems",
     R"j({"TransactItems":[{"Get":{"TableName":"Games","Key":{"user":{"S":"a"}}}}]})j", true},
    {"reader", "TransactGetItems",
     R"j({"TransactItems":[{"Get":{"TableName":"Games","Key":{"user":{"S":"a"}}}},
        {"Get":{"TableName":"Log","Key":{"id":{"S":"1"}}}}]})j",
     false},
    // batches: one denied table denies all
    {"reader", "BatchGetItem", R"j({"RequestItems":{"Games":{"Keys":[{"user":{"S":"a"}}]}}})j", true},
    {"reader", "BatchGetItem",
     R"j({"RequestItems":{"Games":{"Keys":[{"user":{"S":"a"}}]},"Log":{"Keys":[{"id":{"S":"1"}}]}}})j",
     false},
    {"both", "BatchGetItem", R"j({"RequestItems":{"Log":{"Keys":[{"id":{"S":"1"}}]}}})j", false},
    // tables and their indexes
    {"reader", "Query", R"j({"TableName":"Games","KeyConditionExpression":"#u = :u"})j", true},
    {"reader", "Query",
     R"j({"TableName":"Games","IndexName":"byGame","KeyConditionExpression":"game = :u"})j", false},
    {"scores", "Query",
     R"j({"TableName":"Games","IndexName":"byGame","KeyConditionExpression":"game = :u"})j", true},
    {"scores", "Scan", R"j({"TableName":"Games","IndexName":"byGame"})j", true},
    {"scores", "Scan", R"j({"TableName":"Games"})j", false},
    {"scores", "SearchVectors", R"j({"TableName":"Games","IndexName":"near","SearchVector":[1],"TopK":1})j",
     true},
    {"columns", "SearchVectors", R"j({"TableName":"Games","IndexName":"near","SearchVector":[1],"TopK":1})j",
     false},
    {"reader", "DescribeTable", R"j({"TableName":"Games"})j", true},
    {"reader", "DescribeTimeToLive", R"j({"TableName":"Games"})j", true},
    {"reader", "UpdateTable", R"j({"TableName":"Games"})j", false},
    {"reader", "CreateTable", R"j({"TableName":"Games2"})j", false},
    // leading keys
    {"ann", "GetItem", R"j({"TableName":"Games","Key":{"user":{"S":"ann"},"game":{"S":"chess"}}})j", true},
    {"ann", "GetItem", R"j({"TableName":"Games","Key":{"user":{"S":"bob"},"game":{"S":"ann"}}})j", false},
    {"ann", "PutItem", R"j({"TableName":"Games","Item":{"user":{"S":"ann"},"game":{"S":"go"}}})j", true},
    {"ann", "PutItem", R"j({"TableName":"Games","Item":{"user":{"S":"bob"},"game":{"S":"go"}}})j", false},
    {"ann", "PutItem", R"j({"TableName":"Games","Item":{"game":{"S":"go"}}})j", false},
    {"ann", "DeleteItem", R"j({"TableName":"Games","Key":{"user":{"S":"bob"}}})j", false},
    {"ann", "UpdateItem",
     R"j({"TableName":"Games","Key":{"user":{"S":"ann"}},"UpdateExpression":"SET a = :a"})j", true},
    {"ann", "Scan", R"j({"TableName":"Games"})j", false},
    {"ann", "Query",
     R"j({"TableName":"Games","KeyConditionExpression":"#u = :u AND begins_with(game, :g)","ExpressionAttributeNames":{"#u":"user"},
        "ExpressionAttributeValues":{":u":{"S":"ann"},":g":{"S":"c"}}})j",
     true},
    {"ann", "Query",
     R"j({"TableName":"Games","KeyConditionExpression":"#u = :u","ExpressionAttributeNames":{"#u":"user"},
        "ExpressionAttributeValues":{":u":{"S":"bob"}}})j",
     false},
    {"ann", "Query",
     R"j({"TableName":"Games","KeyConditionExpression":"#u = :u AND","ExpressionAttributeValues":{":u":{"S":"ann"}}})j",
     false},
    {"ann", "Query",
     R"j({"TableName":"Games","KeyConditions":{"user":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"ann"}]}}})j",
     true},
    {"ann", "Query",
     R"j({"TableName":"Games","KeyConditions":{"user":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"bob"}]}}})j",
     false},
    {"ann", "Query",
     R"j({"TableName":"Games","KeyConditions":{"user":{"ComparisonOperator":"GE","AttributeValueList":[{"S":"ann"}]}}})j",
     false},
    {"ann", "Query",
     R"j({"TableName":"Games","IndexName":"byGame","KeyConditionExpression":"game = :u","ExpressionAttributeValues":{":u":{"S":"ann"}}})j",
     true},
    {"ann", "Query",
     R"j({"TableName":"Games","IndexName":"byGame","KeyConditionExpression":"game = :u","ExpressionAttributeValues":{":u":{"S":"chess"}}})j",
     false},
    {"ann", "BatchGetItem",
     R"j({"RequestItems":{"Games":{"Keys":[{"user":{"S":"ann"}},{"user":{"S":"bob"}}]}}})j", false},
    {"ann", "BatchWriteItem",
     R"j({"RequestItems":{"Games":[{"PutRequest":{"Item":{"user":{"S":"ann"}}}},{"DeleteRequest":{"Key":{"user":{"S":"ann"}}}}]}})j",
     true},
    {"ann", "BatchWriteItem",
     R"j({"RequestItems":{"Games":[{"PutRequest":{"Item":{"user":{"S":"ann"}}}},{"DeleteRequest":{"Key":{"user":{"S":"bob"}}}}]}})j",
     false},
    {"ann", "TransactWriteItems",
     R"j({"TransactItems":[{"Put":{"TableName":"Games","Item":{"user":{"S":"ann"}}}},
        {"Delete":{"TableName":"Games","Key":{"user":{"S":"bob"}}}}]})j",
     false},
    {"ann", "DescribeTable", R"j({"TableName":"Games"})j", false},
    {"seven", "GetItem", R"j({"TableName":"Numbers","Key":{"id":{"N":"7.0"}}})j", true},
    {"seven", "GetItem", R"j({"TableName":"Numbers","Key":{"id":{"N":"70"}}})j", false},
    // A table that is not there has every key: it cannot be told from one whose key is another's.
    {"ann", "GetItem", R"j({"TableName":"Gone","Key":{"user":{"S":"ann"}}})j", false},
    {"ann", "GetItem", R"j({"TableName":"Gone","Key":{"user":{"S":"bob"}}})j", false},
    // attributes
    {"columns", "GetItem",
     R"j({"TableName":"Games","Key":{"user":{"S":"a"}},"ProjectionExpression":"score"})j", true},
    {"columns", "GetItem",
     R"j({"TableName":"Games","Key":{"user":{"S":"a"}},"ProjectionExpression":"score, salary"})j", false},
    {"columns", "GetItem",
     R"j({"TableName":"Games","Key":{"user":{"S":"a"}},"ProjectionExpression":"#s","ExpressionAttributeNames":{"#s":"salary"}})j",
     false},
    {"columns", "GetItem",
     R"j({"TableName":"Games","Key":{"user":{"S":"a"}},"ProjectionExpression":"score.salary[0].#s","ExpressionAttributeNames":{"#s":"x"}})j",
     true},
    {"columns", "GetItem", R"j({"TableName":"Games","Key":{"user":{"S":"a"}}})j", false},
    {"columns", "GetItem", R"j({"TableName":"Games","Key":{"user":{"S":"a"}},"AttributesToGet":["score"]})j",
     true},
    {"columns", "GetItem", R"j({"TableName":"Games","Key":{"user":{"S":"a"}},"AttributesToGet":["salary"]})j",
     false},
    {"columns", "PutItem", R"j({"TableName":"Games","Item":{"user":{"S":"a"},"score":{"N":"1"}}})j", true},
    {"columns", "PutItem", R"j({"TableName":"Games","Item":{"user":{"S":"a"},"salary":{"N":"1"}}})j", false},
    {"columns", "PutItem",
     R"j({"TableName":"Games","Item":{"user":{"S":"a"}},"ConditionExpression":"salary > :s"})j", false},
    {"columns", "PutItem", R"j({"TableName":"Games","Item":{"user":{"S":"a"}},"ReturnValues":"ALL_OLD"})j",
     false},
    {"columns", "PutItem",
     R"j({"TableName":"Games","Item":{"user":{"S":"a"}},"Expected":{"salary":{"Exists":false}}})j", false},
    {"columns", "PutItem",
     R"j({"TableName":"Games","Item":{"user":{"S":"a"}},"ConditionExpression":"score = :s",
        "ReturnValuesOnConditionCheckFailure":"ALL_OLD"})j",
     false},
    {"columns", "UpdateItem",
     R"j({"TableName":"Games","Key":{"user":{"S":"a"}},"UpdateExpression":"SET score = :s","ReturnValues":"UPDATED_NEW"})j",
     true},
    {"columns", "UpdateItem",
     R"j({"TableName":"Games","Key":{"user":{"S":"a"}},"UpdateExpression":"SET score = salary"})j", false},
    {"columns", "UpdateItem",
     R"j({"TableName":"Games","Key":{"user":{"S":"a"}},"AttributeUpdates":{"salary":{"Action":"DELETE"}}})j",
     false},
    {"columns", "UpdateItem",
     R"j({"TableName":"Games","Key":{"user":{"S":"a"}},"UpdateExpression":"SET score = :s","ReturnValues":"ALL_NEW"})j",
     false},
    {"columns", "Query",
     R"j({"TableName":"Games","KeyConditionExpression":"#u = :u","ExpressionAttributeNames":{"#u":"user"},"ProjectionExpression":"game"})j",
     true},
    {"columns", "Query",
     R"j({"TableName":"Games","KeyConditionExpression":"#u = :u","ExpressionAttributeNames":{"#u":"user"},
        "ProjectionExpression":"game","FilterExpression":"salary > :s"})j",
     false},
    {"columns", "Query",
     R"j({"TableName":"Games","KeyConditionExpression":"#u = :u","ExpressionAttributeNames":{"#u":"user"}})j",
     false},
    {"columns", "Scan",
     R"j({"TableName":"Games","ScanFilter":{"salary":{"ComparisonOperator":"NOT_NULL"}},"AttributesToGet":["user"]})j",
     false},
    {"columns", "Scan", R"j({"TableName":"Games","Select":"COUNT"})j", false},
    {"columns", "Scan",
     R"j({"TableName":"Games","ProjectionExpression":"score","Select":"SPECIFIC_ATTRIBUTES"})j", true},
    {"columns", "BatchGetItem",
     R"j({"RequestItems":{"Games":{"Keys":[{"user":{"S":"a"}}],"ProjectionExpression":"salary"}}})j", false},
    // Where a page ends is told by the keys of the table and the index: `game` is not for this one.
    {"keys", "GetItem", R"j({"TableName":"Games","Key":{"user":{"S":"a"}},"ProjectionExpression":"score"})j",
     true},
    {"keys", "Scan", R"j({"TableName":"Games","ProjectionExpression":"score"})j", false},
    {"keys", "Scan", R"j({"TableName":"Games","Select":"COUNT"})j", false},
    {"keys", "Scan", R"j({"TableName":"Log","ProjectionExpression":"score"})j", false},
    {"columns", "Query",
     R"j({"TableName":"Games","IndexName":"byGame","KeyConditionExpression":"game = :g","ProjectionExpression":"score"})j",
     true},
    {"columns", "Query",
     R"j({"TableName":"Games","IndexName":"byGame","KeyConditionExpression":"game = :g","ProjectionExpression":"score",
        "ExclusiveStartKey":{"user":{"S":"a"},"game":{"S":"b"},"salary":{"N":"8999"}}})j",
     false},
    {"columns", "Query",
     R"j({"TableName":"Games","IndexName":"bySalary","KeyConditionExpression":"game = :g","ProjectionExpression":"score"})j",
     false},
    {"columns", "Scan", R"j({"TableName":"GamesGone","ProjectionExpression":"score"})j", false},
    // A condition that fails returns the old item as ReturnValues would.
    {"blind", "PutItem", R"j({"TableName":"Log","Item":{"id":{"S":"1"}}})j", true},
    {"blind", "PutItem", R"j({"TableName":"Log","Item":{"id":{"S":"1"}},"ReturnValues":"ALL_OLD"})j", false},
    {"blind", "PutItem",
     R"j({"TableName":"Log","Item":{"id":{"S":"1"}},"ConditionExpression":"attribute_not_exists(id)",
        "ReturnValuesOnConditionCheckFailure":"ALL_OLD"})j",
     false},
    {"blind", "PutItem",
     R"j({"TableName":"Log","Item":{"id":{"S":"1"}},"ConditionExpression":"attribute_not_exists(id)","ReturnValues":"NONE",
        "ReturnValuesOnConditionCheckFailure":"ALL_OLD"})j",
     false},
    {"blind", "TransactWriteItems",
     R"j({"TransactItems":[{"Put":{"TableName":"Log","Item":{"id":{"S":"1"}},"ConditionExpression":"attribute_not_exists(id)",
        "ReturnValuesOnConditionCheckFailure":"ALL_OLD"}}]})j",
     false},
    {"blind", "TransactWriteItems",
     R"j({"TransactItems":[{"Put":{"TableName":"Log","Item":{"id":{"S":"1"}}}}]})j", true},
    // Searches tell of no key.
    {"every", "SearchVectors", R"j({"TableName":"Games","IndexName":"near","SearchVector":[1],"TopK":1})j",
     true},
    {"keyed", "SearchVectors", R"j({"TableName":"Games","IndexName":"near","SearchVector":[1],"TopK":1})j",
     false},
    // A restore fills its target.
    {"restorer", "RestoreTableFromBackup",
     R"j({"BackupArn":"arn:aws:dynamodb:us-east-1:123456789012:table/Log/backup/01","TargetTableName":"Copy"})j",
     true},
    {"restorer", "RestoreTableFromBackup",
     R"j({"BackupArn":"arn:aws:dynamodb:us-east-1:123456789012:table/Log/backup/01","TargetTableName":"Other"})j",
     false},
    {"restorer", "RestoreTableToPointInTime", R"j({"SourceTableName":"Log","TargetTableName":"Copy"})j",
     true},
    {"restorer", "RestoreTableToPointInTime", R"j({"SourceTableName":"Log","TargetTableName":"Other"})j",
     false},
    // tables of another account or region
    {"every", "GetItem",
     R"j({"TableName":"arn:aws:dynamodb:us-east-1:123456789012:table/Log","Key":{"id":{"S":"1"}}})j", true},
    {"every", "GetItem",
     R"j({"TableName":"arn:aws:dynamodb:us-east-1:999999999999:table/Log","Key":{"id":{"S":"1"}}})j", false},
    {"every", "DescribeTable", R"j({"TableName":"arn:aws:dynamodb:eu-west-1:123456789012:table/Log"})j",
     false},
};

Item Text(const char* attribute, const char* text) {
  return {{attribute, text}};
}

class AccessTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = engine::Engine::Open({});
    ASSERT_TRUE(opened);
    engine_ = *std::move(opened);
    keys_ = KeysOf(engine_.get());
    auto permissions = auth::Permissions::Parse(kFile, "keys.json", {});
    ASSERT_TRUE(permissions) << permissions.error().ToString();
    permissions_ = *std::move(permissions);
    Make(R"({"TableName":"Games","BillingMode":"PAY_PER_REQUEST",
             "AttributeDefinitions":[{"AttributeName":"user","AttributeType":"S"},{"AttributeName":"game","AttributeType":"S"},
                                     {"AttributeName":"salary","AttributeType":"N"}],
             "KeySchema":[{"AttributeName":"user","KeyType":"HASH"},{"AttributeName":"game","KeyType":"RANGE"}],
             "GlobalSecondaryIndexes":[{"IndexName":"byGame","KeySchema":[{"AttributeName":"game","KeyType":"HASH"}],
                                        "Projection":{"ProjectionType":"ALL"}},
                                       {"IndexName":"bySalary","KeySchema":[{"AttributeName":"game","KeyType":"HASH"},
                                                                            {"AttributeName":"salary","KeyType":"RANGE"}],
                                        "Projection":{"ProjectionType":"ALL"}}]})");
    Make(
        R"({"TableName":"Numbers","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"N"}],
             "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]})");
    Make(
        R"({"TableName":"Log","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
             "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]})");
  }

  void Make(std::string_view json) {
    CreateTableRequest request;
    ASSERT_NO_FATAL_FAILURE(Read(json, &request));
    auto created = ops::Run(engine_.get(), request);
    ASSERT_TRUE(created) << created.error().ToString();
  }

  template <class Request>
  static void Read(std::string_view json, Request* request) {
    simdjson::dom::parser parser;
    simdjson::dom::element element;
    ASSERT_EQ(parser.parse(json.data(), json.size()).get(element), simdjson::SUCCESS) << json;
    Violations violations;
    auto read = json::ReadStruct<Request>(element, &violations);
    ASSERT_TRUE(read) << json;
    *request = *std::move(read);
  }

  template <class Request>
  Status Ask(const auth::Principal& who, std::string_view json) {
    Request request;
    Read(json, &request);
    return CheckAccess({who, keys_}, request);
  }
  Status Ask(const Case& one) {
    const auth::Principal* who = permissions_->Named(one.who);
    std::string_view operation = one.operation;
#define HF_OPERATION(name, ...) \
  if (operation == #name) return Ask<name##Request>(*who, one.body);
#include "ops/operations.inc"
#undef HF_OPERATION
    return Error(ErrorCode::kUnknownOperation, "");
  }

  std::unique_ptr<engine::Engine> engine_;
  TableKeys keys_;
  std::unique_ptr<auth::Permissions> permissions_;
};

TEST_F(AccessTest, DB_T_20_RequestsComeToWhatTheCasesSay) {
  for (const Case& one : kCases) {
    Status allowed = Ask(one);
    EXPECT_EQ(allowed.has_value(), one.allowed) << one.who << " " << one.operation << " " << one.body;
    EXPECT_TRUE(allowed || allowed.error().code() == ErrorCode::kAccessDenied) << one.body;
  }
}

// Every operation is denied to one who is given nothing: none is forgotten.
TEST_F(AccessTest, NoOperationIsOpenToOneWithoutPolicies) {
  auth::Principal nobody({.name = "nobody", .arn = "arn:aws:iam::123456789012:user/nobody"}, {}, nullptr);
  TransactWriteItemsRequest writes;
  writes.transact_items.emplace_back().put = TransactPut{.table_name = "T"};
  TransactGetItemsRequest reads;
  reads.transact_items.emplace_back().get.table_name = "T";
  BatchGetItemRequest gets;
  gets.request_items["T"];
  BatchWriteItemRequest puts;
  puts.request_items["T"];
  EXPECT_FALSE(CheckAccess({nobody, keys_}, writes));
  EXPECT_FALSE(CheckAccess({nobody, keys_}, reads));
  EXPECT_FALSE(CheckAccess({nobody, keys_}, gets));
  EXPECT_FALSE(CheckAccess({nobody, keys_}, puts));
  constexpr std::string_view kOfMany[] = {"TransactWriteItems", "TransactGetItems", "BatchGetItem",
                                          "BatchWriteItem"};
#define HF_OPERATION(name, ...)                                                        \
  if (std::find(std::begin(kOfMany), std::end(kOfMany), #name) == std::end(kOfMany)) { \
    EXPECT_FALSE(CheckAccess({nobody, keys_}, name##Request{})) << #name;              \
  }
#include "ops/operations.inc"
#undef HF_OPERATION
}

TEST_F(AccessTest, AGuardedStoreHoldsWhomItActsFor) {
  auto store = EmbeddedStore(engine_.get());
  auto guarded = GuardedStore(store.get(), keys_, "Numbers");
  PutItemRequest log{.table_name = "Log", .item = Text("id", "1")};
  GetItemRequest get{.table_name = "Log", .key = Text("id", "1")};
  {
    ActingFor acting(permissions_->Named("worker"));
    EXPECT_TRUE(guarded->Run(log));
    auto refused = guarded->Run(get);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kAccessDenied);
    EXPECT_FALSE(guarded->Run(PutItemRequest{.table_name = "Games", .item = {{"user", "a"}, {"game", "b"}}}));
    EXPECT_TRUE(guarded->Run(PutItemRequest{.table_name = "Numbers", .item = {{"id", 1}}}))
        << "the program's own";
    EXPECT_FALSE(guarded->Watch("Log", std::nullopt));
    // A rule of a model beside it is not the worker's doing; a check that the worker asks for is.
    TransactWriteItemsRequest both;
    both.transact_items.emplace_back().put = TransactPut{.table_name = "Log", .item = Text("id", "2")};
    TransactConditionCheck check{.table_name = "Games", .key = {{"user", "a"}, {"game", "b"}}};
    check.condition_expression = "attribute_not_exists(game)";
    both.transact_items.emplace_back().condition_check = check;
    EXPECT_FALSE(guarded->Run(both));
    // There is no such game, nor is there one after: what a model finds out the worker does not learn.
    both.transact_items[1].condition_check->of_model = true;
    both.transact_items[1].condition_check->condition_expression = "attribute_exists(game)";
    EXPECT_TRUE(guarded->Run(both));
    std::swap(both.transact_items[0], both.transact_items[1]);
    both.transact_items[1].put->condition_expression = "attribute_not_exists(id)";
    auto cancelled = guarded->Run(both);
    ASSERT_FALSE(cancelled);
    ASSERT_EQ(cancelled.error().code(), ErrorCode::kTransactionCanceled);
    const auto& reasons = cancelled.error().detail()->reasons;
    ASSERT_EQ(reasons.size(), 2u) << "one for each action that was asked for";
    EXPECT_EQ(reasons[0].code, "None");
    EXPECT_EQ(reasons[1].code, "ConditionalCheckFailed");
    {
      ActingFor program(nullptr);
      EXPECT_TRUE(guarded->Run(get));
    }
    EXPECT_FALSE(guarded->Run(get));
  }
  auto got = guarded->Run(get);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->item);
  EXPECT_EQ(store->Run(ScanRequest{.table_name = "Games"})->count, 0) << "what was denied changed nothing";
}

// Whoever may check a parent is told when it is missing.
TEST_F(AccessTest, AModelsCheckIsMadeForOneWhoMayCheckIt) {
  auto store = EmbeddedStore(engine_.get());
  auto guarded = GuardedStore(store.get(), keys_, "");
  ActingFor acting(permissions_->Named("every"));
  TransactWriteItemsRequest request;
  request.transact_items.emplace_back().put = TransactPut{.table_name = "Log", .item = Text("id", "2")};
  TransactConditionCheck check{.table_name = "Games", .key = {{"user", "a"}, {"game", "b"}}};
  check.condition_expression = "attribute_exists(game)";
  check.of_model = true;
  request.transact_items.emplace_back().condition_check = check;
  auto cancelled = guarded->Run(request);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::kTransactionCanceled);
}

TEST_F(AccessTest, ATableElsewhereIsRefusedToItsCallerByName) {
  GetItemRequest get{.table_name = "arn:aws:dynamodb:us-east-1:999999999999:table/Log",
                     .key = Text("id", "1")};
  Status refused = CheckAccess({*permissions_->Named("every"), keys_}, get);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "User: arn:aws:iam::123456789012:user/every is not authorized to perform: dynamodb:GetItem on "
            "resource: arn:aws:dynamodb:us-east-1:999999999999:table/Log because no resource-based policy "
            "allows the dynamodb:GetItem action");
}

TEST_F(AccessTest, FeedsAndSessionsAreHeldToTheirTables) {
  auto parsed = auth::Permissions::Parse(
      R"({"principals":{"ear":{"policies":[{"Statement":{"Effect":"Allow","Action":"dynamodb:GetRecords",
           "Resource":"arn:aws:dynamodb:*:*:table/Log/stream/*"}}]}}})",
      "keys.json", {});
  const auth::Principal& ear = *(*parsed)->Named("ear");
  EXPECT_TRUE(CheckFeed(ear, "Log"));
  EXPECT_FALSE(CheckFeed(ear, "Games"));
  EXPECT_FALSE(CheckPush(ear));
  EXPECT_FALSE(CheckPush(*permissions_->Named("worker"))) << "one table's feed is not all";
  EXPECT_TRUE(CheckPush(*permissions_->Named("every")));
  const auth::Principal& reader = *permissions_->Named("reader");
  EXPECT_TRUE(CheckUse(reader, "Games", Use::kRead));
  EXPECT_FALSE(CheckUse(reader, "Games", Use::kWrite));
  EXPECT_FALSE(CheckUse(reader, "Log", Use::kRead));
}

// Both reach all that a table holds: ForAllValues must not hold for want of a key.
TEST_F(AccessTest, FeedsAndSessionsAreRefusedToOneWhoIsLimitedToKeys) {
  auto parsed = auth::Permissions::Parse(
      R"({"principals":{"ann":{"policies":[{"Statement":{"Effect":"Allow","Action":"dynamodb:*",
           "Resource":"*","Condition":{"ForAllValues:StringEquals":{"dynamodb:LeadingKeys":"ann"}}}}]}}})",
      "keys.json", {});
  ASSERT_TRUE(parsed.has_value()) << parsed.error().ToString();
  const auth::Principal& ann = *(*parsed)->Named("ann");
  EXPECT_FALSE(CheckFeed(ann, "Games"));
  EXPECT_FALSE(CheckUse(ann, "Games", Use::kRead));
}

}  // namespace
}  // namespace holdfast::store
