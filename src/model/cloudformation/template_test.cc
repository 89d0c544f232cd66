#include "model/cloudformation/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "holdfast/database.h"
#include "model/cloudformation/plan.h"

namespace holdfast::model::cloudformation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Template> Read(std::string_view text, const ReadOptions& options = {}) {
  return ReadTemplate(text, "t.yaml", options);
}

std::string Problem(std::string_view text, const ReadOptions& options = {}) {
  auto read = Read(text, options);
  return read ? "nothing wrong" : read.error().message();
}

// A table with one key and the lines given, each of which stands among its properties.
std::string Simple(const std::string& more = {}) {
  return "Resources:\n"
         "  Orders:\n"
         "    Type: AWS::DynamoDB::Table\n"
         "    Properties:\n"
         "      BillingMode: PAY_PER_REQUEST\n"
         "      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]\n"
         "      KeySchema: [{AttributeName: id, KeyType: HASH}]\n" +
         more;
}

TEST(Template, DB_I_01_FunctionsParametersAndOutputs) {
  auto read = Read(R"yaml(
AWSTemplateFormatVersion: '2010-09-09'
Parameters:
  Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}
  Owners: {Type: CommaDelimitedList, Default: "ann, bo"}
Mappings:
  Class: {prod: {Table: STANDARD_INFREQUENT_ACCESS}, dev: {Table: STANDARD}}
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
  IsNotProd: !Not [Condition: IsProd]
Resources:
  Second:
    Type: AWS::DynamoDB::Table
    DependsOn: First
    Condition: IsProd
    DeletionPolicy: Retain
    Properties:
      TableName: !Join ["-", [!Ref First, "${x}", second]]
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: N}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      DeletionProtectionEnabled: !If [IsProd, "true", !Ref AWS::NoValue]
      TableClass: !FindInMap [Class, !Ref Stage, Table]
  First:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "${Stage}-orders-${AWS::Region}"
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      ProvisionedThroughput: {ReadCapacityUnits: "5", WriteCapacityUnits: 6}
      TimeToLiveSpecification: {AttributeName: gone, Enabled: true}
      Tags:
        - {Key: Owners, Value: !Join ["+", !Ref Owners]}
        - {Key: Literal, Value: !Sub ["${a}/${!b}", {a: !Ref Stage}]}
  Third:
    Type: AWS::DynamoDB::Table
    Condition: IsNotProd
    Properties: {}
Outputs:
  Name: {Value: !Ref First}
  Arn: {Value: !GetAtt First.Arn}
  Both: {Value: {"Fn::Sub": "${Second.Arn}@${AWS::AccountId}"}}
)yaml",
                   {.parameters = {{"Stage", "prod"}}, .region = "eu-west-1"});
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->tables.size(), 2);
  const TableProperties& first = read->tables[0].properties;
  EXPECT_EQ(first.table_name, "prod-orders-eu-west-1") << "before what depends on it";
  EXPECT_EQ(first.provisioned_throughput, (ProvisionedThroughput{5, 6}));
  EXPECT_TRUE(first.time_to_live->enabled);
  EXPECT_EQ((*first.tags)[0].value, "ann+bo");
  EXPECT_EQ((*first.tags)[1].value, "prod/${b}");
  const TableProperties& second = read->tables[1].properties;
  EXPECT_EQ(second.table_name, "prod-orders-eu-west-1-${x}-second") << "only Fn::Sub looks for ${}";
  EXPECT_EQ(second.deletion_protection, true);
  EXPECT_EQ(second.table_class, TableClass::kInfrequentAccess);
  ASSERT_EQ(read->outputs.size(), 3);
  EXPECT_EQ(read->outputs[1].value, "arn:aws:dynamodb:eu-west-1:123456789012:table/prod-orders-eu-west-1");
  EXPECT_THAT(read->outputs[2].value, HasSubstr("-second@123456789012"));
  ASSERT_EQ(read->skipped.size(), 1);
  EXPECT_EQ(read->skipped[0].path, "Resources.Third");
}

