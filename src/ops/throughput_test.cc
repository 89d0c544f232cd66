// DB-T-03: throughput as requests meet it, at times that the test sets. A bucket starts with 300 seconds'
// worth.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "engine/engine.h"
#include "ops/operations.h"
#include "storage/fault/page_cache.h"

namespace holdfast::ops {
namespace {

constexpr std::string_view kTableMessage =
    "The level of configured provisioned throughput for the table was exceeded. Consider increasing your "
    "provisioning level with the UpdateTable API.";

class ThroughputTest : public testing::Test {
 protected:
  void SetUp() override {
    engine::EngineOptions options{.clock = &clock_, .seed = 1, .manual_housekeeping = true};
    engine_ = *engine::Engine::Open(options);
  }

  template <class Request>
  auto Do(const Request& request) {
    return ops::Run(engine_.get(), request);
  }

  // A table of key "p", with a global index "by_g" of its attribute "g" where that has units.
  void Create(const std::string& name, ProvisionedThroughput units,
              std::optional<ProvisionedThroughput> index_units = {}) {
    CreateTableRequest request = Definition(name);
    request.billing_mode = BillingMode::kProvisioned;
    request.provisioned_throughput = units;
    if (index_units) AddIndex(&request)->provisioned_throughput = index_units;
    auto created = Do(request);
    ASSERT_TRUE(created.has_value()) << created.error().ToString();
  }
  static CreateTableRequest Definition(const std::string& name) {
    CreateTableRequest request;
    request.table_name = name;
    request.key_schema = {{"p", KeyType::kHash}};
    request.attribute_definitions = {{"p", ScalarAttributeType::kString}};
    request.billing_mode = BillingMode::kPayPerRequest;
    return request;
  }
  static GlobalSecondaryIndex* AddIndex(CreateTableRequest* request) {
    request->attribute_definitions.push_back({"g", ScalarAttributeType::kString});
    GlobalSecondaryIndex& index = request->global_secondary_indexes.emplace().emplace_back();
    index.index_name = "by_g";
    index.key_schema = {{"g", KeyType::kHash}};
    index.projection.projection_type = ProjectionType::kAll;
    return &index;
  }

  static Item Sized(const std::string& key, size_t kilobytes, AttributeMap more = {}) {
    more.emplace("p", key);
    if (kilobytes > 1) more.emplace("fill", std::string(kilobytes * 1024 - 100, 'x'));
    return Item(more);
  }
  Result<PutItemResponse> Put(const std::string& table, const Item& item) {
    PutItemRequest request;
    request.table_name = table;
    request.item = item;
    return Do(request);
  }
  Result<GetItemResponse> Get(const std::string& table, const std::string& key) {
    GetItemRequest request;
    request.table_name = table;
    request.key = Item{{"p", key}};
    request.consistent_read = true;
    return Do(request);
  }
  bool Has(const std::string& table, const std::string& key) {
    engine::TablePtr found = engine_->catalog().Find(table);
    std::string stored;
    auto view = engine_->NewView(engine::Engine::Reads::kOne);
    return *engine_->Get(engine::ItemKeyOf(*found->schema(), value::MapView(Item{{"p", key}})), view,
                         storage::Wait::kMayBlock, &stored);
  }
  // What a refusal says of what is short: "TableReadProvisionedThroughputExceeded table/Tab".
  template <class T>
  static std::string Short(const Result<T>& result) {
    if (result) return "nothing";
    if (result.error().detail() == nullptr || result.error().detail()->throttling_reasons.empty())
      return result.error().ToString();
    const ThrottlingReason& reason = result.error().detail()->throttling_reasons[0];
    return reason.reason + " " + reason.resource.substr(reason.resource.find("table/"));
  }
  engine::Consumption& Of(const std::string& table) { return engine_->catalog().Find(table)->consumption; }
  engine::Consumption& OfIndex(const std::string& table) {
    engine::TablePtr found = engine_->catalog().Find(table);
    return *found->IndexConsumption(found->schema()->FindIndex("by_g")->id);
  }

