// Alarms at times that the test sets, and as a server shows them: REST, WebSocket, metrics.
#include "wire/alarms.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "json/plain.h"
#include "ops/operations.h"
#include "wire/channel_testing.h"
#include "wire/front.h"
#include "wire/http_server.h"
#include "wire/http_testing.h"
#include "wire/rest.h"
#include "wire/server_alarms.h"

namespace holdfast::wire {
namespace {

constexpr int64_t kNow = 1'800'000'000'000;  // 2027-01-15T08:00:00Z

const std::string kJsonType = "Content-Type: application/json";

// One alarm as its JSON has it.
AttributeMap Shown(const Alarms& alarms, std::string_view name) {
  AttributeMap all = json::ReadPlainItem(alarms.Json())->ToMap();
  for (const AttributeValue& alarm : all["alarms"].AsList()) {
    if (alarm.AsMap().at("name").AsText() == name) return alarm.AsMap();
  }
  return {};
}
std::string StateOf(const Alarms& alarms, std::string_view name) {
  return Shown(alarms, name)["state"].AsText();
}
std::string ReasonOf(const Alarms& alarms, std::string_view name) {
  return Shown(alarms, name)["reason"].AsText();
}

class AlarmsTest : public ::testing::Test {
 protected:
  AlarmSpec Counter(double threshold) {
    return {"it", "", "things", AlarmSpec::Kind::kGrowth, [this] { return figures_; }, threshold, 300};
  }
  void Look(int64_t seconds_later = 0) {
    clock_.Advance(seconds_later * 1000);
    alarms_.Evaluate();
  }

  base::ManualClock clock_{kNow};
  base::Log log_{base::LogLevel::kNone};
  Figures figures_;
  Alarms alarms_{{.clock = &clock_, .log = &log_}};
};

TEST_F(AlarmsTest, GrowthIsWatchedOverAWindow) {
  figures_["old"] = 1000;  // from before: nobody's growth
  alarms_.Add(Counter(10));
  Look();
  EXPECT_EQ(StateOf(alarms_, "it"), "OK");
  EXPECT_EQ(ReasonOf(alarms_, "it"), "no things in the last 5 minutes");
  figures_["old"] += 4;
  figures_["new"] = 6;
  Look(5);
  EXPECT_EQ(StateOf(alarms_, "it"), "OK") << "ten are not above ten";
  EXPECT_EQ(ReasonOf(alarms_, "it"), "10 things in the last 5 minutes: new 6, old 4");
  figures_["new"] += 1;
  Look(100);
  EXPECT_EQ(StateOf(alarms_, "it"), "ALARM");
  Look(199);
  EXPECT_EQ(StateOf(alarms_, "it"), "ALARM");
  Look(1);
  EXPECT_EQ(StateOf(alarms_, "it"), "OK") << "the ten are five minutes old";
  EXPECT_EQ(ReasonOf(alarms_, "it"), "1 thing in the last 5 minutes: new 1");
  std::vector<AttributeValue> history = Shown(alarms_, "it")["history"].AsList();
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].AsMap().at("state").AsText(), "OK");
  EXPECT_EQ(history[1].AsMap().at("at").AsText(), "2027-01-15T08:01:45.000Z");
}

// A table is dropped and made again: its counters begin at nothing.
TEST_F(AlarmsTest, WhatShrankHasBegunAnew) {
  figures_["t"] = 100;
  alarms_.Add(Counter(0));
  Look();
  figures_["t"] = 3;
  Look(5);
  EXPECT_EQ(ReasonOf(alarms_, "it"), "3 things in the last 5 minutes: t 3");
  figures_.clear();
  Look(5);
  EXPECT_EQ(StateOf(alarms_, "it"), "ALARM");
  Look(300);
  EXPECT_EQ(StateOf(alarms_, "it"), "OK");
}

TEST_F(AlarmsTest, OfLevelsTheHighestCounts) {
  alarms_.Add({"lag", "", "seconds", AlarmSpec::Kind::kLevel, [this] { return figures_; }, 30});
  Look();
  EXPECT_EQ(ReasonOf(alarms_, "lag"), "nothing to watch");
  figures_ = {{"a", 20}, {"b", 31}};
  Look();
  EXPECT_EQ(StateOf(alarms_, "lag"), "ALARM");
  EXPECT_EQ(ReasonOf(alarms_, "lag"), "31 seconds: b 31, a 20");
  figures_["b"] = 30;
  Look();
  EXPECT_EQ(StateOf(alarms_, "lag"), "OK");
}