TEST(Template, LookingUpAMapLeavesItAsItIs) {
  std::string mappings = "Mappings:\n  Names: {dev: {Table: orders, Tag: blue}, prod: {Table: sales}}\n";
  auto joined =
      Read(mappings + Simple("      TableName: !Join ['-', [!FindInMap [Names, dev, Table], x, !FindInMap "
                             "[Names, prod, Table]]]\n"
                             "      Tags: [{Key: a, Value: !FindInMap [Names, dev, Tag]}]\n"));
  ASSERT_TRUE(joined) << joined.error().message();
  EXPECT_EQ(joined->tables[0].properties.table_name, "orders-x-sales");
  EXPECT_EQ((*joined->tables[0].properties.tags)[0].value, "blue");
  auto plain = Read(mappings +
                    Simple("      TableName: !FindInMap [Names, dev, Table]\n"
                           "      Tags: [{Key: a, Value: !FindInMap [Names, dev, Table]}]\n") +
                    "Outputs: {O: {Value: !FindInMap [Names, prod, Table]}}\n");
  ASSERT_TRUE(plain) << plain.error().message();
  EXPECT_EQ(plain->tables[0].properties.table_name, "orders");
  EXPECT_EQ((*plain->tables[0].properties.tags)[0].value, "orders");
  EXPECT_EQ(plain->outputs[0].value, "sales");
  EXPECT_EQ(Problem(mappings + Simple("      TableName: !FindInMap [Names, test, Table]\n")),
            "t.yaml:10: Resources.Orders.Properties.TableName: there is no Mappings.Names.test");
}

TEST(Template, WhatIsSwitchedOffNeedSayNoMore) {
  auto read = Read(
      "Conditions: {Never: !Equals [a, b]}\n" +
      Simple("      TimeToLiveSpecification: {Enabled: false}\n"
             "      PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: !If [Never, true, !Ref "
             "AWS::NoValue]}\n"));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_FALSE(read->tables[0].properties.time_to_live->enabled);
  EXPECT_FALSE(read->tables[0].properties.point_in_time_recovery->point_in_time_recovery_enabled);
  EXPECT_EQ(Problem(Simple("      PointInTimeRecoverySpecification: {}\n")), "nothing wrong");
  EXPECT_EQ(Problem(Simple("      TimeToLiveSpecification: {Enabled: true}\n")),
            "t.yaml:8: Resources.Orders.Properties.TimeToLiveSpecification: has no AttributeName");
  EXPECT_EQ(Problem(Simple("      TimeToLiveSpecification: {Enabled: false, Colour: red}\n")),
            "t.yaml:8: Resources.Orders.Properties.TimeToLiveSpecification.Colour: no property of "
            "TimeToLiveSpecification");
}

TEST(Template, DB_I_03_SimpleTable) {
  auto read = Read(R"yaml(
Transform: AWS::Serverless-2016-10-31
Globals:
  SimpleTable: {SSESpecification: {SSEEnabled: true}}
Resources:
  Plain: {Type: AWS::Serverless::SimpleTable}
  Keyed:
    Type: AWS::Serverless::SimpleTable
    Properties:
      PrimaryKey: {Name: n, Type: Number}
      ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 2}
      SSESpecification: {SSEEnabled: false}
      Tags: {a: b}
)yaml");
  ASSERT_TRUE(read) << read.error().message();
  const TableProperties& plain = read->tables[0].properties;
  EXPECT_EQ(plain.table_name, "Plain");
  EXPECT_EQ(plain.attribute_definitions,
            (std::vector<AttributeDefinition>{{"id", ScalarAttributeType::kString}}));
  EXPECT_EQ(plain.billing_mode, BillingMode::kPayPerRequest);
  EXPECT_TRUE(plain.encryption->enabled) << "by Globals";
  const TableProperties& keyed = read->tables[1].properties;
  EXPECT_EQ(keyed.attribute_definitions,
            (std::vector<AttributeDefinition>{{"n", ScalarAttributeType::kNumber}}));
  EXPECT_EQ(keyed.billing_mode, BillingMode::kProvisioned);
  EXPECT_FALSE(keyed.encryption->enabled);
  EXPECT_EQ((*keyed.tags)[0].key, "a");
  EXPECT_THAT(Problem("Resources: {A: {Type: AWS::Serverless::SimpleTable}}"),
              HasSubstr("needs the line `Transform"));
}

TEST(Template, GlobalTablesHaveOneReplica) {
  auto text = [](const std::string& replicas) {
    return "Resources: {G: {Type: 'AWS::DynamoDB::GlobalTable', Properties: {BillingMode: PAY_PER_REQUEST, "
           "AttributeDefinitions: [{AttributeName: id, AttributeType: S}], KeySchema: [{AttributeName: id, "
           "KeyType: "
           "HASH}], Replicas: [" +
           replicas + "]}}}";
  };
  auto read = Read(text("{Region: us-east-1, DeletionProtectionEnabled: true, Tags: [{Key: a, Value: b}]}"));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->tables[0].properties.deletion_protection, true);
  EXPECT_EQ(read->tables[0].properties.tags->size(), 1);
  EXPECT_THAT(Problem(text("{Region: us-east-1}, {Region: eu-west-1}")),
              HasSubstr("Resources.G.Properties.Replicas[1]: a second replica (eu-west-1)"));
  EXPECT_THAT(Problem(text("")), HasSubstr("Properties.Replicas: should have at least 1 elements"));
  EXPECT_EQ(Problem(text("{Region: us-east-1, SSESpecification: {KMSMasterKeyId: a}}")).substr(0, 67),
            "t.yaml:1: Resources.G.Properties.Replicas[0].SSESpecification: the ");
  EXPECT_THAT(Problem(text("{Region: us-east-1, GlobalSecondaryIndexes: [{IndexName: byG}]}")),
              HasSubstr("Replicas[0].GlobalSecondaryIndexes[0]: the table has no index byG"));
  std::string provisioned = text("{Region: us-east-1}");
  provisioned.erase(provisioned.find("BillingMode"), 29);
  EXPECT_THAT(Problem(provisioned), HasSubstr("on demand only: BillingMode should be PAY_PER_REQUEST"));
}