  base::ManualClock clock_{1'800'000'000'000};
  std::unique_ptr<engine::Engine> engine_;
};

TEST_F(ThroughputTest, DB_T_03_WritesPassWhileThereIsCreditAndThenAtTheRate) {
  Create("Tab", {1, 2});
  ASSERT_TRUE(Put("Tab", Sized("a", 390)).has_value());
  ASSERT_TRUE(Put("Tab", Sized("b", 390)).has_value())
      << "600 units of credit, 210 left: it may leave a debt";
  auto refused = Put("Tab", Sized("c", 1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::kProvisionedThroughputExceeded);
  EXPECT_EQ(refused.error().message(), kTableMessage);
  EXPECT_EQ(Short(refused), "TableWriteProvisionedThroughputExceeded table/Tab");
  EXPECT_FALSE(Has("Tab", "c"));
  EXPECT_EQ(Of("Tab").throttled_writes, 1u);
  clock_.Advance(89'000);
  EXPECT_FALSE(Put("Tab", Sized("c", 1)).has_value());
  clock_.Advance(2'000);
  EXPECT_TRUE(Put("Tab", Sized("c", 1)).has_value());
  EXPECT_TRUE(Get("Tab", "a").has_value()) << "reads have a bucket of their own";
}

TEST_F(ThroughputTest, DB_T_03_ReadsOfEveryKindAreThrottled) {
  Create("Tab", {1, 1000});
  ASSERT_TRUE(Put("Tab", Sized("a", 400)).has_value());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Get("Tab", "a").has_value()) << i;  // 100 units each
  EXPECT_EQ(Short(Get("Tab", "a")), "TableReadProvisionedThroughputExceeded table/Tab");
  QueryRequest query;
  query.table_name = "Tab";
  query.key_condition_expression = "p = :p";
  query.expression_attribute_values = Item{{":p", "a"}};
  EXPECT_EQ(Short(Do(query)), "TableReadProvisionedThroughputExceeded table/Tab");
  ScanRequest scan;
  scan.table_name = "Tab";
  EXPECT_EQ(Short(Do(scan)), "TableReadProvisionedThroughputExceeded table/Tab");
  BatchGetItemRequest batch;
  batch.request_items["Tab"].keys = {Item{{"p", "a"}}};
  EXPECT_EQ(Short(Do(batch)), "TableReadProvisionedThroughputExceeded table/Tab");
  TransactGetItemsRequest transaction;
  transaction.transact_items.emplace_back().get.table_name = "Tab";
  transaction.transact_items[0].get.key = Item{{"p", "a"}};
  auto canceled = Do(transaction);
  ASSERT_FALSE(canceled.has_value());
  EXPECT_EQ(canceled.error().message(),
            "Transaction cancelled, please refer cancellation reasons for specific reasons "
            "[ProvisionedThroughputExceeded]");
  EXPECT_EQ(canceled.error().detail()->reasons[0].message, kTableMessage);
  EXPECT_TRUE(Put("Tab", Sized("b", 1)).has_value()) << "writes have a bucket of their own";
  EXPECT_EQ(Of("Tab").throttled_reads, 5u);
  clock_.Advance(101'000);
  EXPECT_TRUE(Get("Tab", "a").has_value());
}

// Who is throttled learns nothing: not even whether its condition would have held.
TEST_F(ThroughputTest, AFailedConditionCostsUnitsAndIsNotLookedAtWithout) {
  Create("Tab", {1, 1});
  ASSERT_TRUE(Put("Tab", Sized("a", 200)).has_value());
  PutItemRequest put;
  put.table_name = "Tab";
  put.item = Sized("a", 1);
  put.condition_expression = "attribute_not_exists(p)";
  auto failed = Do(put);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code(), ErrorCode::kConditionalCheckFailed);
  EXPECT_EQ(engine_->catalog().Find("Tab")->requests.failed_conditions, 1u);
  auto throttled = Do(put);
  ASSERT_FALSE(throttled.has_value());
  EXPECT_EQ(throttled.error().code(), ErrorCode::kProvisionedThroughputExceeded)
      << "200 units for the item that the condition was held against left a debt";
}

TEST_F(ThroughputTest, DB_T_03_AnIndexWithoutCapacityHoldsUpTheTable) {
  Create("Tab", {1000, 1000}, ProvisionedThroughput{1, 1});
  ASSERT_TRUE(Put("Tab", Sized("a", 350, {{"g", "x"}})).has_value());
  auto refused = Put("Tab", Sized("b", 1, {{"g", "x"}}));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::kProvisionedThroughputExceeded);
  EXPECT_EQ(Short(refused), "IndexWriteProvisionedThroughputExceeded table/Tab/index/by_g");
  EXPECT_TRUE(refused.error().message().starts_with(
      "The level of configured provisioned throughput for one or more global secondary indexes"));
  EXPECT_FALSE(Has("Tab", "b"));
  EXPECT_EQ(OfIndex("Tab").throttled_writes, 1u);
  EXPECT_EQ(Of("Tab").throttled_writes, 0u);
  EXPECT_TRUE(Put("Tab", Sized("c", 1)).has_value()) << "it leaves the index as it is";
  UpdateItemRequest update;
  update.table_name = "Tab";
  update.key = Item{{"p", "a"}};
  update.update_expression = "REMOVE g";
  EXPECT_EQ(Short(Do(update)), "IndexWriteProvisionedThroughputExceeded table/Tab/index/by_g");
  DeleteItemRequest remove;
  remove.table_name = "Tab";
  remove.key = Item{{"p", "a"}};
  EXPECT_EQ(Short(Do(remove)), "IndexWriteProvisionedThroughputExceeded table/Tab/index/by_g");
  EXPECT_TRUE(Has("Tab", "a"));
  clock_.Advance(51'000);
  EXPECT_TRUE(Put("Tab", Sized("b", 1, {{"g", "x"}})).has_value());
}

TEST_F(ThroughputTest, AnIndexIsReadAtItsOwnExpense) {
  Create("Tab", {1000, 10'000}, ProvisionedThroughput{1, 10'000});
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(Put("Tab", Sized(key, 390, {{"g", "x"}})).has_value());
  ScanRequest scan;
  scan.table_name = "Tab";
  scan.index_name = "by_g";
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Short(Do(scan)), "nothing") << i;  // 147 units each
  EXPECT_EQ(Short(Do(scan)), "IndexReadProvisionedThroughputExceeded table/Tab/index/by_g");
  scan.index_name.reset();
  EXPECT_EQ(Short(Do(scan)), "nothing");
}

TEST_F(ThroughputTest, DB_T_03_ABatchGivesBackWhatThereIsNoCapacityFor) {
  Create("Tab", {1, 1});
  Create("Ube", {1, 1000});
  ASSERT_TRUE(Put("Tab", Sized("a", 297)).has_value());
  BatchWriteItemRequest batch;
  for (int i = 0; i < 10; ++i) {
    WriteRequest& write = batch.request_items["Tab"].emplace_back();
    write.put_request.emplace().item = Sized("b" + std::to_string(i), 1);
  }
  auto wrote = Do(batch);
  ASSERT_TRUE(wrote.has_value()) << wrote.error().ToString();
  ASSERT_EQ(wrote->unprocessed_items["Tab"].size(), 7u) << "three units were left";
  EXPECT_TRUE(Has("Tab", "b2"));
  EXPECT_FALSE(Has("Tab", "b3"));
  EXPECT_EQ(wrote->unprocessed_items["Tab"][0].put_request->item, Sized("b3", 1));
  EXPECT_EQ(Of("Tab").throttled_writes, 7u);
  auto refused = Do(batch);
  EXPECT_EQ(Short(refused), "TableWriteProvisionedThroughputExceeded table/Tab");
  // Another table's part goes on.
  batch.request_items["Ube"].emplace_back().put_request.emplace().item = Sized("u", 1);
  wrote = Do(batch);
  ASSERT_TRUE(wrote.has_value());
  EXPECT_EQ(wrote->unprocessed_items["Tab"].size(), 10u);
  EXPECT_TRUE(Has("Ube", "u"));

  ASSERT_TRUE(Put("Ube", Sized("big", 400)).has_value());
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(Get("Ube", "big").has_value());  // nothing is left, and nothing owed
  clock_.Advance(1'500);
  BatchGetItemRequest get;
  get.request_items["Ube"].consistent_read = true;
  for (const char* key : {"u", "big", "none"}) get.request_items["Ube"].keys.push_back(Item{{"p", key}});
  auto got = Do(get);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->responses["Ube"].size(), 2u) << "1.5 units: the second leaves a debt";
  ASSERT_EQ(got->unprocessed_keys["Ube"].keys.size(), 1u);
  EXPECT_EQ(got->unprocessed_keys["Ube"].keys[0], (Item{{"p", "none"}}));
  EXPECT_EQ(got->unprocessed_keys["Ube"].consistent_read, true);
}

// A transaction is carried out whole or not at all, and says which of its actions were short.
TEST_F(ThroughputTest, DB_T_03_ATransactionIsCanceled) {
  Create("Tab", {1, 1});
  Create("Ube", {1, 1}, ProvisionedThroughput{1, 1});
  ASSERT_TRUE(Put("Tab", Sized("a", 350)).has_value());
  TransactWriteItemsRequest request;
  auto add = [&](const std::string& table, Item item) {
    TransactPut& put = request.transact_items.emplace_back().put.emplace();
    put.table_name = table;
    put.item = std::move(item);
  };
  add("Ube", Sized("x", 1));
  add("Tab", Sized("y", 1));
  auto canceled = Do(request);
  ASSERT_FALSE(canceled.has_value());
  EXPECT_EQ(canceled.error().message(),
            "Transaction cancelled, please refer cancellation reasons for specific reasons "
            "[None, ProvisionedThroughputExceeded]");
  EXPECT_FALSE(Has("Ube", "x"));

  ASSERT_TRUE(
      Put("Ube", Sized("z", 298, {{"g", "x"}})).has_value());  // two units are left to table and index
  request.transact_items.clear();
  add("Ube", Sized("x", 1));
  add("Ube", Sized("y", 1));
  canceled = Do(request);
  ASSERT_FALSE(canceled.has_value()) << "the first takes both: a transaction pays twice";
  EXPECT_EQ(canceled.error().detail()->reasons[1].code, "ProvisionedThroughputExceeded");
  EXPECT_FALSE(Has("Ube", "x"));
  clock_.Advance(10'000);
  ASSERT_TRUE(Do(request).has_value());
}

TEST_F(ThroughputTest, AFailedConditionOfATransactionCostsTwice) {
  Create("Tab", {1, 1});
  ASSERT_TRUE(Put("Tab", Sized("a", 1)).has_value());
  double before = Of("Tab").writes.Balance(clock_.NowMillis());
  TransactWriteItemsRequest request;
  TransactPut& put = request.transact_items.emplace_back().put.emplace();
  put.table_name = "Tab";
  put.item = Sized("a", 1);
  put.condition_expression = "attribute_not_exists(p)";
  EXPECT_FALSE(Do(request).has_value());
  EXPECT_DOUBLE_EQ(Of("Tab").writes.Balance(clock_.NowMillis()), before - 2);
}

// What was done is done: to be told that it was cancelled would make its sender do it again.
TEST_F(ThroughputTest, ARepeatedTransactionIsNotThrottled) {
  Create("Tab", {1, 1});
  TransactWriteItemsRequest request;
  request.client_request_token = "once";
  TransactPut& put = request.transact_items.emplace_back().put.emplace();
  put.table_name = "Tab";
  put.item = Sized("a", 390);
  ASSERT_TRUE(Do(request).has_value());
  EXPECT_EQ(Short(Put("Tab", Sized("b", 1))), "TableWriteProvisionedThroughputExceeded table/Tab");
  auto again = Do(request);
  EXPECT_TRUE(again.has_value()) << again.error().ToString();
  request.client_request_token = "another";
  EXPECT_FALSE(Do(request).has_value());
}

TEST_F(ThroughputTest, DB_T_03_TheModeIsSwitchedOnline) {
  Create("Tab", {1, 1});
  ASSERT_TRUE(Put("Tab", Sized("a", 390)).has_value());
  EXPECT_FALSE(Put("Tab", Sized("b", 1)).has_value());
  UpdateTableRequest update;
  update.table_name = "Tab";
  update.billing_mode = BillingMode::kPayPerRequest;
  ASSERT_TRUE(Do(update).has_value());
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(Put("Tab", Sized("b", 390)).has_value()) << "on demand never throttles";
  update.billing_mode = BillingMode::kProvisioned;
  update.provisioned_throughput = ProvisionedThroughput{1, 1};
  ASSERT_TRUE(Do(update).has_value());
  EXPECT_TRUE(Put("Tab", Sized("b", 390)).has_value());
  EXPECT_FALSE(Put("Tab", Sized("b", 1)).has_value());
  update.billing_mode.reset();
  update.provisioned_throughput = ProvisionedThroughput{1, 100};
  ASSERT_TRUE(Do(update).has_value());
  clock_.Advance(4'000);
  EXPECT_TRUE(Put("Tab", Sized("b", 1)).has_value()) << "more units count at once";
}

TEST_F(ThroughputTest, DB_T_03_AMaximumOnDemandIsKept) {
  CreateTableRequest create = Definition("Tab");
  create.on_demand_throughput = OnDemandThroughput{1, 1};
  AddIndex(&create)->on_demand_throughput = OnDemandThroughput{{}, 1};
  auto created = Do(create);
  ASSERT_TRUE(created.has_value()) << created.error().ToString();
  EXPECT_EQ(created->table_description.on_demand_throughput, (OnDemandThroughput{1, 1}));
  EXPECT_EQ((*created->table_description.global_secondary_indexes)[0].on_demand_throughput,
            (OnDemandThroughput{{}, 1}));
  ASSERT_TRUE(Put("Tab", Sized("a", 390)).has_value());
  auto refused = Put("Tab", Sized("b", 1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::kThrottling);
  EXPECT_EQ(refused.error().message(),
            "Throughput exceeds the maximum OnDemandThroughput configured on table or index");
  EXPECT_EQ(Short(refused), "TableWriteMaxOnDemandThroughputExceeded table/Tab");
  UpdateTableRequest update;
  update.table_name = "Tab";
  update.on_demand_throughput = OnDemandThroughput{{}, -1};
  auto updated = Do(update);
  ASSERT_TRUE(updated.has_value()) << updated.error().ToString();
  EXPECT_EQ(updated->table_description.on_demand_throughput, (OnDemandThroughput{1, -1}));
  DescribeTableRequest describe;
  describe.table_name = "Tab";
  EXPECT_EQ(Do(describe)->table.on_demand_throughput, (OnDemandThroughput{1, {}}));
  EXPECT_TRUE(Put("Tab", Sized("b", 390, {{"g", "x"}})).has_value()) << "the table's maximum is gone";
  EXPECT_EQ(Short(Put("Tab", Sized("c", 1, {{"g", "x"}}))),
            "IndexWriteMaxOnDemandThroughputExceeded table/Tab/index/by_g");
  TransactWriteItemsRequest transaction;
  transaction.transact_items.emplace_back().put.emplace().table_name = "Tab";
  transaction.transact_items[0].put->item = Sized("c", 1, {{"g", "x"}});
  auto canceled = Do(transaction);
  ASSERT_FALSE(canceled.has_value());
  EXPECT_EQ(canceled.error().detail()->reasons[0].code, "ThrottlingError");
}

TEST_F(ThroughputTest, WarmThroughputOnlyRises) {
  auto warm = [&](const std::string& table) {
    DescribeTableRequest describe;
    describe.table_name = table;
    auto shown = *Do(describe)->table.warm_throughput;
    return std::pair(shown.read_units_per_second, shown.write_units_per_second);
  };
  using Pair = std::pair<int64_t, int64_t>;
  ASSERT_TRUE(Do(Definition("Dem")).has_value());
  EXPECT_EQ(warm("Dem"), Pair(12000, 4000));
  Create("Pro", {3, 5});
  EXPECT_EQ(warm("Pro"), Pair(3, 5));
  UpdateTableRequest update;
  update.table_name = "Pro";
  update.provisioned_throughput = ProvisionedThroughput{7, 1};
  ASSERT_TRUE(Do(update).has_value());
  EXPECT_EQ(warm("Pro"), Pair(7, 5));
  update.provisioned_throughput.reset();
  update.warm_throughput = WarmThroughput{{}, 50};
  ASSERT_TRUE(Do(update).has_value());
  EXPECT_EQ(warm("Pro"), Pair(7, 50));
  update.warm_throughput = WarmThroughput{6, {}};
  auto refused = Do(update);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message(),
            "One or more parameter values were invalid: Requested ReadUnitsPerSecond for WarmThroughput for "
            "table is lower than current WarmThroughput, decreasing WarmThroughput is not supported");
  EXPECT_EQ(warm("Pro"), Pair(7, 50));
}

TEST_F(ThroughputTest, WhatMakesNoSenseIsRefused) {
  auto refusal = [&](const auto& request) {
    auto answered = Do(request);
    return answered ? std::string("accepted") : answered.error().message();
  };
  const std::string start = "One or more parameter values were invalid: ";
  for (int64_t units : {int64_t{0}, int64_t{-1}, int64_t{-2}}) {
    CreateTableRequest create = Definition("Tab");
    create.on_demand_throughput = OnDemandThroughput{units, {}};
    EXPECT_EQ(
        refusal(create),
        start + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range");
    create = Definition("Tab");
    AddIndex(&create)->on_demand_throughput = OnDemandThroughput{{}, units};
    EXPECT_EQ(refusal(create),
              start +
                  "Requested MaxWriteRequestUnits for OnDemandThroughput for index : by_g is "
                  "outside of valid range");
  }
  CreateTableRequest create = Definition("Tab");
  create.billing_mode = BillingMode::kProvisioned;
  create.provisioned_throughput = ProvisionedThroughput{1, 1};
  create.on_demand_throughput = OnDemandThroughput{1, 1};
  EXPECT_EQ(refusal(create), start +
                                 "MaxReadRequestUnits for OnDemandThroughput cannot be specified when table "
                                 "BillingMode is PROVISIONED.");
  create.on_demand_throughput.reset();
  create.warm_throughput = WarmThroughput{5, 0};
  EXPECT_EQ(refusal(create), start +
                                 "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than "
                                 "WriteCapacityUnits of ProvisionedThroughput");
  create = Definition("Tab");
  create.warm_throughput = WarmThroughput{1, 1};
  EXPECT_EQ(refusal(create).find(start + "Requested ReadUnitsPerSecond for WarmThroughput for table is lower "
                                         "than initial throughput for OnDemand. See: https://"),
            0u);
  EXPECT_EQ(engine_->catalog().Find("Tab"), nullptr);

  Create("Pro", {1, 1});
  UpdateTableRequest update;
  update.table_name = "Pro";
  update.on_demand_throughput = OnDemandThroughput{{}, 5};
  EXPECT_EQ(refusal(update), start +
                                 "MaxWriteRequestUnits for OnDemandThroughput cannot be specified when the "
                                 "table BillingMode is PROVISIONED");
  ASSERT_TRUE(Do(Definition("Dem")).has_value());
  update.table_name = "Dem";
  update.on_demand_throughput = OnDemandThroughput{0, {}};
  EXPECT_EQ(
      refusal(update),
      start + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range");
  create = Definition("Ind");
  AddIndex(&create);
  ASSERT_TRUE(Do(create).has_value());
  update = {};
  update.table_name = "Ind";
  update.billing_mode = BillingMode::kProvisioned;
  update.provisioned_throughput = ProvisionedThroughput{1, 1};
  EXPECT_EQ(refusal(update), start + "ProvisionedThroughput must be specified for index: by_g");
  EXPECT_EQ(engine_->catalog().Find("Ind")->schema()->billing, BillingMode::kPayPerRequest);
}

// Sweeps are the server's own work.
TEST_F(ThroughputTest, ExpiredItemsCostTheTableNothing) {
  Create("Tab", {1, 1});
  UpdateTimeToLiveRequest ttl;
  ttl.table_name = "Tab";
  ttl.time_to_live_specification.enabled = true;
  ttl.time_to_live_specification.attribute_name = "until";
  ASSERT_TRUE(Do(ttl).has_value());
  engine_->WaitForBackfills();
  ASSERT_TRUE(Put("Tab", Sized("a", 390, {{"until", clock_.NowSeconds() + 1}})).has_value());
  EXPECT_FALSE(Put("Tab", Sized("b", 1)).has_value());
  clock_.Advance(5'000);
  ASSERT_TRUE(engine_->RunHousekeeping().has_value());
  EXPECT_FALSE(Has("Tab", "a"));
  EXPECT_EQ(engine_->catalog().Find("Tab")->requests.expired_items, 1u);
}

// What DescribeTable says of the changes of a table and of an index.
TEST_F(ThroughputTest, ChangesAreDescribed) {
  Create("Tab", {10, 10}, ProvisionedThroughput{10, 10});
  auto update = [&](ProvisionedThroughput units) {
    UpdateTableRequest request;
    request.table_name = "Tab";
    request.provisioned_throughput = units;
    auto& index = request.global_secondary_index_updates.emplace().emplace_back().update.emplace();
    index.index_name = "by_g";
    index.provisioned_throughput = units;
    auto updated = Do(request);
    ASSERT_TRUE(updated.has_value()) << updated.error().ToString();
  };
  auto described = [&] {
    DescribeTableRequest request;
    request.table_name = "Tab";
    TableDescription table = Do(request)->table;
    std::vector<ProvisionedThroughputDescription> both{table.provisioned_throughput};
    both.push_back(*table.global_secondary_indexes->at(0).provisioned_throughput);
    return both;
  };
  for (const auto& of : described()) {
    EXPECT_FALSE(of.last_increase_date_time.has_value());
    EXPECT_EQ(of.number_of_decreases_today, 0);
  }
  int64_t increased = clock_.NowMillis();
  update({11, 11});
  clock_.Advance(1000);
  update({11, 10});
  clock_.Advance(1000);
  update({9, 10});
  for (const auto& of : described()) {
    EXPECT_EQ(of.last_increase_date_time->millis, increased);
    EXPECT_EQ(of.last_decrease_date_time->millis, increased + 2000);
    EXPECT_EQ(of.number_of_decreases_today, 2);
  }
  clock_.Advance(86'400'000);
  for (const auto& of : described()) EXPECT_EQ(of.number_of_decreases_today, 0) << "on another day";
  update({8, 8});
  for (const auto& of : described()) EXPECT_EQ(of.number_of_decreases_today, 1);
}

// As DescribeLimits has it.
TEST_F(ThroughputTest, NothingIsBeyondTheLimits) {
  auto refusal = [&](const auto& request) {
    auto answer = Do(request);
    return answer ? "was done" : answer.error().ToString();
  };
  const std::string much = ", 40001, is above the per ";
  const std::string rest =
      " maximum: 40000. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request "
      "higher limits.";
  CreateTableRequest create = Definition("Tab");
  create.billing_mode = BillingMode::kProvisioned;
  create.provisioned_throughput = ProvisionedThroughput{40'001, 1};
  EXPECT_EQ(refusal(create), "LimitExceededException: The requested ReadCapacityUnits" + much +
                                 "table maximum for the account in us-east-1. Per table" + rest);
  EXPECT_EQ(engine_->catalog().Find("Tab"), nullptr);
  create.provisioned_throughput = ProvisionedThroughput{40'000, 40'000};
  AddIndex(&create)->provisioned_throughput = ProvisionedThroughput{1, 40'001};
  EXPECT_EQ(refusal(create), "LimitExceededException: The requested WriteCapacityUnits for index by_g" +
                                 much + "index maximum for the account in us-east-1. Per index" + rest);
  ASSERT_TRUE(Do(Definition("Dem")).has_value());
  UpdateTableRequest update;
  update.table_name = "Dem";
  update.on_demand_throughput = OnDemandThroughput{{}, 40'001};
  EXPECT_EQ(
      refusal(update),
      "LimitExceededException: Subscriber limit exceeded: Requested MaxWriteRequestUnits for "
      "OnDemandThroughput for table exceeds TableMaxWriteCapacityUnits of the account in region us-east-1");
}

// A cold read sends the whole request to where it may wait: what it counts must not count twice.
TEST_F(ThroughputTest, ABatchThatIsRunAgainCountsOnce) {
  auto directory = std::filesystem::temp_directory_path() / ("holdfast-cold-" + std::to_string(::getpid()));
  engine::EngineOptions options{.clock = &clock_, .seed = 1, .manual_housekeeping = true};
  options.options.directory = directory.string();
  engine_ = *engine::Engine::Open(options);
  Create("Apart", {1, 1000});
  Create("Cold", {1000, 1000});
  ASSERT_TRUE(Put("Apart", Sized("a", 390)).has_value());
  ASSERT_TRUE(Put("Cold", Sized("a", 390)).has_value());
  engine_.reset();
  engine_ = *engine::Engine::Open(options);
  storage::DropCachedPages(directory.string());
  Of("Apart").reads.Charge(1000);
  BatchGetItemRequest batch;
  batch.request_items["Apart"].keys = {Item{{"p", "a"}}};
  batch.request_items["Cold"].keys = {Item{{"p", "a"}}};
  Context context{.engine = engine_.get(), .wait = storage::Wait::kNever};
  auto got = Execute(context, batch, {});
  ASSERT_FALSE(got.has_value());
  ASSERT_EQ(got.error().code(), ErrorCode::kWouldBlock) << got.error().ToString();
  EXPECT_EQ(Of("Apart").throttled_reads, 0u);
  auto again = Do(batch);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->responses["Cold"].size(), 1u);
  EXPECT_EQ(Of("Apart").throttled_reads, 1u);
  engine_.reset();
  std::filesystem::remove_all(directory);
}

// With --transient-status-ms a table is UPDATING for a while, as on AWS.
TEST_F(ThroughputTest, ATableIsChangedOnceAtATime) {
  engine::EngineOptions options{.clock = &clock_, .seed = 1};
  options.options.transient_status_millis = 300;
  engine_ = *engine::Engine::Open(options);
  auto settled = [&] {
    for (int i = 0; i < 500; ++i) {
      if (engine_->catalog().Find("Tab")->schema()->status == TableStatus::kActive) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  };
  Create("Tab", {1, 1});
  ASSERT_TRUE(settled());
  UpdateTableRequest update;
  update.table_name = "Tab";
  update.provisioned_throughput = ProvisionedThroughput{2, 2};
  ASSERT_TRUE(Do(update).has_value());
  update.provisioned_throughput = ProvisionedThroughput{3, 3};
  auto refused = Do(update);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().ToString(),
            "ResourceInUseException: Attempt to change a resource which is still in use: Table IOPS are "
            "currently being updated. Table: Tab");
  UpdateTableRequest protect;
  protect.table_name = "Tab";
  protect.deletion_protection_enabled = true;
  EXPECT_TRUE(Do(protect).has_value());
  EXPECT_TRUE(Put("Tab", Sized("a", 1)).has_value());
  ASSERT_TRUE(settled());
  EXPECT_TRUE(Do(update).has_value());
  engine_.reset();
}

TEST_F(ThroughputTest, DB_M_01_ErrorsAreCountedForTheirTable) {
  ASSERT_TRUE(Do(Definition("Tab")).has_value());
  const engine::RequestCounts& counts = engine_->catalog().Find("Tab")->requests;
  EXPECT_FALSE(Put("Tab", Item{{"q", "no key"}}).has_value());
  EXPECT_EQ(counts.user_errors, 1u);
  PutItemRequest bad;
  bad.table_name = "Tab";
  bad.item = Item{{"p", "a"}};
  bad.condition_expression = "no expression at all (";
  EXPECT_FALSE(Do(bad).has_value());
  EXPECT_EQ(counts.user_errors, 2u) << "refused before the table is looked for";
  EXPECT_TRUE(Put("Tab", Item{{"p", "a"}}).has_value());
  TransactWriteItemsRequest transaction;
  TransactPut& put = transaction.transact_items.emplace_back().put.emplace();
  put.table_name = "Tab";
  put.item = Item{{"p", "a"}};
  put.condition_expression = "attribute_not_exists(p)";
  EXPECT_FALSE(Do(transaction).has_value());
  EXPECT_EQ(counts.failed_conditions, 1u);
  EXPECT_EQ(counts.user_errors, 2u);
  EXPECT_EQ(counts.system_errors, 0u);
}

}  // namespace
}  // namespace holdfast::ops
