// What requests come to, as data: who asks for what, and whether the policies let them.
#include "store/access.h"

#include <gtest/gtest.h>

#include "auth/permissions.h"
#include "holdfast/database.h"
#include "json/struct_reader.h"
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
      "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "7"}}}}
  },
  "principals": {
    "worker": {"policies": ["write-log"]},
    "ann": {"policies": ["own-games"]},
    "scores": {"policies": ["by-score"]},
    "columns": {"policies": ["columns"]},
    "reader": {"policies": ["read-games"]},
    "both": {"policies": ["read-games", "write-log"]},
    "seven": {"policies": ["number-7"]}
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
    {"worker", "PutItem", R"({"TableName":"Log","Item":{"id":{"S":"1"}}})", true},
    {"worker", "PutItem", R"({"TableName":"arn:aws:dynamodb:us-east-1:123456789012:table/Log","Item":{}})", true},
    {"worker", "PutItem", R"({"TableName":"Games","Item":{"user":{"S":"ann"}}})", false},
    {"worker", "GetItem", R"({"TableName":"Log","Key":{"id":{"S":"1"}}})", false},
    {"worker", "UpdateItem", R"({"TableName":"Log","Key":{"id":{"S":"1"}}})", false},
    {"worker", "DeleteItem", R"({"TableName":"Log","Key":{"id":{"S":"1"}}})", false},
    {"worker", "Query", R"({"TableName":"Log","KeyConditionExpression":"id = :i"})", false},
    {"worker", "Scan", R"({"TableName":"Log"})", false},
    {"worker", "BatchWriteItem", R"({"RequestItems":{"Log":[{"PutRequest":{"Item":{"id":{"S":"1"}}}}]}})", false},
    {"worker", "DescribeTable", R"({"TableName":"Log"})", false},
    {"worker", "DeleteTable", R"({"TableName":"Log"})", false},
    {"worker", "ListTables", "{}", false},
    {"worker", "DescribeLimits", "{}", false},
    {"worker", "DescribeEndpoints", "{}", false},
    {"worker", "TagResource", R"({"ResourceArn":"arn:aws:dynamodb:us-east-1:123456789012:table/Log","Tags":[]})", false},
    // transactions: each action under its own name
    {"worker", "TransactWriteItems", R"({"TransactItems":[{"Put":{"TableName":"Log","Item":{"id":{"S":"1"}}}}]})", true},
    {"worker", "TransactWriteItems", R"({"TransactItems":[{"Put":{"TableName":"Log","Item":{"id":{"S":"1"}}}},
        {"ConditionCheck":{"TableName":"Games","Key":{"user":{"S":"a"}},"ConditionExpression":"attribute_exists(#u)"}}]
})", false},
    {"worker", "TransactWriteItems", R"({"TransactItems":[{"Update":{"TableName":"Log","Key":{"id":{"S":"1"}},"UpdateExpression":"SET a = :a"}}]})", false},
    {"worker", "TransactWriteItems", R"({"TransactItems":[{"Delete":{"TableName":"Log","Key":{"id":{"S":"1"}}}}]})", false},
    {"reader", "TransactGetItems", R"({"TransactItems":[{"Get":{"TableName":"Games","Key":{"user":{"S":"a"}}}}]})", true},
    {"reader", "TransactGetItems", R"({"TransactItems":[{"Get":{"TableName":"Games","Key":{"user":{"S":"a"}}}},
        {"Get":{"TableName":"Log","Key":{"id":{"S":"1"}}}}]})", false},
    // batches: one denied table denies all
    {"reader", "BatchGetItem", R"({"RequestItems":{"Games":{"Keys":[{"user":{"S":"a"}}]}}})", true},
    {"reader", "BatchGetItem", R"({"RequestItems":{"Games":{"Keys":[{"user":{"S":"a"}}]},"Log":{"Keys":[{"id":{"S":"1"}}]}}})", false},
    {"both", "BatchGetItem", R"({"RequestItems":{"Log":{"Keys":[{"id":{"S":"1"}}]}}})", false},
    // tables and their indexes
    {"reader", "Query", R"({"TableName":"Games","KeyConditionExpression":"#u = :u"})", true},
    {"reader", "Query", R"({"TableName":"Games","IndexName":"byGame","KeyConditionExpression":"game = :u"})", false},
    {"scores", "Query", R"({"TableName":"Games","IndexName":"byGame","KeyConditionExpression":"game = :u"})", true},
    {"scores", "Scan", R"({"TableName":"Games","IndexName":"byGame"})", true},
    {"scores", "Scan", R"({"TableName":"Games"})", false},
    {"scores", "SearchVectors", R"({"TableName":"Games","IndexName":"near","SearchVector":[1],"TopK":1})", true},
    {"columns", "SearchVectors", R"({"TableName":"Games","IndexName":"near","SearchVector":[1],"TopK":1})", false},
    {"reader", "DescribeTable", R"({"TableName":"Games"})", true},
    {"reader", "DescribeTimeToLive", R"({"TableName":"Games"})", true},
    {"reader", "UpdateTable", R"({"TableName":"Games"})", false},
    {"reader", "CreateTable", R"({"TableName":"Games2"})", false},
    // leading keys
    {"ann", "GetItem", R"({"TableName":"Games","Key":{"user":{"S":"ann"},"game":{"S":"chess"}}})", true},
    {"ann", "GetItem", R"({"TableName":"Games","Key":{"user":{"S":"bob"},"game":{"S":"ann"}}})", false},
    {"ann", "PutItem", R"({"TableName":"Games","Item":{"user":{"S":"ann"},"game":{"S":"go"}}})", true},
    {"ann", "PutItem", R"({"TableName":"Games","Item":{"user":{"S":"bob"},"game":{"S":"go"}}})", false},
    {"ann", "PutItem", R"({"TableName":"Games","Item":{"game":{"S":"go"}}})", false},
    {"ann", "DeleteItem", R"({"TableName":"Games","Key":{"user":{"S":"bob"}}})", false},
    {"ann", "UpdateItem", R"({"TableName":"Games","Key":{"user":{"S":"ann"}},"UpdateExpression":"SET a = :a"})", true},
    {"ann", "Scan", R"({"TableName":"Games"})", false},
    {"ann", "Query", R"({"TableName":"Games","KeyConditionExpression":"#u = :u AND begins_with(game, :g)","ExpressionAttributeNames":{"#u":"user"},
        "ExpressionAttributeValues":{":u":{"S":"ann"},":g":{"S":"c"}}})", true},
    {"ann", "Query", R"({"TableName":"Games","KeyConditionExpression":"#u = :u","ExpressionAttributeNames":{"#u":"user"},
        "ExpressionAttributeValues":{":u":{"S":"bob"}}})", false},
    {"ann", "Query", R"({"TableName":"Games","KeyConditionExpression":"#u = :u AND","ExpressionAttributeValues":{":u":{"S":"ann"}}})", false},
    {"ann", "Query", R"({"TableName":"Games","KeyConditions":{"user":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"ann"}]}}})", true},
    {"ann", "Query", R"({"TableName":"Games","KeyConditions":{"user":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"bob"}]}}})", false},
    {"ann", "Query", R"({"TableName":"Games","KeyConditions":{"user":{"ComparisonOperator":"GE","AttributeValueList":[{"S":"ann"}]}}})", false},
    {"ann", "Query", R"({"TableName":"Games","IndexName":"byGame","KeyConditionExpression":"game = :u","ExpressionAttributeValues":{":u":{"S":"ann"}}})", true},
    {"ann", "Query", R"({"TableName":"Games","IndexName":"byGame","KeyConditionExpression":"game = :u","ExpressionAttributeValues":{":u":{"S":"chess"}}})", false},
    {"ann", "BatchGetItem", R"({"RequestItems":{"Games":{"Keys":[{"user":{"S":"ann"}},{"user":{"S":"bob"}}]}}})", false},
    {"ann", "BatchWriteItem", R"({"RequestItems":{"Games":[{"PutRequest":{"Item":{"user":{"S":"ann"}}}},{"DeleteRequest":{"Key":{"user":{"S":"ann"}}}}]}})", true},
    {"ann", "BatchWriteItem", R"({"RequestItems":{"Games":[{"PutRequest":{"Item":{"user":{"S":"ann"}}}},{"DeleteRequest":{"Key":{"user":{"S":"bob"}}}}]}})", false},
    {"ann", "TransactWriteItems", R"({"TransactItems":[{"Put":{"TableName":"Games","Item":{"user":{"S":"ann"}}}},
        {"Delete":{"TableName":"Games","Key":{"user":{"S":"bob"}}}}]})", false},
    {"ann", "DescribeTable", R"({"TableName":"Games"})", false},
    {"seven", "GetItem", R"({"TableName":"Numbers","Key":{"id":{"N":"7.0"}}})", true},
    {"seven", "GetItem", R"({"TableName":"Numbers","Key":{"id":{"N":"70"}}})", false},
    // A table that is not there has every key: it cannot be told from one whose key is another's.
    {"ann", "GetItem", R"({"TableName":"Gone","Key":{"user":{"S":"ann"}}})", false},
    {"ann", "GetItem", R"({"TableName":"Gone","Key":{"user":{"S":"bob"}}})", false},
    // attributes
    {"columns", "GetItem", R"({"TableName":"Games","Key":{"user":{"S":"a"}},"ProjectionExpression":"score"})", true},
    {"columns", "GetItem", R"({"TableName":"Games","Key":{"user":{"S":"a"}},"ProjectionExpression":"score, salary"})", false},
    {"columns", "GetItem", R"({"TableName":"Games","Key":{"user":{"S":"a"}},"ProjectionExpression":"#s","ExpressionAttributeNames":{"#s":"salary"}})", false},
    {"columns", "GetItem", R"({"TableName":"Games","Key":{"user":{"S":"a"}},"ProjectionExpression":"score.salary[0].#s","ExpressionAttributeNames":{"#s":"x"}})", true},
    {"columns", "GetItem", R"({"TableName":"Games","Key":{"user":{"S":"a"}}})", false},
    {"columns", "GetItem", R"({"TableName":"Games","Key":{"user":{"S":"a"}},"AttributesToGet":["score"]})", true},
    {"columns", "GetItem", R"({"TableName":"Games","Key":{"user":{"S":"a"}},"AttributesToGet":["salary"]})", false},
    {"columns", "PutItem", R"({"TableName":"Games","Item":{"user":{"S":"a"},"score":{"N":"1"}}})", true},
    {"columns", "PutItem", R"({"TableName":"Games","Item":{"user":{"S":"a"},"salary":{"N":"1"}}})", false},
    {"columns", "PutItem", R"({"TableName":"Games","Item":{"user":{"S":"a"}},"ConditionExpression":"salary > :s"})", false},
    {"columns", "PutItem", R"({"TableName":"Games","Item":{"user":{"S":"a"}},"ReturnValues":"ALL_OLD"})", false},
    {"columns", "PutItem", R"({"TableName":"Games","Item":{"user":{"S":"a"}},"Expected":{"salary":{"Exists":false}}})", false},
    {"columns", "PutItem", R"({"TableName":"Games","Item":{"user":{"S":"a"}},"ConditionExpression":"score = :s",
        "ReturnValuesOnConditionCheckFailure":"ALL_OLD"})", false},
    {"columns", "UpdateItem", R"({"TableName":"Games","Key":{"user":{"S":"a"}},"UpdateExpression":"SET score = :s","ReturnValues":"UPDATED_NEW"})", true},
    {"columns", "UpdateItem", R"({"TableName":"Games","Key":{"user":{"S":"a"}},"UpdateExpression":"SET score = salary"})", false},
    {"columns", "UpdateItem", R"({"TableName":"Games","Key":{"user":{"S":"a"}},"AttributeUpdates":{"salary":{"Action":"DELETE"}}})", false},
    {"columns", "UpdateItem", R"({"TableName":"Games","Key":{"user":{"S":"a"}},"UpdateExpression":"SET score = :s","ReturnValues":"ALL_NEW"})", false},
    {"columns", "Query", R"({"TableName":"Games","KeyConditionExpression":"#u = :u","ExpressionAttributeNames":{"#u":"user"},"ProjectionExpression":"game"})", true},
    {"columns", "Query", R"({"TableName":"Games","KeyConditionExpression":"#u = :u","ExpressionAttributeNames":{"#u":"user"},
        "ProjectionExpression":"game","FilterExpression":"salary > :s"})", false},
    {"columns", "Query", R"({"TableName":"Games","KeyConditionExpression":"#u = :u","ExpressionAttributeNames":{"#u":"user"}})", false},
    {"columns", "Scan", R"({"TableName":"Games","ScanFilter":{"salary":{"ComparisonOperator":"NOT_NULL"}},"AttributesToGet":["user"]})", false},
    {"columns", "Scan", R"({"TableName":"Games","Select":"COUNT"})", false},
    {"columns", "Scan", R"({"TableName":"Games","ProjectionExpression":"score","Select":"SPECIFIC_ATTRIBUTES"})", true},
    {"columns", "BatchGetItem", R"({"RequestItems":{"Games":{"Keys":[{"user":{"S":"a"}}],"ProjectionExpression":"salary"}}})", false},
};

Item Text(const char* attribute, const char* text) {
  return {{attribute, text}};
}

class AccessTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Database::Open({});
    ASSERT_TRUE(opened);
    database_ = *std::move(opened);
    keys_ = KeysOf(database_->GetEngine());
    auto permissions = auth::Permissions::Parse(kFile, "keys.json", {});
    ASSERT_TRUE(permissions) << permissions.error().ToString();
    permissions_ = *std::move(permissions);
    Make(R"({"TableName":"Games","BillingMode":"PAY_PER_REQUEST",
             "AttributeDefinitions":[{"AttributeName":"user","AttributeType":"S"},{"AttributeName":"game","AttributeType":"S"}],
             "KeySchema":[{"AttributeName":"user","KeyType":"HASH"},{"AttributeName":"game","KeyType":"RANGE"}],
             "GlobalSecondaryIndexes":[{"IndexName":"byGame","KeySchema":[{"AttributeName":"game","KeyType":"HASH"}],
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
    auto created = database_->CreateTable(request);
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

  std::unique_ptr<Database> database_;
  PartitionKeys keys_;
  std::unique_ptr<auth::Permissions> permissions_;
};

TEST_F(AccessTest, DB_T_20_RequestsComeToWhatTheCasesSay) {
  for (const Case& one : kCases) {
    Status allowed = Ask(one);
    EXPECT_EQ(allowed.has_value(), one.allowed) << one.who << " " << one.operation << " " << one.body;
    if (!allowed) EXPECT_EQ(allowed.error().code(), ErrorCode::kAccessDenied) << one.body;
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
#define HF_OPERATION(name, ...)                                                      \
  if (std::find(std::begin(kOfMany), std::end(kOfMany), #name) == std::end(kOfMany)) \
    EXPECT_FALSE(CheckAccess({nobody, keys_}, name##Request{})) << #name;
#include "ops/operations.inc"
#undef HF_OPERATION
}

TEST_F(AccessTest, AGuardedStoreHoldsWhomItActsFor) {
  auto store = EmbeddedStore(database_.get());
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
    both.transact_items[1].condition_check->of_model = true;
    EXPECT_TRUE(guarded->Run(both));
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

TEST_F(AccessTest, FeedsAndSessionsAreHeldToTheirTables) {
  auto parsed = auth::Permissions::Parse(
      R"({"principals":{"ear":{"policies":[{"Statement":{"Effect":"Allow","Action":"dynamodb:GetRecords",
           "Resource":"arn:aws:dynamodb:*:*:table/Log/stream/*"}}]}}})",
      "keys.json", {});
  const auth::Principal& ear = *(*parsed)->Named("ear");
  EXPECT_TRUE(CheckFeed(ear, "Log"));
  EXPECT_FALSE(CheckFeed(ear, "Games"));
  const auth::Principal& reader = *permissions_->Named("reader");
  EXPECT_TRUE(CheckUse(reader, "Games", Use::kRead));
  EXPECT_FALSE(CheckUse(reader, "Games", Use::kWrite));
  EXPECT_FALSE(CheckUse(reader, "Log", Use::kRead));
}

}  // namespace
}  // namespace holdfast::store