// As CDK's TableV2 writes one of one region.
TEST(Template, GlobalTablesSayMuchOfTheirReplica) {
  auto read = Read(R"yaml(
Parameters:
  BootstrapVersion: {Type: "AWS::SSM::Parameter::Value<String>", Default: /cdk-bootstrap/x/version}
Rules: {CheckBootstrapVersion: {Assertions: [{Assert: {"Fn::Not": [{"Fn::Contains": [["1"], {Ref: BootstrapVersion}]}]}}]}}
Resources:
  CDKMetadata: {Type: "AWS::CDK::Metadata", Properties: {Analytics: v2}, Metadata: {"aws:cdk:path": S/CDKMetadata}}
  G:
    Type: AWS::DynamoDB::GlobalTable
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}, {AttributeName: g, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      GlobalSecondaryIndexes:
        - IndexName: byG
          KeySchema: [{AttributeName: g, KeyType: HASH}]
          Projection: {ProjectionType: ALL}
          WarmThroughput: {ReadUnitsPerSecond: 13000, WriteUnitsPerSecond: 5000}
          WriteOnDemandThroughputSettings: {MaxWriteRequestUnits: 7}
      SSESpecification: {SSEEnabled: true, SSEType: KMS}
      WriteOnDemandThroughputSettings: {MaxWriteRequestUnits: 8}
      Replicas:
        - Region: !Ref AWS::Region
          ContributorInsightsSpecification: {Enabled: false}
          ReadOnDemandThroughputSettings: {MaxReadRequestUnits: 6}
          SSESpecification: {KMSMasterKeyId: one}
          GlobalSecondaryIndexes:
            - IndexName: byG
              ContributorInsightsSpecification: {Enabled: false}
              ReadOnDemandThroughputSettings: {MaxReadRequestUnits: 5}
)yaml");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->skipped[0].path, "Resources.CDKMetadata");
  const TableProperties& table = read->tables[0].properties;
  EXPECT_EQ(table.on_demand_throughput, (OnDemandThroughput{6, 8}));
  EXPECT_EQ(table.encryption->kms_master_key_id, "one");
  const GlobalSecondaryIndex& index = (*table.global_secondary_indexes)[0];
  EXPECT_EQ(index.on_demand_throughput, (OnDemandThroughput{5, 7}));
  EXPECT_EQ(index.warm_throughput->read_units_per_second, 13000);
  EXPECT_EQ(index.warm_throughput->write_units_per_second, 5000);
}

