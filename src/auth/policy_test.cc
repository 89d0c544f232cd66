// Policies: what they allow and deny, as data; what of a file is not understood, and where.
#include "auth/policy.h"

#include <gtest/gtest.h>

#include "auth/permissions.h"

namespace holdfast::auth {
namespace {

constexpr std::string_view kTables = "arn:aws:dynamodb:us-east-1:123456789012:table/";

// A statement around what differs from case to case.
std::string Statement(const std::string& effect, const std::string& rest) {
  return R"({"Effect":")" + effect + R"(",)" + rest + "}";
}
std::string Allow(const std::string& rest) {
  return Statement("Allow", rest);
}
std::string Deny(const std::string& rest) {
  return Statement("Deny", rest);
}
// On the table Games, under a condition.
std::string AllowIf(const std::string& condition) {
  return Allow(R"("Action":"dynamodb:*","Resource":"*","Condition":)" + condition);
}
std::string DenyIf(const std::string& condition) {
  return Allow(R"("Action":"*","Resource":"*")") + "," +
         Deny(R"("Action":"dynamodb:*","Resource":"*","Condition":)" + condition);
}

Result<std::unique_ptr<Permissions>> Parse(const std::string& statements,
                                           const std::string& version = "2012-10-17") {
  return Permissions::Parse(R"({"policies":{"p":{"Version":")" + version + R"(","Statement":[)" + statements +
                                R"(]}},"principals":{"ann":{"policies":["p"],"tags":{"team":"blue"}}}})",
                            "keys.json", {});
}

class Told final : public FactSource {
 public:
  explicit Told(Facts facts) : facts_(std::move(facts)) {}
  void Gather(Facts* facts) const override { *facts = facts_; }