TEST_F(AlarmsTest, HistoryAndNamesAreBounded) {
  alarms_.Add(Counter(0));
  Look();
  for (int i = 0; i < 100; ++i) figures_["table-" + std::to_string(i)] = 1;
  Look(5);
  std::string reason = ReasonOf(alarms_, "it");
  EXPECT_LT(reason.size(), 200u) << reason;
  EXPECT_NE(reason.find("100 things"), std::string::npos) << reason;
  EXPECT_NE(reason.find("others 93"), std::string::npos) << reason;
  for (int i = 0; i < 100; ++i) {
    figures_["t"] += 1;
    Look(400);
    Look(400);
  }
  EXPECT_EQ(Shown(alarms_, "it")["history"].AsList().size(), Alarms::kHistoryMax);
}

TEST_F(AlarmsTest, ARecordBringsStateAndHistoryBack) {
  alarms_.Add(Counter(0));
  Look();
  figures_["t"] = 1;
  Look(5);
  AttributeMap record = Item(alarms_.Record()).ToMap();
  Alarms next({.clock = &clock_, .log = &log_});
  next.Add(Counter(0));
  next.Recall(record);
  EXPECT_EQ(StateOf(next, "it"), "ALARM");
  for (const char* member : {"since", "reason", "history"})
    EXPECT_EQ(Shown(next, "it")[member], Shown(alarms_, "it")[member]) << member;
  clock_.Advance(100'000);
  next.Evaluate();
  EXPECT_EQ(StateOf(next, "it"), "ALARM") << "what is in the window is there still";
  EXPECT_EQ(ReasonOf(next, "it"), "1 thing in the last 5 minutes: t 1");
  clock_.Advance(200'000);
  next.Evaluate();
  EXPECT_EQ(StateOf(next, "it"), "OK");
}

// A server with an engine whose time the test sets. Tokens: "<role>:<subject>".
class ServerAlarmsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    engine::EngineOptions options{.clock = &clock_, .seed = 1, .manual_housekeeping = true};
    engine_ = *engine::Engine::Open(options);
    AlarmSettings settings;
    settings.plans["Planned"] = {0, 3100};  // 100 write units a day in a month of 31
    protocol_.emplace(engine_.get(), &pool_, &log_, ProtocolOptions{});
    alarms_.emplace(settings, engine_.get(), &protocol_->metrics(), &log_);
    RestOptions rest;
    rest.alarms = &alarms_->alarms();
    rest.expiry = &expiry_;
    rest.authenticate = [](std::string_view token) -> Result<auth::Identity> {
      size_t colon = token.find(':');
      if (colon == std::string_view::npos) return Error(ErrorCode::kUnrecognizedClient, "no token");
      std::string subject(token.substr(colon + 1));
      return auth::Identity{"test", subject, std::string(token.substr(0, colon)), subject, 4'000'000'000};
    };
    rest_.emplace(std::move(rest), &pool_, &protocol_->metrics(), &log_);
    front_.emplace(&*protocol_, &*rest_);
    HttpServerOptions http;
    http.port = 0;
    http.io_threads = 1;
    http_ = *HttpServer::Start(http, &*front_, &log_);
    Look();
  }
  void TearDown() override { http_.reset(); }

  void Look(int64_t seconds_later = 0) {
    clock_.Advance(seconds_later * 1000);
    alarms_->alarms().Evaluate();
  }
  testing::Answered Ask(const std::string& who, const std::string& path) {
    return testing::Ask(http_->port(), "GET", path, {"Authorization: Bearer " + who});
  }
  void Drop(const std::string& name) {
    DeleteTableRequest request;
    request.table_name = name;
    ASSERT_TRUE(ops::Run(engine_.get(), request).has_value());
  }
  int Post(const std::vector<std::string>& headers) {
    return testing::Ask(http_->port(), "POST", "/", headers, "{}").status;
  }
  std::string State(std::string_view name) { return StateOf(alarms_->alarms(), name); }
  void Create(const std::string& name, std::optional<ProvisionedThroughput> units) {
    CreateTableRequest request;
    request.table_name = name;
    request.key_schema = {{"p", KeyType::kHash}};
    request.attribute_definitions = {{"p", ScalarAttributeType::kString}};
    request.billing_mode = units ? BillingMode::kProvisioned : BillingMode::kPayPerRequest;
    request.provisioned_throughput = units;
    ASSERT_TRUE(ops::Run(engine_.get(), request).has_value());
  }
  Result<PutItemResponse> Put(const std::string& table, size_t kilobytes) {
    PutItemRequest request;
    request.table_name = table;
    request.item = Item{{"p", "a"}, {"fill", std::string(kilobytes * 1024 - 100, 'x')}};
    return ops::Run(engine_.get(), request);
  }

  base::ManualClock clock_{kNow};
  base::Log log_{base::LogLevel::kNone};
  std::unique_ptr<engine::Engine> engine_;
  WorkerPool pool_{2, 100};
  Expiry expiry_;
  std::optional<DynamoDbProtocol> protocol_;
  std::optional<ServerAlarms> alarms_;
  std::optional<Rest> rest_;
  std::optional<Front> front_;
  std::unique_ptr<HttpServer> http_;
};

TEST_F(ServerAlarmsTest, DB_M_02_ThrottledRequests) {
  Create("Slow", ProvisionedThroughput{1, 1});
  ASSERT_TRUE(Put("Slow", 390).has_value());
  Look(1);
  EXPECT_EQ(State("throttled-requests"), "OK");
  EXPECT_FALSE(Put("Slow", 1).has_value());
  Look(1);
  EXPECT_EQ(State("throttled-requests"), "ALARM");
  EXPECT_EQ(ReasonOf(alarms_->alarms(), "throttled-requests"), "1 request in the last 5 minutes: Slow 1");
  Look(300);
  EXPECT_EQ(State("throttled-requests"), "OK");
}

// Between two looks a table can be made, throttled and deleted.
TEST_F(ServerAlarmsTest, WhatWasThrottledCountsWithoutItsTable) {
  for (int times : {1, 2}) {
    Create("Slow", ProvisionedThroughput{1, 1});
    ASSERT_TRUE(Put("Slow", 390).has_value());
    EXPECT_FALSE(Put("Slow", 1).has_value());
    Drop("Slow");
    Look(1);
    EXPECT_EQ(State("throttled-requests"), "ALARM");
    EXPECT_EQ(Shown(alarms_->alarms(), "throttled-requests")["value"].AsInt64(), times);
  }
}

// The alarm and the table's own figure go by one rule.
TEST_F(ServerAlarmsTest, ATransactionThatWasWrongIsAUserError) {
  Create("Tab", {});
  std::string wrong = R"({"TransactItems":[{"Put":{"TableName":"Tab","Item":{"q":{"S":"no key"}}}}]})";
  for (int i = 0; i < 11; ++i) {
    auto answered = testing::Ask(
        http_->port(), "POST", "/",
        {"X-Amz-Target: DynamoDB_20120810.TransactWriteItems", kJsonType, "X-Amz-Date: 20270115T080000Z",
         "Authorization: AWS4-HMAC-SHA256 Credential=x/20270115/us-east-1/dynamodb/aws4_request, "
         "SignedHeaders=host;x-amz-date;x-amz-target, Signature=0"},
        wrong);
    EXPECT_EQ(answered.status, 400) << answered.body;
    EXPECT_NE(answered.body.find("TransactionCanceledException"), std::string::npos) << answered.body;
  }
  Look(1);
  EXPECT_EQ(State("user-errors"), "ALARM");
  EXPECT_EQ(engine_->catalog().Find("Tab")->requests.user_errors, 11u);
}

TEST_F(ServerAlarmsTest, DB_M_02_UserErrors) {
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(Post({"X-Amz-Target: DynamoDB_20120810.ListTables", kJsonType}), 400);
  Look(1);
  EXPECT_EQ(State("user-errors"), "OK") << "ten in five minutes";
  EXPECT_EQ(Post({"X-Amz-Target: DynamoDB_20120810.Nothing", kJsonType}), 400);
  Look(1);
  EXPECT_EQ(State("user-errors"), "ALARM");
  EXPECT_EQ(State("system-errors"), "OK");
  Look(300);
  EXPECT_EQ(State("user-errors"), "OK");
}

TEST_F(ServerAlarmsTest, DB_M_02_SystemErrors) {
  EXPECT_EQ(Post({"X-Amz-Target: DynamoDB_20120810.ListTables", kJsonType, "Content-Encoding: br"}), 500);
  Look(1);
  EXPECT_EQ(State("system-errors"), "ALARM");
  EXPECT_EQ(State("user-errors"), "OK");
  Look(300);
  EXPECT_EQ(State("system-errors"), "OK");
}

TEST_F(ServerAlarmsTest, DB_M_02_ConsumedCapacity) {
  Create("Planned", {});
  Create("Other", {});
  ASSERT_TRUE(Put("Planned", 149).has_value());
  ASSERT_TRUE(Put("Other", 390).has_value());
  Look(1);
  EXPECT_EQ(State("consumed-capacity"), "OK") << "149 of the first day's 100";
  ASSERT_TRUE(Put("Planned", 1).has_value());  // replaces 149 KB: that is what it costs
  Look(1);
  EXPECT_EQ(State("consumed-capacity"), "ALARM");
  EXPECT_EQ(ReasonOf(alarms_->alarms(), "consumed-capacity"), "298 % of the plan: Planned 298");
  Drop("Planned");
  Create("Planned", {});
  Look(1);
  EXPECT_EQ(State("consumed-capacity"), "ALARM") << "what is deleted was used all the same";
  std::string metrics = alarms_->MetricsText();
  for (const char* line : {"holdfast_plan_write_units{table=\"Planned\"} 3100\n",
                           "holdfast_plan_used_write_units{table=\"Planned\"} 298\n"})
    EXPECT_NE(metrics.find(line), std::string::npos) << metrics;
  Look(86'400);
  EXPECT_EQ(State("consumed-capacity"), "ALARM");
  Look(86'400);
  EXPECT_EQ(State("consumed-capacity"), "OK") << "298 of 200, on the second day";
  ASSERT_TRUE(Put("Planned", 390).has_value());
  Look(1);
  EXPECT_EQ(State("consumed-capacity"), "ALARM");
  Look(20 * 86'400);
  EXPECT_EQ(State("consumed-capacity"), "OK") << "another month";
  EXPECT_EQ(ReasonOf(alarms_->alarms(), "consumed-capacity"), "0 % of the plan");
}

TEST_F(ServerAlarmsTest, AdministratorsSeeAndHearThemAndNobodyElse) {
  for (const char* path : {"/v1/alarms", "/v1/alarms/ws"}) {
    EXPECT_EQ(Ask("user:ann", path).status, 403) << path;
    EXPECT_EQ(Ask("", path).status, 401) << path;
  }
  EXPECT_EQ(Ask("admin:root", "/v1/alarms?x=1").status, 400);
  EXPECT_EQ(Ask("admin:root", "/v1/alarms/ws").status, 400) << "no handshake";
  auto listed = Ask("admin:root", "/v1/alarms");
  EXPECT_EQ(listed.status, 200);
  EXPECT_EQ(listed.body, alarms_->alarms().Json());

  testing::Client client(http_->port());
  client.Upgrade("/v1/alarms/ws", "Authorization: Bearer admin:root\r\n");
  EXPECT_EQ(client.ReceiveText().find(R"({"type":"alarms","alarms":[{"name":"throttled-requests")"), 0u);
  Create("Slow", ProvisionedThroughput{1, 1});
  ASSERT_TRUE(Put("Slow", 390).has_value());
  EXPECT_FALSE(Put("Slow", 1).has_value());
  Look(1);
  std::string told = client.ReceiveText();
  EXPECT_EQ(told.find(R"({"type":"alarm","alarm":{"name":"throttled-requests")"), 0u) << told;
  EXPECT_NE(told.find(R"("state":"ALARM")"), std::string::npos) << told;
  Look(300);
  told = client.ReceiveText();
  EXPECT_NE(told.find(R"("state":"OK")"), std::string::npos) << told;
  client.Send("{}");
  EXPECT_EQ(client.ReceiveText(), R"({"type":"pong"})");

  std::string metrics = alarms_->alarms().Metrics();
  EXPECT_NE(metrics.find("holdfast_alarm_state{alarm=\"throttled-requests\"} 0\n"), std::string::npos);
  metrics = Ask("", "/metrics").body;
  EXPECT_NE(metrics.find("holdfast_throttled_writes_total{table=\"Slow\",index=\"\"} 1\n"), std::string::npos)
      << metrics;
}

TEST_F(ServerAlarmsTest, WhatTheyWereOutlivesTheServer) {
  Create("Planned", {});
  ASSERT_TRUE(Put("Planned", 200).has_value());
  Look(1);
  EXPECT_EQ(State("consumed-capacity"), "ALARM");
  alarms_->Stop();
  AlarmSettings settings;
  settings.plans["Planned"] = {0, 3100};
  settings.alarms["user-errors"].off = true;
  ServerAlarms next(settings, engine_.get(), &protocol_->metrics(), &log_);
  next.Start();
  EXPECT_EQ(Shown(next.alarms(), "consumed-capacity")["history"].AsList().size(), 1u);
  next.alarms().Evaluate();
  EXPECT_EQ(StateOf(next.alarms(), "consumed-capacity"), "ALARM") << "what was consumed is remembered";
  EXPECT_TRUE(Shown(next.alarms(), "user-errors").empty());
  next.Stop();
}

}  // namespace
}  // namespace holdfast::wire