TEST(Template, DB_I_02_WhatIsNotSupportedIsNamedWithItsPlace) {
  EXPECT_EQ(Problem(Simple("      TableKlass: STANDARD\n")),
            "t.yaml:8: Resources.Orders.Properties.TableKlass: no property of AWS::DynamoDB::Table");
  EXPECT_EQ(
      Problem(Simple("      SSESpecification:\n        SSEEnabled: true\n        Colour: red\n")),
      "t.yaml:10: Resources.Orders.Properties.SSESpecification.Colour: no property of SSESpecification");
  EXPECT_EQ(Problem(Simple("      ContributorInsightsSpecification: {Enabled: false}\n")), "nothing wrong");
  EXPECT_EQ(
      Problem(Simple("      ContributorInsightsSpecification: {Enabled: true}\n")),
      "t.yaml:8: Resources.Orders.Properties.ContributorInsightsSpecification.Enabled: not supported by "
      "holdfast, and may only be false");
  EXPECT_THAT(
      Problem(Simple("      GlobalSecondaryIndexes: [{IndexName: byId, KeySchema: [{AttributeName: id, "
                     "KeyType: HASH}], Projection: {ProjectionType: ALL}, "
                     "ContributorInsightsSpecification: {Enabled: true}}]\n")),
      HasSubstr("GlobalSecondaryIndexes[0].ContributorInsightsSpecification.Enabled: not supported"));
  for (const char* name : {"KinesisStreamSpecification", "ImportSourceSpecification", "ResourcePolicy"}) {
    EXPECT_EQ(Problem(Simple("      " + std::string(name) + ": {Enabled: true}\n")),
              "t.yaml:8: Resources.Orders.Properties." + std::string(name) +
                  ": not supported by holdfast (AWS::DynamoDB::Table)");
  }
  EXPECT_EQ(Problem(Simple("      TableClass: CHEAP\n")),
            "t.yaml:8: Resources.Orders.Properties.TableClass: should be one of STANDARD, "
            "STANDARD_INFREQUENT_ACCESS");
  EXPECT_EQ(Problem(Simple("      TableName: !ImportValue x\n")),
            "t.yaml:8: Resources.Orders.Properties.TableName: the function Fn::ImportValue is not supported");
  EXPECT_EQ(Problem(Simple("      TableName: {'Fn::Select': [0, [a]]}\n")),
            "t.yaml:8: Resources.Orders.Properties.TableName: the function Fn::Select is not supported");
  EXPECT_EQ(Problem(Simple("      TableName: !Ref Nobody\n")),
            "t.yaml:8: Resources.Orders.Properties.TableName: there is no resource or parameter Nobody");
  EXPECT_EQ(Problem(Simple("      TableName: !Ref Orders\n")),
            "t.yaml:3: Resources.Orders: its name rests on itself");
  EXPECT_EQ(Problem(Simple("    CreationPolicy: {}\n")).substr(0, 52),
            "t.yaml:8: Resources.Orders: unknown key CreationPoli");
  EXPECT_EQ(Problem(Simple() + "  Queue: {Type: AWS::SQS::Queue}\n").substr(0, 62),
            "t.yaml:8: Resources.Queue.Type: AWS::SQS::Queue is not support");
  EXPECT_EQ(Problem(Simple() + "Transform: AWS::Include\n"),
            "t.yaml:8: Transform: the transform AWS::Include is not supported");
  EXPECT_EQ(Problem(Simple() + "AWSTemplateFormatVersion: foo\n"),
            "t.yaml:8: AWSTemplateFormatVersion: should be one of 2010-09-09");
  EXPECT_EQ(Problem(Simple("    DeletionPolicy: Banana\n")),
            "t.yaml:8: Resources.Orders.DeletionPolicy: should be one of Delete, Retain, "
            "RetainExceptOnCreate, Snapshot");
  EXPECT_EQ(
      Problem(Simple("      TableName: null\n")),
      "t.yaml:8: Resources.Orders.Properties.TableName: has no value; AWS::NoValue leaves a property out");
  EXPECT_THAT(Problem(Simple() + "---\n" + Simple()), HasSubstr("t.yaml:8: a file has one document"));
  EXPECT_EQ(Problem(Simple("      StreamSpecification: !Ref AWS::NoValue\n") +
                    "Outputs: {S: {Value: !GetAtt Orders.StreamArn}}\n"),
            "t.yaml:9: Outputs.S.Value: Orders has no StreamSpecification");
  EXPECT_THAT(Problem(Simple(), {.parameters = {{"P", "x"}}}), HasSubstr("there is no parameter P"));
  EXPECT_THAT(Problem("Resources: {A: {Type: 'AWS::DynamoDB::Table'}}"), HasSubstr("has no KeySchema"));
  EXPECT_THAT(Problem("Resources: [1]"), HasSubstr("a map that has Resources"));
  EXPECT_THAT(Problem("a: b: c"), HasSubstr("t.yaml:1: "));
}

// Tools put parameters into every template that no table uses.
TEST(Template, ParametersAreReadWhenTheyAreReferredTo) {
  std::string unused =
      "Parameters:\n"
      "  Ssm: {Type: 'AWS::SSM::Parameter::Value<String>', Default: /a/b}\n"
      "  Vpc: {Type: 'AWS::EC2::VPC::Id'}\n"
      "  Missing: {Type: String}\n";
  EXPECT_EQ(Problem(Simple() + unused), "nothing wrong");
  EXPECT_EQ(Problem(Simple("      TableName: !Ref Ssm\n") + unused),
            "t.yaml:8: Resources.Orders.Properties.TableName: the parameter Ssm: parameters of type "
            "AWS::SSM::Parameter::Value<String> are not supported");
  EXPECT_THAT(Problem(Simple("      TableName: !Sub 'x-${Missing}'\n") + unused),
              HasSubstr("the parameter Missing: it has no default: give it by --parameter Missing=…"));
  std::string outputs =
      "Conditions: {C: !Equals [!Ref Ssm, x]}\n"
      "Outputs: {A: {Value: !ImportValue b}, B: {Value: !Ref Vpc}, C: {Condition: C, Value: x}, T: {Value: "
      "!Ref Orders}, U: {Value: !Join ['', !Ref Vpc]}}\n";
  EXPECT_THAT(Problem(Simple() + unused + outputs),
              HasSubstr("Outputs.A.Value: the function Fn::ImportValue"));
  auto read = Read(Simple() + unused + outputs, {.tables_only = true});
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->outputs.size(), 1);
  ASSERT_EQ(read->skipped.size(), 4);
  EXPECT_EQ(read->skipped[0].path, "Outputs.A");
  EXPECT_EQ(read->skipped[2].path, "Outputs.C");
  EXPECT_THAT(Problem(Simple("    Condition: C\n") + unused + outputs, {.tables_only = true}),
              HasSubstr("the parameter Ssm: "))
      << "of a table it has to be known";
}