 private:
  const Facts facts_;
};

Facts Keys(std::vector<std::string> keys) {
  Facts facts;
  facts[Fact::kLeadingKeys].values = std::move(keys);
  return facts;
}
Facts Attributes(std::vector<std::string> names) {
  Facts facts;
  facts[Fact::kAttributes].values = std::move(names);
  return facts;
}
Facts AllAttributes() {
  Facts facts;
  facts[Fact::kAttributes].all = true;
  return facts;
}
Facts Untold() {
  Facts facts;
  facts.told = false;
  return facts;
}
Facts UnknownKey() {
  Facts facts;
  facts[Fact::kLeadingKeys].all = facts[Fact::kLeadingKeys].unknown = true;
  return facts;
}
Facts With(Fact fact, std::string value) {
  Facts facts;
  facts[fact].values = {std::move(value)};
  return facts;
}

struct Case {
  const char* why;
  std::string statements;
  std::string_view action;
  std::string resource;  // after "table/", or a whole one
  bool allowed;
  Facts facts = {};
};

std::vector<Case> Cases() {
  const std::string put_log =
      Allow(R"("Action":"dynamodb:PutItem","Resource":"arn:aws:dynamodb:us-east-1:123456789012:table/Log")");
  const std::string all = Allow(R"("Action":"*","Resource":"*")");
  const std::string own_keys =
      AllowIf(R"({"ForAllValues:StringEquals":{"dynamodb:LeadingKeys":["${aws:username}"]}})");
  const std::string own_keys_only =
      AllowIf(R"({"ForAllValues:StringEquals":{"dynamodb:LeadingKeys":["${aws:username}"]},)"
              R"("Null":{"dynamodb:LeadingKeys":"false"}})");
  const std::string two_columns =
      AllowIf(R"({"ForAllValues:StringEquals":{"dynamodb:Attributes":["id","name"]},)"
              R"("StringEqualsIfExists":{"dynamodb:Select":"SPECIFIC_ATTRIBUTES"}})");
  const std::string no_secret = DenyIf(R"({"ForAnyValue:StringLike":{"dynamodb:Attributes":["secret*"]}})");
  const std::string tables(kTables);
  return {
      // actions and resources
      {"the action on the table", put_log, "PutItem", "Log", true},
      {"another action", put_log, "GetItem", "Log", false},
      {"another table", put_log, "PutItem", "Bookings", false},
      {"a longer name", put_log, "PutItem", "Logs", false},
      {"names mind their case", put_log, "PutItem", "log", false},
      {"an index is not its table", put_log, "PutItem", "Log/index/i", false},
      {"everything", all, "DeleteTable", "Log", true},
      {"actions do not mind their case", Allow(R"("Action":"DynamoDB:putitem","Resource":"*")"), "PutItem",
       "T", true},
      {"a run in an action", Allow(R"("Action":"dynamodb:*Item","Resource":"*")"), "DeleteItem", "T", true},
      {"what the run does not reach", Allow(R"("Action":"dynamodb:*Item","Resource":"*")"), "Query", "T",
       false},
      {"one character in an action", Allow(R"("Action":"dynamodb:?etItem","Resource":"*")"), "GetItem", "T",
       true},
      {"one character is not none", Allow(R"("Action":"dynamodb:UpdateTable?*","Resource":"*")"),
       "UpdateTable", "T", false},
      {"a list of actions", Allow(R"("Action":["dynamodb:Query","dynamodb:Scan"],"Resource":"*")"), "Scan",
       "T", true},
      {"all but an action", Allow(R"("NotAction":"dynamodb:Delete*","Resource":"*")"), "PutItem", "T", true},
      {"the action left out", Allow(R"("NotAction":"dynamodb:Delete*","Resource":"*")"), "DeleteItem", "T",
       false},
      {"all but a table", Allow(R"("Action":"*","NotResource":")" + tables + R"(Pay*")"), "Scan", "Open",
       true},
      {"the table left out", Allow(R"("Action":"*","NotResource":")" + tables + R"(Pay*")"), "Scan",
       "Payroll", false},
      {"a run in a resource", Allow(R"("Action":"*","Resource":")" + tables + R"(dev-*")"), "Scan", "dev-7",
       true},
      {"a run goes past slashes", Allow(R"("Action":"*","Resource":")" + tables + R"(T*")"), "Query",
       "T/index/i", true},
      {"one character in a resource", Allow(R"("Action":"*","Resource":")" + tables + R"(T?")"), "Scan", "T",
       false},
      {"any region and account", Allow(R"("Action":"*","Resource":"arn:aws:dynamodb:*:*:table/T")"), "Scan",
       "T", true},
      {"another region", Allow(R"("Action":"*","Resource":"arn:aws:dynamodb:eu-west-1:*:table/T")"), "Scan",
       "T", false},
      {"an index", Allow(R"("Action":"dynamodb:Query","Resource":")" + tables + R"(T/index/*")"), "Query",
       "T/index/i", true},
      {"a table is not its index",
       Allow(R"("Action":"dynamodb:Query","Resource":")" + tables + R"(T/index/*")"), "Query", "T", false},
      {"a stream", Allow(R"("Action":"dynamodb:GetRecords","Resource":")" + tables + R"(T/stream/*")"),
       "GetRecords", "T/stream/2026-01-01T00:00:00.000", true},
      {"a backup", Allow(R"("Action":"dynamodb:*Backup","Resource":")" + tables + R"(T/backup/*")"),
       "DeleteBackup", "T/backup/01", true},
      {"what has no resource needs *", Allow(R"("Action":"*","Resource":")" + tables + R"(*")"),
       "DescribeLimits", "*", false},
      {"what has no resource, with *", all, "DescribeLimits", "*", true},
      // what denies
      {"to deny wins", all + "," + Deny(R"("Action":"dynamodb:DeleteTable","Resource":"*")"), "DeleteTable",
       "T", false},
      {"to deny wins, whichever comes first",
       Deny(R"("Action":"dynamodb:DeleteTable","Resource":"*")") + "," + all, "DeleteTable", "T", false},
      {"and spares the rest", all + "," + Deny(R"("Action":"dynamodb:DeleteTable","Resource":"*")"), "Scan",
       "T", true},
      {"deny all but", all + "," + Deny(R"("NotAction":"dynamodb:Get*","Resource":"*")"), "PutItem", "T",
       false},
      {"to deny alone allows nothing", Deny(R"("Action":"dynamodb:DeleteTable","Resource":"*")"), "Scan", "T",
       false},
      // leading keys
      {"own key", own_keys, "GetItem", "Games", true, Keys({"ann"})},
      {"another's key", own_keys, "GetItem", "Games", false, Keys({"bob"})},
      {"own and another's", own_keys, "BatchGetItem", "Games", false, Keys({"ann", "bob"})},
      {"no key at all passes ForAllValues, as on AWS", own_keys, "Scan", "Games", true},
      {"unless Null forbids it", own_keys_only, "Scan", "Games", false},
      {"own key, with Null", own_keys_only, "GetItem", "Games", true, Keys({"ann"})},
      {"any of them", AllowIf(R"({"ForAnyValue:StringEquals":{"dynamodb:LeadingKeys":["a","b"]}})"),
       "BatchGetItem", "T", true, Keys({"x", "b"})},
      {"none of them", AllowIf(R"({"ForAnyValue:StringEquals":{"dynamodb:LeadingKeys":["a","b"]}})"),
       "BatchGetItem", "T", false, Keys({"x"})},
      {"ForAnyValue of nothing", AllowIf(R"({"ForAnyValue:StringEquals":{"dynamodb:LeadingKeys":"a"}})"),
       "Scan", "T", false},
      {"a prefix",
       AllowIf(R"({"ForAllValues:StringLike":{"dynamodb:LeadingKeys":"${aws:PrincipalTag/team}#*"}})"),
       "Query", "T", true, Keys({"blue#7"})},
      {"another prefix",
       AllowIf(R"({"ForAllValues:StringLike":{"dynamodb:LeadingKeys":"${aws:PrincipalTag/team}#*"}})"),
       "Query", "T", false, Keys({"red#7"})},
      {"StringEquals takes * as it is",
       AllowIf(R"({"ForAllValues:StringEquals":{"dynamodb:LeadingKeys":"a*"}})"), "Query", "T", false,
       Keys({"ab"})},
      {"a plain operator: all of them", AllowIf(R"({"StringEquals":{"dynamodb:LeadingKeys":"a"}})"),
       "BatchGetItem", "T", false, Keys({"a", "b"})},
      {"a plain operator without a key", AllowIf(R"({"StringEquals":{"dynamodb:LeadingKeys":"a"}})"), "Scan",
       "T", false},
      {"StringNotEquals without a key", AllowIf(R"({"StringNotEquals":{"dynamodb:LeadingKeys":"a"}})"),
       "Scan", "T", true},
      {"a plain operator that denies: any of them",
       DenyIf(R"({"StringEquals":{"dynamodb:LeadingKeys":"a"}})"), "BatchGetItem", "T", false,
       Keys({"a", "b"})},
      // attributes
      {"the columns", two_columns, "GetItem", "T", true, Attributes({"id", "name"})},
      {"one more", two_columns, "GetItem", "T", false, Attributes({"id", "salary"})},
      {"all of them", two_columns, "GetItem", "T", false, AllAttributes()},
      {"all of them, where all are allowed",
       AllowIf(R"({"ForAllValues:StringLike":{"dynamodb:Attributes":"*"}})"), "GetItem", "T", true,
       AllAttributes()},
      {"a secret", no_secret, "GetItem", "T", false, Attributes({"id", "secretKey"})},
      {"no secret", no_secret, "GetItem", "T", true, Attributes({"id"})},
      {"all of them, secrets among them", no_secret, "Scan", "T", false, AllAttributes()},
      {"none but", AllowIf(R"({"ForAllValues:StringNotEquals":{"dynamodb:Attributes":"isAdmin"}})"),
       "UpdateItem", "T", false, Attributes({"id", "isAdmin"})},
      {"all, none but", AllowIf(R"({"ForAllValues:StringNotEquals":{"dynamodb:Attributes":"isAdmin"}})"),
       "GetItem", "T", false, AllAttributes()},
      // a key that nobody knows, as of a table that is not there: it must not be told from one that is
      // refused
      {"known and denied", DenyIf(R"({"ForAllValues:StringNotEquals":{"dynamodb:LeadingKeys":["alice"]}})"),
       "GetItem", "T", false, Keys({"bob"})},
      {"known and not denied",
       DenyIf(R"({"ForAllValues:StringNotEquals":{"dynamodb:LeadingKeys":["alice"]}})"), "GetItem", "T", true,
       Keys({"alice"})},
      {"unknown, so perhaps denied",
       DenyIf(R"({"ForAllValues:StringNotEquals":{"dynamodb:LeadingKeys":["alice"]}})"), "GetItem", "T",
       false, UnknownKey()},
      {"unknown, so perhaps not allowed",
       AllowIf(R"({"ForAnyValue:StringEquals":{"dynamodb:LeadingKeys":["alice"]}})"), "GetItem", "T", false,
       UnknownKey()},
      // an operation that tells of no facts: what denies meets them absent, what allows does not apply
      {"told nothing, no conditions", all, "SearchVectors", "T/index/i", true, Untold()},
      {"told nothing, allowed under a condition", own_keys, "SearchVectors", "T/index/i", false, Untold()},
      {"told nothing, allowed where there is no key", AllowIf(R"({"Null":{"dynamodb:LeadingKeys":"true"}})"),
       "SearchVectors", "T/index/i", false, Untold()},
      {"told nothing, denied where there is no key", DenyIf(R"({"Null":{"dynamodb:LeadingKeys":"true"}})"),
       "SearchVectors", "T/index/i", false, Untold()},
      {"told nothing, denied to all keys but one",
       DenyIf(R"({"StringNotEquals":{"dynamodb:LeadingKeys":"ann"}})"), "SearchVectors", "T/index/i", false,
       Untold()},
      {"told nothing, denied for one key", DenyIf(R"({"StringEquals":{"dynamodb:LeadingKeys":"ann"}})"),
       "SearchVectors", "T/index/i", true, Untold()},
      // what other services' statements say
      {"another service's statement, conditions and all",
       all + "," +
           Deny(R"("Action":"iam:PassRole","Resource":"arn:aws:iam::1:role/${aws:userid}","Condition":)"
                R"({"StringEquals":{"iam:PassedToService":"dynamodb.amazonaws.com"}})"),
       "PutItem", "T", true},
      {"other services beside this one",
       Allow(R"("Action":["s3:GetObject","dynamodb:Scan"],"Resource":["arn:aws:s3:::files/*",")" + tables +
             R"(T"])"),
       "Scan", "T", true},
      {"other services' resources are none of ours",
       Allow(R"("Action":["s3:GetObject","dynamodb:Scan"],"Resource":"arn:aws:s3:::*")"), "Scan", "T", false},
      {"all but other services' resources", Allow(R"("Action":"*","NotResource":"arn:aws:s3:::files/*")"),
       "Scan", "T", true},
      {"all but other services' actions", Allow(R"("NotAction":["s3:*","iam:*"],"Resource":"*")"), "Scan",
       "T", true},
      // the rest
      {"Select as wanted", AllowIf(R"({"StringEquals":{"dynamodb:Select":"COUNT"}})"), "Query", "T", true,
       With(Fact::kSelect, "COUNT")},
      {"Select otherwise", AllowIf(R"({"StringEqualsIfExists":{"dynamodb:Select":"COUNT"}})"), "Query", "T",
       false, With(Fact::kSelect, "ALL_ATTRIBUTES")},
      {"ReturnValues otherwise", AllowIf(R"({"StringEqualsIfExists":{"dynamodb:ReturnValues":["NONE"]}})"),
       "PutItem", "T", false, With(Fact::kReturnValues, "ALL_OLD")},
      {"ReturnValues left out", AllowIf(R"({"StringEqualsIfExists":{"dynamodb:ReturnValues":["NONE"]}})"),
       "PutItem", "T", true},
      {"in a transaction only",
       AllowIf(R"({"StringEquals":{"dynamodb:EnclosingOperation":"TransactWriteItems"}})"), "PutItem", "T",
       true, With(Fact::kEnclosingOperation, "TransactWriteItems")},
      {"out of a transaction",
       AllowIf(R"({"StringEquals":{"dynamodb:EnclosingOperation":"TransactWriteItems"}})"), "PutItem", "T",
       false},
      {"condition keys do not mind their case", AllowIf(R"({"StringEquals":{"DynamoDB:select":"COUNT"}})"),
       "Query", "T", true, With(Fact::kSelect, "COUNT")},
      {"case left out", AllowIf(R"({"StringEqualsIgnoreCase":{"dynamodb:Select":"count"}})"), "Query", "T",
       true, With(Fact::kSelect, "COUNT")},
      {"all keys of a condition count",
       AllowIf(R"({"StringEquals":{"dynamodb:Select":"COUNT","dynamodb:ReturnConsumedCapacity":"TOTAL"}})"),
       "Query", "T", false, With(Fact::kSelect, "COUNT")},
      // principals and variables
      {"a tag", AllowIf(R"({"StringEquals":{"aws:PrincipalTag/team":["red","blue"]}})"), "Scan", "T", true},
      {"another tag", AllowIf(R"({"StringEquals":{"aws:PrincipalTag/team":"red"}})"), "Scan", "T", false},
      {"a tag that is not there", AllowIf(R"({"StringEquals":{"aws:PrincipalTag/rank":"1"}})"), "Scan", "T",
       false},
      {"a table of one's own", Allow(R"("Action":"*","Resource":")" + tables + R"(${aws:username}-*")"),
       "Scan", "ann-x", true},
      {"a table of another's", Allow(R"("Action":"*","Resource":")" + tables + R"(${aws:username}-*")"),
       "Scan", "bob-x", false},
      {"a variable without a meaning allows nothing",
       Allow(R"("Action":"*","NotResource":")" + tables + R"(${aws:PrincipalTag/rank}")"), "Scan", "T",
       false},
      {"and goes on denying",
       all + "," + Deny(R"("Action":"*","NotResource":")" + tables + R"(${aws:PrincipalTag/rank}")"), "Scan",
       "T", false},
      {"an escaped wildcard", AllowIf(R"({"ForAllValues:StringLike":{"dynamodb:LeadingKeys":"${*}"}})"),
       "GetItem", "T", false, Keys({"x"})},
      {"Bool", AllowIf(R"({"Bool":{"aws:PrincipalTag/team":"true"}})"), "Scan", "T", false},
  };
}

TEST(Policy, DB_T_20_DecidesAsItsCasesSay) {
  for (const Case& one : Cases()) {
    auto permissions = Parse(one.statements);
    ASSERT_TRUE(permissions) << one.why << ": " << permissions.error().ToString();
    std::string resource = one.resource == "*" ? "*" : std::string(kTables) + one.resource;
    size_t action = FindAction(one.action);
    ASSERT_LT(action, kActionCount) << one.action;
    Told told(one.facts);
    Decision decision = (*permissions)->Named("ann")->Decide(static_cast<Action>(action), resource, &told);
    EXPECT_EQ(decision.allowed(), one.allowed) << one.why << " " << decision.place;
    EXPECT_EQ((*permissions)->Named("ann")->Check(static_cast<Action>(action), resource, &told).has_value(),
              one.allowed)
        << one.why;
  }
}

TEST(Policy, DeniesInTheWordsOfIam) {
  auto permissions = Parse(Allow(R"("Action":"dynamodb:*","Resource":"*")") + "," +
                           Deny(R"("Sid":"Keep","Action":"dynamodb:DeleteTable","Resource":"*")") + "," +
                           Allow(R"("Action":"dynamodb:Get*","Resource":"*")"));
  std::string table = std::string(kTables) + "T";
  const Principal* ann = (*permissions)->Named("ann");
  EXPECT_EQ(
      ann->Check(ActionOf("DeleteTable"), table, nullptr).error().message(),
      "User: arn:aws:iam::123456789012:user/ann is not authorized to perform: dynamodb:DeleteTable on "
      "resource: "
      "arn:aws:dynamodb:us-east-1:123456789012:table/T with an explicit deny in an identity-based policy");
  EXPECT_EQ(ann->Decide(ActionOf("DeleteTable"), table, nullptr).place,
            "keys.json: policies.p.Statement[1] (Keep)");
  EXPECT_EQ(ann->Decide(ActionOf("GetItem"), table, nullptr).place, "keys.json: policies.p.Statement[0]");
  permissions = Parse(Allow(R"("Action":"dynamodb:GetItem","Resource":"*")"));
  Status refused = (*permissions)->Named("ann")->Check(ActionOf("PutItem"), table, nullptr);
  EXPECT_EQ(refused.error().code(), ErrorCode::kAccessDenied);
  EXPECT_EQ(
      refused.error().message(),
      "User: arn:aws:iam::123456789012:user/ann is not authorized to perform: dynamodb:PutItem on resource: "
      "arn:aws:dynamodb:us-east-1:123456789012:table/T because no identity-based policy allows the "
      "dynamodb:PutItem action");
  EXPECT_NE((*permissions)->Metrics().find("holdfast_access_denied_total{operation=\"PutItem\"} 1\n"),
            std::string::npos);
}

// A condition that were passed over would allow what it was written to prevent.
TEST(Policy, RefusesWhatItDoesNotUnderstandAndSaysWhere) {
  struct Bad {
    std::string statements;
    std::string message;
  };
  std::string ok = R"("Action":"*","Resource":"*")";
  for (const Bad& bad : std::vector<Bad>{
           {R"({"Action":"*","Resource":"*"})", "Statement[0]: has no \"Effect\""},
           {Statement("allow", ok), "Statement[0].Effect: should be \"Allow\" or \"Deny\""},
           {Allow(R"("Resource":"*")"), "Statement[0]: has neither \"Action\" nor \"NotAction\""},
           {Allow(R"("Action":"*")"), "Statement[0]: has neither \"Resource\" nor \"NotResource\""},
           {Allow(ok + R"(,"NotAction":"*")"), "Statement[0].NotAction: stands beside another"},
           {Allow(ok + R"(,"NotResource":"*")"), "Statement[0].NotResource: stands beside another"},
           {Allow(ok + R"(,"Action":"*")"), "Statement[0].Action: stands there twice"},
           {Allow(ok + R"(,"Principal":"*")"), "Statement[0].Principal: is no element of a statement"},
           {Allow(ok) + "," + Allow(ok + R"(,"Conditions":{})"), "Statement[1].Conditions: is no element"},
           {Allow(R"("Action":"dynamodb:PutItems","Resource":"*")"),
            "there is no action \"dynamodb:PutItems\""},
           {Allow(R"("Action":"dynamodb:TransactWriteItems","Resource":"*")"), "there is no action"},
           {Allow(R"("Action":"PutItem","Resource":"*")"), "\"PutItem\" is no action"},
           {Allow(R"("Action":"dyanmodb:PutItem","Resource":"*")"), "\"dyanmodb:PutItem\" is no action"},
           {Allow(R"("Action":"DynamoBD:PutItem","Resource":"*")"), "is no action"},
           {Allow(R"("Action":"dynamodbstreams:GetRecords","Resource":"*")"), "is no action"},
           {Allow(R"("Action":"dynamo*:PutItem","Resource":"*")"), "is no action"},
           {Allow(R"("Action":"s3:","Resource":"*")"), "is no action"},
           {Allow(R"("Action":[],"Resource":"*")"), "Statement[0].Action: has nothing in it"},
           {Allow(R"("Action":7,"Resource":"*")"),
            "Statement[0].Action: should be a text or a list of texts"},
           {Allow(R"("Action":["*",7],"Resource":"*")"), "Statement[0].Action: should hold texts alone"},
           {Allow(R"("Action":"*","Resource":"Log")"), "\"Log\" should be \"*\" or begin with \"arn:\""},
           {Deny(R"("Action":"*","Resource":"arn:")"), "\"arn:\" can be nothing of DynamoDB's"},
           {Deny(R"("Action":"*","Resource":"arn:aws:dynamodb:us-east-1:123456789012:tabel/Log")"),
            "can be nothing of DynamoDB's"},
           {Deny(R"("Action":"*","Resource":"arn:aws:dyanmodb:us-east-1:123456789012:table/Log")"),
            "can be nothing of DynamoDB's"},
           {Deny(R"("Action":"*","Resource":"arn:aws:dynamodb:us-east-1:table/Log")"), "can be nothing"},
           {Deny(R"("Action":"*","Resource":"arn:aws:dynamodb:::table/Log")"), "can be nothing"},
           {Deny(R"("Action":"*","Resource":"arn:aws:dynamodb:*:*:table/")"), "can be nothing"},
           {Deny(R"("Action":"*","Resource":"arn:aws:dynamodb:*:*:tabel/*")"), "can be nothing"},
           {Deny(R"("Action":"*","NotResource":"arn:aws:dynamodb:*:*:tebl*")"),
            "NotResource: \"arn:aws:dynamodb:*:*:tebl*\" can be nothing"},
           {Deny(R"("Action":"dynamodb:*","Resource":"arn:aws:s3:::files/*")"), "can be nothing"},
           {AllowIf(R"({"StringEquals":{}})"), "Condition.StringEquals: has nothing in it"},
           {AllowIf(R"({"StringEquals":{"dynamodb:LeadingKeys":"${aws:PrincipalTag/team, 'Log'}"}})"),
            "default values are not known here"},
           {AllowIf(R"({"StringEquals":{"aws:PrincipalTag/a,b":"c"}})"), "is no condition key"},
           {AllowIf(R"({"IpAddress":{"aws:SourceIp":"::1"}})"), "Condition.IpAddress: is no operator"},
           {AllowIf(R"({"ForSomeValues:StringEquals":{}})"),
            "Condition.ForSomeValues:StringEquals: is no operator"},
           {AllowIf(R"({"NullIfExists":{"dynamodb:Select":"true"}})"),
            "Condition.NullIfExists: is no operator"},
           {AllowIf(R"({"StringEquals":{"aws:SourceIp":"::1"}})"),
            "StringEquals.aws:SourceIp: is no condition key"},
           {AllowIf(R"({"StringEquals":{"dynamodb:LeadingKey":"a"}})"),
            "dynamodb:LeadingKey: is no condition key"},
           {AllowIf(R"({"Null":{"dynamodb:Select":"no"}})"), "\"no\" should be \"true\" or \"false\""},
           {AllowIf(R"({"StringEquals":{"dynamodb:LeadingKeys":"${aws:nobody}"}})"),
            "there is no variable \"${aws:nobody}\""},
           {AllowIf(R"({"StringEquals":{"dynamodb:LeadingKeys":"${aws:username"}})"), "has no end"},
           {AllowIf("[]"), "Statement[0].Condition: should be an object"},
           {"7", "Statement[0]: should be an object"},
           {"", "Statement: has nothing in it"},
       }) {
    auto permissions = Parse(bad.statements);
    ASSERT_FALSE(permissions) << bad.statements;
    EXPECT_EQ(permissions.error().code(), ErrorCode::kValidation);
    EXPECT_TRUE(permissions.error().message().starts_with("keys.json: policies.p."))
        << permissions.error().message();
    EXPECT_NE(permissions.error().message().find(bad.message), std::string::npos)
        << permissions.error().message();
  }
  EXPECT_NE(Parse(AllowIf(R"({"StringLike":{"dynamodb:LeadingKeys":"${aws:username}"}})"), "2008-10-17")
                .error()
                .message()
                .find("variables need \"Version\": \"2012-10-17\""),
            std::string::npos);
  EXPECT_NE(Parse(Allow(ok), "2012-10-18").error().message().find("policies.p.Version"), std::string::npos);
}

TEST(Permissions, RefusesFilesItDoesNotUnderstandAndSaysWhere) {
  struct Bad {
    const char* json;
    const char* message;
  };
  for (const Bad& bad : std::vector<Bad>{
           {"{", "keys.json: is not JSON"},
           {"[]", "keys.json: should be an object"},
           {R"({"role":{}})", "keys.json: role: is not known here"},
           {R"({"policies":{"p":{}}})", "keys.json: policies.p: has no \"Statement\""},
           {R"({"policies":{"p":{"Statements":[]}}})", "keys.json: policies.p.Statements: is no element"},
           {R"({"roles":{"r":"p"}})", "keys.json: roles.r: should be a list of policies"},
           {R"({"roles":{"r":["p"]}})", "keys.json: roles.r[0]: there is no policy \"p\""},
           {R"({"roles":{"r":[{"Statement":{"Effect":"Allow"}}]}})",
            "keys.json: roles.r[0].Statement: has neither"},
           {R"({"principals":{"a":{"roles":["r"]}}})",
            "keys.json: principals.a.roles: there is no role \"r\""},
           {R"({"principals":{"a":{"policy":[]}}})", "keys.json: principals.a.policy: is not known here"},
           {R"({"principals":{"a":{"tags":{"t":1}}}})", "keys.json: principals.a.tags.t: should be a text"},
       }) {
    auto permissions = Permissions::Parse(bad.json, "keys.json", {});
    ASSERT_FALSE(permissions) << bad.json;
    EXPECT_TRUE(permissions.error().message().starts_with(bad.message)) << permissions.error().message();
  }
}

TEST(Policy, TakesEveryResourceThatAnArnHereCanBe) {
  for (const char* resource :
       {"*", "arn:*", "arn:aws:dynamodb:*", "arn:aws:dynamodb:*:*:*", "arn:*:dynamodb:*:*:table/T",
        "arn:aws-cn:dynamodb:cn-north-1:1:table/T", "arn:aws:dynamo*:table/T", "arn:aws:dynamodb:?:*:tab*",
        "arn:aws:dynamodb:us-east-1:${aws:PrincipalTag/account}:table/${aws:username}",
        "arn:aws:dynamodb:us-east-1:123456789012:table/T/index/*", "arn:aws:dynamodb::1:global-table/G"}) {
    auto parsed = Parse(Allow(R"("Action":"dynamodb:*","Resource":")" + std::string(resource) + "\""));
    EXPECT_TRUE(parsed.has_value()) << parsed.error().message();
  }
}

TEST(Permissions, OnceThereArePrincipalsEveryAccessKeyBelongsToOne) {
  auto check = [](std::string_view file) {
    auto permissions = Permissions::Parse(file, "keys.json", {});
    auto keys = Credentials::Parse(
        R"({"accessKeys":{"A":{"secret":"s","principal":"ann"},"B":{"secret":"t","principal":"operator"}}})",
        "keys.json");
    Status checked = (*permissions)->CheckKeys(*keys);
    return checked ? std::string("ok") : checked.error().message();
  };
  EXPECT_EQ(check("{}"), "ok");
  EXPECT_EQ(check(R"({"roles":{"r":[]}})"), "ok") << "roles are of tokens";
  EXPECT_EQ(check(R"({"principals":{"ann":{},"operator":{}}})"), "ok");
  EXPECT_EQ(check(R"({"principals":{"ann":{},"oprator":{}}})"),
            "keys.json: principals: does not list \"operator\", to whom the access key B belongs. To let "
            "them do everything, write \"operator\": {\"policies\": [{\"Statement\": {\"Effect\": "
            "\"Allow\", \"Action\": \"dynamodb:*\", \"Resource\": \"*\"}}]}");
  EXPECT_NE(check(R"({"principals":{}})"), "ok");
}

TEST(Permissions, HoldsThoseWhoAreListed) {
  auto parsed = Permissions::Parse(
      R"({"principals": {"ann": {"roles": ["reader"]}, "idle": {}},
          "roles": {"reader": [{"Statement": {"Effect": "Allow", "Action": "dynamodb:Get*", "Resource": "*"}}],
                    "writer": ["put"]},
          "policies": {"put": {"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*",
             "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${aws:PrincipalTag/tenant}"}}}]}}})",
      "keys.json", {.region = "eu-west-1", .account = "1"});
  ASSERT_TRUE(parsed) << parsed.error().ToString();
  const Permissions& permissions = **parsed;
  auto may = [](const Principal* who, std::string_view action, const Facts& facts = {}) {
    Told told(facts);
    return who->Decide(static_cast<Action>(FindAction(action)), "arn:aws:dynamodb:eu-west-1:1:table/T", &told)
        .allowed();
  };
  EXPECT_TRUE(may(permissions.Named("ann"), "GetItem"));
  EXPECT_FALSE(may(permissions.Named("ann"), "PutItem"));
  EXPECT_FALSE(may(permissions.Named("idle"), "GetItem")) << "listed, and given nothing";
  EXPECT_EQ(permissions.Named("zoe"), nullptr) << "not listed: held to nothing";

  auto bearer = [&](std::string subject, std::string role) {
    return permissions.Of(
        {.issuer = "i", .subject = std::move(subject), .role = std::move(role), .tenant = "acme"});
  };
  EXPECT_EQ(bearer("zoe", "user"), nullptr);
  EXPECT_TRUE(may(bearer("zoe", "writer").get(), "PutItem", Keys({"acme"})));
  EXPECT_FALSE(may(bearer("zoe", "writer").get(), "PutItem", Keys({"other"})));
  EXPECT_FALSE(may(bearer("zoe", "writer").get(), "GetItem"));
  EXPECT_EQ(bearer("zoe", "writer")->info().arn, "arn:aws:sts::1:assumed-role/writer/zoe");
  EXPECT_TRUE(may(bearer("ann", "writer").get(), "GetItem")) << "her own and her role's";
  EXPECT_TRUE(may(bearer("ann", "user").get(), "GetItem"));
  EXPECT_FALSE(may(bearer("ann", "user").get(), "PutItem", Keys({"acme"})));
  EXPECT_EQ(bearer("ann", "user").get(), bearer("ann", "user").get()) << "bound once";
}

TEST(Glob, TakesWhatVariablesStandForLiterally) {
  auto permissions = Permissions::Parse(
      R"({"principals":{"*":{"policies":[{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*",
          "Resource":"arn:aws:dynamodb:us-east-1:123456789012:table/${aws:username}"}}]}}})",
      "keys.json", {});
  const Principal* star = (*permissions)->Named("*");
  EXPECT_FALSE(star->Decide(ActionOf("Scan"), std::string(kTables) + "T", nullptr).allowed());
  EXPECT_TRUE(star->Decide(ActionOf("Scan"), std::string(kTables) + "*", nullptr).allowed());
}

}  // namespace
}  // namespace holdfast::auth