TEST(Template, ParametersKeepTheirBounds) {
  auto text = [](const std::string& parameter) {
    return Simple() + "Parameters: {P: {" + parameter + "}}\n";
  };
  EXPECT_EQ(Problem(text("Type: String, Default: abc, MinLength: 3, MaxLength: 3")), "nothing wrong");
  EXPECT_THAT(Problem(text("Type: String, Default: abcd, MaxLength: 3")),
              HasSubstr("longer than its MaxLength"));
  EXPECT_THAT(Problem(text("Type: String, Default: a, MinLength: 3")),
              HasSubstr("shorter than its MinLength"));
  EXPECT_THAT(Problem(text("Type: Number, Default: 4, MaxValue: 3.5")), HasSubstr("more than its MaxValue"));
  EXPECT_THAT(Problem(text("Type: Number, Default: 3, MinValue: 3.5")), HasSubstr("less than its MinValue"));
  EXPECT_EQ(Problem(text("Type: CommaDelimitedList, Default: 'a, b', AllowedValues: [a, b]")),
            "nothing wrong");
  EXPECT_THAT(Problem(text("Type: List<Number>, Default: '1,x'")), HasSubstr("x is no number"));
}

TEST(Template, JsonMayWriteCharactersAsTwoEscapes) {
  std::string text = R"({"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {
    "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "Tags": [{"Key": "a", "Value": "\u00e9\ud83d\ude00 \\ud83d\\ude00"}]}}}})";
  auto read = Read(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ((*read->tables[0].properties.tags)[0].value, "é😀 \\ud83d\\ude00");
}

TEST(Template, TablesOnlyLeavesOthersOut) {
  auto read = Read(Simple() +
                       "  Queue: {Type: AWS::SQS::Queue}\n"
                       "Outputs: {Q: {Value: !GetAtt Queue.Arn}, T: {Value: !Ref Orders}}\n",
                   {.tables_only = true});
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->skipped.size(), 2);
  EXPECT_EQ(read->skipped[0].why, "AWS::SQS::Queue");
  EXPECT_EQ(read->skipped[1].path, "Outputs.Q");
  EXPECT_EQ(read->outputs.size(), 1);
}

TEST(Template, TablesOnlyLeavesTheKeysOfOthersOut) {
  std::string key = "  Key: {Type: AWS::KMS::Key}\n";
  for (const char* named :
       {"!GetAtt Key.Arn", "!Ref Key", "!Sub '${Key.Arn}'", "{'Fn::GetAtt': [Key, Arn]}"}) {
    std::string text = Simple("      SSESpecification: {SSEEnabled: true, SSEType: KMS, KMSMasterKeyId: " +
                              std::string(named) + "}\n") +
                       key;
    auto read = Read(text, {.tables_only = true});
    ASSERT_TRUE(read) << read.error().message();
    const SseProperties& encryption = *read->tables[0].properties.encryption;
    EXPECT_TRUE(encryption.enabled);
    EXPECT_EQ(encryption.kms_master_key_id, std::nullopt) << named;
    ASSERT_EQ(read->skipped.size(), 2);
    EXPECT_EQ(read->skipped[0].path, "Resources.Orders.Properties.SSESpecification.KMSMasterKeyId");
    EXPECT_EQ(read->skipped[0].why, "names Key, which is no table");
    EXPECT_THAT(Problem(text), HasSubstr("KMSMasterKeyId: names Key, which is no table"));
  }
  EXPECT_THAT(
      Problem(Simple("      SSESpecification: {SSEEnabled: true, KMSMasterKeyId: !Ref Nobody}\n") + key,
              {.tables_only = true}),
      HasSubstr("there is no resource or parameter Nobody"));
  EXPECT_THAT(Problem(Simple("      SSESpecification: {SSEEnabled: true, KMSMasterKeyId: !Ref Orders}\n"
                             "      TableName: !Ref Key\n") +
                          key,
                      {.tables_only = true}),
              HasSubstr("TableName: names Key, which is no table"));
}

TEST(Template, CirclesAndBombsEnd) {
  EXPECT_THAT(Problem(Simple("    DependsOn: Orders\n")), HasSubstr("in a circle"));
  EXPECT_THAT(Problem(Simple() + "Conditions: {A: {Condition: B}, B: {Condition: A}}\n"
                                 "Outputs: {O: {Condition: A, Value: x}}\n"),
              HasSubstr("Conditions.A: rests on itself"));
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) bomb += std::string(i == 0 ? "*" : ", *") + static_cast<char>(c - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(Problem(bomb), HasSubstr("too large or nested too deeply"));
  EXPECT_THAT(Problem(std::string(100'000, '[')), HasSubstr("t.yaml:"));
  std::string joins = Simple() + "Parameters: {P: {Type: String, Default: " + std::string(100'000, 'x') +
                      "}}\n" + "Outputs:\n";
  for (int i = 0; i < 100; ++i) joins += "  O" + std::to_string(i) + ": {Value: !Sub '${P}${P}${P}'}\n";
  EXPECT_THAT(Problem(joins), HasSubstr("more than 8 MB"));
  std::string empties;
  for (int i = 0; i < 200'000; ++i) empties += "${P}";
  EXPECT_THAT(Problem(Simple() + "Parameters: {P: {Type: String, Default: ''}}\nOutputs: {O: {Value: !Sub '" +
                      empties + "'}}\n"),
              HasSubstr("more than 8 MB"));
  EXPECT_THAT(Problem(Simple() + "Outputs: {O: {Value: !Sub ['" + empties + "', {P: ''}]}}\n"),
              HasSubstr("more than 8 MB"));
  auto number = [](int i) { return std::to_string(i); };
  std::string chain = Simple() + "Outputs: {O: {Condition: C0, Value: x}}\nConditions:\n";
  for (int i = 0; i < 1000; ++i) chain += "  C" + number(i) + ": {Condition: C" + number(i + 1) + "}\n";
  EXPECT_THAT(Problem(chain), HasSubstr("rests on too many others"));
}

// --- on a store ---

class Applied : public ::testing::Test {
 protected:
  Applied() : database_(*Database::Open({})), store_(EmbeddedStore(database_.get())) {}

  Result<std::vector<TableReport>> Apply(const std::string& text) {
    HF_TRY(Template read, Read(text));
    HF_TRY(auto plans, PlanTables(store_.get(), read, "t.yaml"));
    return Execute(store_.get(), plans);
  }
  std::vector<std::string> Details(const std::string& text) {
    auto reports = Apply(text);
    if (!reports) return {reports.error().message()};
    return (*reports)[0].details;
  }

  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
};

TEST_F(Applied, TwiceChangesNothing) {
  std::string text = Simple(
      "      Tags: [{Key: b, Value: c}, {Key: a, Value: d}]\n"
      "      TimeToLiveSpecification: {AttributeName: gone, Enabled: true}\n");
  EXPECT_EQ((*Apply(text))[0].status, "created");
  auto again = Apply(text);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ((*again)[0].status, "as it should be");
  EXPECT_TRUE((*again)[0].details.empty());
}

TEST_F(Applied, MaximaGoWithBillingOnDemand) {
  auto text = [](const std::string& table, const std::string& index) {
    std::string made = Simple(table +
                              "      GlobalSecondaryIndexes:\n"
                              "        - IndexName: byId\n"
                              "          KeySchema: [{AttributeName: id, KeyType: HASH}]\n"
                              "          Projection: {ProjectionType: ALL}\n" +
                              index);
    return made.erase(made.find("      BillingMode"),
                      made.find("      AttributeDef") - made.find("      Bill"));
  };
  std::string on_demand =
      text("      BillingMode: PAY_PER_REQUEST\n      OnDemandThroughput: {MaxReadRequestUnits: 5}\n",
           "          OnDemandThroughput: {MaxWriteRequestUnits: 6}\n");
  std::string provisioned =
      text("      ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 2}\n",
           "          ProvisionedThroughput: {ReadCapacityUnits: 3, WriteCapacityUnits: 4}\n");
  ASSERT_TRUE(Apply(on_demand));
  EXPECT_THAT(Details(provisioned), ElementsAre("bill it as PROVISIONED"));
  EXPECT_TRUE(Details(provisioned).empty());
  EXPECT_THAT(Details(on_demand), ElementsAre("bill it as PAY_PER_REQUEST", "set its maximum on demand",
                                              "change the throughput of the index byId"));
  EXPECT_TRUE(Details(on_demand).empty());
  std::string without =
      Simple("      ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 2}\n");
  without.erase(without.find("      BillingMode"),
                without.find("      AttributeDef") - without.find("      Bill"));
  EXPECT_THAT(Details(without), ElementsAre("delete the index byId", "bill it as PROVISIONED"));
  EXPECT_TRUE(Details(without).empty());
}

// Nothing is lost to a step that could not have been done after it.
TEST_F(Applied, WhatAStoreWillRefuseIsKnownBefore) {
  std::string index =
      "      GlobalSecondaryIndexes: [{IndexName: byId, KeySchema: [{AttributeName: id, KeyType: HASH}], "
      "Projection: {ProjectionType: ALL}}]\n";
  auto warm = [](const std::string& reads) {
    return "      WarmThroughput: {ReadUnitsPerSecond: " + reads + "}\n";
  };
  ASSERT_TRUE(Apply(Simple(index + warm("15000"))));
  EXPECT_TRUE(Details(Simple(index + warm("15000"))).empty()) << "what it does not say stays";
  EXPECT_THAT(
      Details(Simple(warm("14000"))),
      ElementsAre(HasSubstr("WarmThroughput is 15000 reads and would become 14000: it can only rise")));
  EXPECT_THAT(Details(Simple(warm("16000"))), ElementsAre("warm it", "delete the index byId"));
}

TEST_F(Applied, AnotherKeyIsTaken) {
  auto text = [](const std::string& key) {
    return Simple("      SSESpecification: {SSEEnabled: true, SSEType: KMS" + key + "}\n");
  };
  ASSERT_TRUE(Apply(text("")));
  EXPECT_TRUE(Details(text("")).empty());
  EXPECT_EQ(ExportTemplate(store_.get(), {"Orders"})->find("KMSMasterKeyId"), std::string::npos);
  EXPECT_THAT(Details(text(", KMSMasterKeyId: alias/one")), ElementsAre("encrypt it with the key alias/one"));
  EXPECT_TRUE(Details(text(", KMSMasterKeyId: alias/one")).empty());
  EXPECT_THAT(Details(text(", KMSMasterKeyId: one")), ElementsAre("encrypt it with the key one"));
  EXPECT_TRUE(Details(text(", KMSMasterKeyId: one")).empty());
  EXPECT_TRUE(Details(text("")).empty()) << "one that is no longer named stays";
  std::string exported = *ExportTemplate(store_.get(), {"Orders"});
  EXPECT_THAT(exported, HasSubstr("KMSMasterKeyId: arn:aws:kms:us-east-1:123456789012:key/one"));
  EXPECT_TRUE(Details(exported).empty());
}

TEST_F(Applied, AClassThatIsSaidIsShown) {
  auto shown = [&] { return store_->Run(DescribeTableRequest{"Orders"})->table.table_class_summary; };
  ASSERT_TRUE(Apply(Simple()));
  EXPECT_FALSE(shown());
  std::string said = Simple("      TableClass: STANDARD\n");
  EXPECT_TRUE(Details(said).empty()) << "it is of that class already";
  ASSERT_TRUE(store_->Run(DeleteTableRequest{"Orders"}));
  ASSERT_TRUE(Apply(said));
  ASSERT_TRUE(shown());
  EXPECT_EQ(shown()->table_class, TableClass::kStandard);
  EXPECT_TRUE(Details(said).empty());
  EXPECT_TRUE(Details(Simple()).empty()) << "the default";
  std::string exported = *ExportTemplate(store_.get(), {"Orders"});
  EXPECT_TRUE(Details(exported).empty());
  ASSERT_TRUE(store_->Run(DeleteTableRequest{"Orders"}));
  ASSERT_TRUE(Apply(exported));
  EXPECT_TRUE(shown());
  EXPECT_EQ(*ExportTemplate(store_.get(), {"Orders"}), exported);
}

TEST_F(Applied, GlobalTablesHaveAnId) {
  std::string text =
      Simple("      Replicas: [{Region: us-east-1}]\n") + "Outputs: {Id: {Value: !GetAtt Orders.TableId}}\n";
  EXPECT_THAT(Problem(text), HasSubstr("Orders has no attribute TableId; it has Arn and StreamArn"));
  text.replace(text.find("::Table"), 7, "::GlobalTable");
  auto read = Read(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->outputs[0].value, "(known when it is made)");
  ASSERT_TRUE(Apply(text));
  auto outputs = OutputsOf(store_.get(), text, "t.yaml", {}, *read);
  ASSERT_TRUE(outputs) << outputs.error().message();
  EXPECT_EQ((*outputs)[0].value, store_->Run(DescribeTableRequest{"Orders"})->table.table_id);
}

TEST_F(Applied, ChangesWhatCanBeChangedOnline) {
  std::string index =
      "      GlobalSecondaryIndexes: [{IndexName: byKind, KeySchema: [{AttributeName: kind, KeyType: HASH}], "
      "Projection: {ProjectionType: ALL}}]\n";
  auto with_kind = [](std::string text) {
    return text.replace(text.find("[{AttributeName: id, AttributeType: S}]"), 39,
                        "[{AttributeName: id, AttributeType: S}, {AttributeName: kind, AttributeType: S}]");
  };
  ASSERT_TRUE(Apply(Simple("      Tags: [{Key: a, Value: b}]\n")));
  EXPECT_THAT(
      Details(with_kind(Simple(index + "      DeletionProtectionEnabled: true\n"
                                       "      TimeToLiveSpecification: {AttributeName: gone, Enabled: true}\n"
                                       "      Tags: [{Key: c, Value: d}]\n"))),
      ElementsAre("add the index byKind: kind:S", "protect it from deletion", "TTL by gone",
                  "remove the tags a", "tag it c=d"));
  EXPECT_THAT(Details(Simple()), ElementsAre("delete the index byKind", "no longer protect it from deletion",
                                             "no TTL by gone", "remove the tags c"));
  EXPECT_EQ((*Apply(Simple()))[0].status, "as it should be");
}

TEST_F(Applied, RefusesWhatWouldReplaceTheTableAndChangesNothing) {
  ASSERT_TRUE(Apply(Simple()));
  std::string other = Simple("      DeletionProtectionEnabled: true\n");
  for (size_t at = other.find(" id,"); at != std::string::npos; at = other.find(" id,"))
    other.replace(at, 4, " nr,");
  EXPECT_THAT(Details(other),
              ElementsAre(HasSubstr("t.yaml:3: Resources.Orders: the table Orders: the key is id:S and "
                                    "would become nr:S")));
  EXPECT_EQ((*Apply(Simple()))[0].status, "as it should be");
}

// The second table is wrong: the first is not made either.
TEST_F(Applied, AllIsCheckedBeforeAnythingIsMade) {
  std::string text =
      Simple() +
      "  Wrong: {Type: 'AWS::DynamoDB::Table', Properties: {AttributeDefinitions: [], KeySchema: "
      "[{AttributeName: id, KeyType: HASH}], BillingMode: PAY_PER_REQUEST}}\n";
  EXPECT_THAT(Details(text), ElementsAre(HasSubstr("t.yaml:8: Resources.Wrong: ")));
  EXPECT_TRUE(store_->Run(ListTablesRequest{})->table_names.empty());
}

TEST_F(Applied, DB_I_02_ExportsRoundTrip) {
  ASSERT_TRUE(
      Apply(Simple("      Tags: [{Key: 'odd: key', Value: '- @1: /'}]\n"
                   "      TableClass: STANDARD_INFREQUENT_ACCESS\n"
                   "      LocalSecondaryIndexes: []\n"
                   "      TimeToLiveSpecification: {AttributeName: 'no', Enabled: true}\n")));
  auto text = ExportTemplate(store_.get(), {"Orders"});
  ASSERT_TRUE(text) << text.error().message();
  auto again = Apply(*text);
  ASSERT_TRUE(again) << again.error().message() << *text;
  EXPECT_EQ((*again)[0].status, "as it should be") << *text;
  ASSERT_TRUE(store_->Run(DeleteTableRequest{"Orders"}));
  ASSERT_TRUE(Apply(*text));
  EXPECT_EQ(*ExportTemplate(store_.get(), {"Orders"}), *text);
  EXPECT_EQ(ExportTemplate(store_.get(), {"Nobody"}).error().code(), ErrorCode::kResourceNotFound);
}

TEST_F(Applied, DB_I_02_NamesThatLookAlikeAreExportedTogether) {
  std::vector<std::string> tables = {"a-bb", "a.bb", "Foo", "FooTable", "Foo2", "2Tables"};
  for (const std::string& name : tables) ASSERT_TRUE(Apply(Simple("      TableName: " + name + "\n")));
  auto text = ExportTemplate(store_.get(), tables);
  ASSERT_TRUE(text);
  auto read = Read(*text);
  ASSERT_TRUE(read) << read.error().message() << *text;
  EXPECT_EQ(read->tables.size(), tables.size());
  EXPECT_EQ(read->outputs.size(), 2 * tables.size());
}

}  // namespace
}  // namespace holdfast::model::cloudformation
