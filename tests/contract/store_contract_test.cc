// The same behaviours on every kind of Store: what is built on the port must not notice which one it has.
//
// HOLDFAST_STORE_ENDPOINT adds a DynamoDB that is running somewhere; tests/differential/ does so with AWS's
// own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <thread>

#include "holdfast/store.h"
#include "wire/dynamodb_protocol.h"
#include "wire/http_server.h"

namespace holdfast {
namespace {

constexpr const char* kEndpoint = "HOLDFAST_STORE_ENDPOINT";

// A store of one kind, and whatever it needs to be there.
struct Opened {
  virtual ~Opened() = default;
  std::unique_ptr<Store> store;
};

struct OnDatabase : Opened {
  explicit OnDatabase(std::string where) : directory(std::move(where)) {
    if (!directory.empty()) std::filesystem::remove_all(directory);
    auto opened = Database::Open({.directory = directory});
    if (!opened) return;
    database = *std::move(opened);
    store = EmbeddedStore(database.get());
  }
  ~OnDatabase() override {
    store.reset();
    database.reset();
    if (!directory.empty()) std::filesystem::remove_all(directory);
  }
  const std::string directory;
  std::unique_ptr<Database> database;
};

struct OnEndpoint : Opened {
  explicit OnEndpoint(const std::string& endpoint) {
    auto opened = OpenRemoteStore(
        {.endpoint = endpoint, .region = "us-east-1", .access_key = "me", .secret_key = "hush"});
    EXPECT_TRUE(opened) << opened.error().ToString();
    if (opened) store = *std::move(opened);
  }
};

// A holdfast that verifies signatures.
struct Server {
  Server() : engine(*engine::Engine::Open({})) {
    wire::ProtocolOptions options;
    options.credentials.emplace().Add("me", {.secret = "hush", .principal = "me"});
    protocol.emplace(engine.get(), &pool, &log, std::move(options));
    http = *wire::HttpServer::Start({.port = 0}, &*protocol, &log);
  }
  base::Log log{base::LogLevel::kNone};
  std::unique_ptr<engine::Engine> engine;
  wire::WorkerPool pool{2, 1000};
  std::optional<wire::DynamoDbProtocol> protocol;
  std::unique_ptr<wire::HttpServer> http;
};

struct OnServer : Server, OnEndpoint {
  OnServer() : OnEndpoint("http://127.0.0.1:" + std::to_string(http->port())) {}
};

std::string TestDirectory() {
  return testing::TempDir() + "holdfast-store-" + std::to_string(::getpid());
}

std::unique_ptr<Opened> Open(const std::string& kind) {
  if (kind == "memory") return std::make_unique<OnDatabase>("");
  if (kind == "disk") return std::make_unique<OnDatabase>(TestDirectory());
  if (kind == "server") return std::make_unique<OnServer>();
  return std::make_unique<OnEndpoint>(std::getenv(kEndpoint));
}

std::vector<std::string> Kinds() {
  if (std::getenv(kEndpoint) != nullptr) return {"endpoint"};
  return {"memory", "disk", "server"};
}

class StoreTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    opened_ = Open(GetParam());
    ASSERT_NE(opened_->store, nullptr);
  }
  void TearDown() override {
    // An endpoint outlives the test.
    for (const std::string& table : tables_) static_cast<void>(store().Run(DeleteTableRequest{table}));
  }

  Store& store() { return *opened_->store; }

  template <class Request>
  ResponseToT<Request> Must(const Request& request) {
    auto answer = store().Run(request);
    if (!answer) return ADD_FAILURE() << answer.error().ToString(), ResponseToT<Request>();
    return *std::move(answer);
  }
  template <class Request>
  Error MustFail(const Request& request) {
    auto answer = store().Run(request);
    if (answer) return ADD_FAILURE() << "succeeded", Error(ErrorCode::kInternal, "");
    return answer.error();
  }

  // Creates the table and waits until it can be used. Its name is not used by other tests.
  std::string Create(CreateTableRequest request) {
    request.table_name = "store." + std::to_string(::getpid()) + "." + std::to_string(++tables_created_);
    request.billing_mode = BillingMode::kPayPerRequest;
    Must(request);
    tables_.push_back(request.table_name);
    EXPECT_TRUE(Becomes([&] {
      return Must(DescribeTableRequest{request.table_name}).table.table_status == TableStatus::kActive;
    }));
    return request.table_name;
  }
  // p and s, both strings.
  std::string CreatePair() {
    return Create({.key_schema = {{"p", KeyType::kHash}, {"s", KeyType::kRange}},
                   .attribute_definitions = {{"p"}, {"s"}}});
  }

  static bool Becomes(const std::function<bool()>& holds) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

 private:
  static inline std::atomic<int> tables_created_{0};
  std::unique_ptr<Opened> opened_;
  std::vector<std::string> tables_;
};

Item Pair(const std::string& p, const std::string& s) {
  return {{"p", p}, {"s", s}};
}

TEST_P(StoreTest, ItemsOfEveryTypeComeBackAsTheyWere) {
  std::string table = CreatePair();
  Item key = Pair("a\"\\\n\xc3\xa9", "s");
  Item item = key;
  item.Set("n", AttributeValue::Number("12345678901234567890123456789012345678"));
  item.Set("b", AttributeValue::Binary(std::string("\0\xff", 2)));
  item.Set("t", true);
  item.Set("f", false);
  item.Set("z", nullptr);
  item.Set("ss", AttributeValue::StringSet({"x", "y"}));
  item.Set("ns", AttributeValue::NumberSet({"1", "-2.5"}));
  item.Set("bs", AttributeValue::BinarySet({"q"}));
  item.Set("l", AttributeValue::List({1, "two", AttributeValue::Map({{"three", 3}})}));
  Must(PutItemRequest{.table_name = table, .item = item});
  auto got = Must(GetItemRequest{.table_name = table, .key = key, .consistent_read = true});
  ASSERT_TRUE(got.item);
  EXPECT_EQ(*got.item, item);
  EXPECT_FALSE(Must(GetItemRequest{.table_name = table, .key = Pair("no", "one")}).item);
}

TEST_P(StoreTest, AFailedConditionBringsTheItemItFailedOn) {
  std::string table = CreatePair();
  Item first = Pair("p", "s");
  first.Set("owner", "ann");
  Must(PutItemRequest{.table_name = table, .item = first});
  Error error = MustFail(PutItemRequest{
      .table_name = table,
      .item = Pair("p", "s"),
      .condition_expression = "attribute_not_exists(p)",
      .return_values_on_condition_check_failure = ReturnValuesOnConditionCheckFailure::kAllOld});
  EXPECT_EQ(error.code(), ErrorCode::kConditionalCheckFailed);
  EXPECT_EQ(error.message(), "The conditional request failed");
  ASSERT_NE(error.detail(), nullptr);
  ASSERT_TRUE(error.detail()->item);
  EXPECT_EQ(*error.detail()->item, first);
}

TEST_P(StoreTest, UpdatesAndDeletesAnswerWhatTheyTouched) {
  std::string table = CreatePair();
  auto updated = Must(UpdateItemRequest{.table_name = table,
                                        .key = Pair("p", "s"),
                                        .update_expression = "SET #c = :one",
                                        .expression_attribute_names = {{{"#c", "count"}}},
                                        .expression_attribute_values = {{{":one", 1}}},
                                        .return_values = ReturnValue::kAllNew,
                                        .return_consumed_capacity = ReturnConsumedCapacity::kTotal});
  ASSERT_TRUE(updated.attributes && updated.consumed_capacity);
  EXPECT_EQ(*updated.attributes, (Item{{"p", "p"}, {"s", "s"}, {"count", 1}}));
  EXPECT_EQ(updated.consumed_capacity->capacity_units, 1);
  auto deleted = Must(
      DeleteItemRequest{.table_name = table, .key = Pair("p", "s"), .return_values = ReturnValue::kAllOld});
  ASSERT_TRUE(deleted.attributes);
  EXPECT_EQ(deleted.attributes->Get("count"), 1);
}

TEST_P(StoreTest, PagesOfAQueryAndAScanAddUp) {
  std::string table = CreatePair();
  for (int i = 0; i < 7; ++i) {
    Must(PutItemRequest{.table_name = table, .item = Pair("p", std::to_string(i))});
  }
  QueryRequest query{.table_name = table,
                     .key_condition_expression = "p = :p",
                     .expression_attribute_values = {{{":p", "p"}}},
                     .limit = 3,
                     .scan_index_forward = false};
  std::string seen;
  do {
    auto page = Must(query);
    ASSERT_TRUE(page.items);
    for (const Item& item : *page.items) seen += item.Get("s")->AsText();
    query.exclusive_start_key = page.last_evaluated_key;
  } while (query.exclusive_start_key && !HasFailure());
  EXPECT_EQ(seen, "6543210");
  EXPECT_EQ(Must(ScanRequest{.table_name = table, .select = Select::kCount}).count, 7);
}

// The parameters from before expressions cross the wire in a form of their own.
TEST_P(StoreTest, LegacyConditionsAreUnderstood) {
  std::string table = CreatePair();
  for (const char* s : {"a", "b", "c"}) Must(PutItemRequest{.table_name = table, .item = Pair("p", s)});
  QueryRequest query{.table_name = table};
  query.key_conditions = {
      {"p",
       {.attribute_value_list = {{AttributeValue("p")}}, .comparison_operator = ComparisonOperator::kEq}},
      {"s",
       {.attribute_value_list = {{AttributeValue("b")}}, .comparison_operator = ComparisonOperator::kGe}}};
  EXPECT_EQ(Must(query).count, 2);
}

TEST_P(StoreTest, BatchesWriteAndRead) {
  std::string table = CreatePair();
  BatchWriteItemRequest write;
  BatchGetItemRequest read;
  for (int i = 0; i < 25; ++i) {
    Item item = Pair("p" + std::to_string(i), "s");
    write.request_items[table].push_back({.put_request = {{item}}});
    read.request_items[table].keys.push_back(item);
  }
  EXPECT_TRUE(Must(write).unprocessed_items.empty());
  EXPECT_EQ(Must(read).responses[table].size(), 25U);
}

TEST_P(StoreTest, ACancelledTransactionSaysWhyActionByAction) {
  if (!store().abilities().transactions) return;
  std::string table = CreatePair();
  Item taken = Pair("taken", "s");
  Must(PutItemRequest{.table_name = table, .item = taken});
  TransactWriteItemsRequest request{
      .transact_items = {{.put = {{.table_name = table, .item = Pair("free", "s")}}},
                         {.put = {{.table_name = table,
                                   .item = taken,
                                   .condition_expression = "attribute_not_exists(p)",
                                   .return_values_on_condition_check_failure =
                                       ReturnValuesOnConditionCheckFailure::kAllOld}}}}};
  Error error = MustFail(request);
  ASSERT_EQ(error.code(), ErrorCode::kTransactionCanceled);
  ASSERT_NE(error.detail(), nullptr);
  const auto& reasons = error.detail()->reasons;
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_EQ(reasons[0].code, "None");
  EXPECT_EQ(reasons[1].code, "ConditionalCheckFailed");
  EXPECT_EQ(reasons[1].item, taken);

  request.transact_items.pop_back();
  Must(request);
  auto got =
      Must(TransactGetItemsRequest{.transact_items = {{{.table_name = table, .key = Pair("free", "s")}},
                                                      {{.table_name = table, .key = Pair("nobody", "s")}}}});
  ASSERT_EQ(got.responses.size(), 2U);
  EXPECT_EQ(got.responses[0].item, Pair("free", "s"));
  EXPECT_FALSE(got.responses[1].item);
}

TEST_P(StoreTest, TablesAreDescribedListedAndDeleted) {
  CreateTableRequest request{.key_schema = {{"p", KeyType::kHash}}, .attribute_definitions = {{"p"}, {"g"}}};
  request.global_secondary_indexes = {{{.index_name = "by-g",
                                        .key_schema = {{"g", KeyType::kHash}},
                                        .projection = {.projection_type = ProjectionType::kKeysOnly}}}};
  std::string table = Create(request);
  TableDescription described = Must(DescribeTableRequest{table}).table;
  EXPECT_EQ(described.table_name, table);
  EXPECT_EQ(described.key_schema, request.key_schema);
  ASSERT_TRUE(described.global_secondary_indexes && described.creation_date_time);
  EXPECT_EQ(described.global_secondary_indexes->front().projection.projection_type,
            ProjectionType::kKeysOnly);
  auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  EXPECT_NEAR(static_cast<double>(described.creation_date_time->millis), static_cast<double>(now.count()),
              6e4);
  auto names = Must(ListTablesRequest{}).table_names;
  EXPECT_NE(std::find(names.begin(), names.end(), table), names.end());

  Must(DeleteTableRequest{table});
  EXPECT_TRUE(Becomes([&] {
    auto gone = store().Run(DescribeTableRequest{table});
    return !gone && gone.error().code() == ErrorCode::kResourceNotFound;
  }));
}

TEST_P(StoreTest, TablesCarryTags) {
  if (!store().abilities().tags) return;
  std::string arn = Must(DescribeTableRequest{CreatePair()}).table.table_arn;
  Must(TagResourceRequest{arn, {{"team", "blue"}, {"stage", "test"}}});
  Must(UntagResourceRequest{arn, {"stage"}});
  auto tags = Must(ListTagsOfResourceRequest{.resource_arn = arn}).tags;
  ASSERT_EQ(tags.size(), 1U);
  EXPECT_EQ(tags.front().value, "blue");
}

TEST_P(StoreTest, TimeToLiveIsSetAndDescribed) {
  if (!store().abilities().time_to_live) return;
  std::string table = CreatePair();
  Must(UpdateTimeToLiveRequest{table, {.attribute_name = "expires", .enabled = true}});
  auto description = Must(DescribeTimeToLiveRequest{table}).time_to_live_description;
  EXPECT_EQ(description.attribute_name, "expires");
  EXPECT_NE(description.time_to_live_status, TimeToLiveStatus::kDisabled);
}

TEST_P(StoreTest, VectorsAreFoundByNearness) {
  if (!store().abilities().vector_search) return;
  CreateTableRequest request{.key_schema = {{"p", KeyType::kHash}}, .attribute_definitions = {{"p"}}};
  request.vector_indexes = {{{.index_name = "near",
                              .vector_attribute = {"v"},
                              .dimensions = 2,
                              .distance_function = DistanceFunction::kEuclidean,
                              .projection = {.projection_type = ProjectionType::kAll}}}};
  std::string table = Create(request);
  auto at = [](double x) { return AttributeValue::List({x, 1.0}); };
  for (double x : {0.0, 1.0, 5.0}) {
    Must(PutItemRequest{.table_name = table,
                        .item = {{"p", std::to_string(static_cast<int>(x))}, {"v", at(x)}}});
  }
  auto found = Must(SearchVectorsRequest{
      .table_name = table, .index_name = "near", .search_vector = {4.5F, 1.0F}, .top_k = 2});
  ASSERT_EQ(found.search_results.size(), 2U);
  EXPECT_EQ(found.search_results[0].item.Get("p"), "5");
  EXPECT_EQ(found.search_results[1].item.Get("p"), "1");
  EXPECT_LT(found.search_results[0].score, found.search_results[1].score);
}

TEST_P(StoreTest, RefusalsKeepTheirNameAndText) {
  Error error = MustFail(GetItemRequest{.table_name = "no.such.table", .key = Pair("p", "s")});
  EXPECT_EQ(error.code(), ErrorCode::kResourceNotFound);
  error = MustFail(UpdateItemRequest{.table_name = CreatePair(),
                                     .key = Pair("p", "s"),
                                     .update_expression = "SET s = :v",
                                     .expression_attribute_values = {{{":v", "other"}}}});
  EXPECT_EQ(error.code(), ErrorCode::kValidation);
  EXPECT_EQ(error.message(),
            "One or more parameter values were invalid: Cannot update attribute s. This attribute "
            "is part of the key");
}

// Of one thread, many writes at once: what makes a group commit, or a pool of connections, worth having.
TEST_P(StoreTest, OneThreadHasManyWritesUnderWay) {
  std::string table = CreatePair();
  constexpr int kWrites = 200;
  std::latch answered(kWrites);
  std::atomic<int> succeeded{0};
  for (int i = 0; i < kWrites; ++i) {
    store().Execute(PutItemRequest{.table_name = table, .item = Pair("p", std::to_string(i))},
                    [&](Result<PutItemResponse> put) {
                      if (put) ++succeeded;
                      answered.count_down();
                    });
  }
  answered.wait();
  EXPECT_EQ(succeeded, kWrites);
  EXPECT_EQ(Must(ScanRequest{.table_name = table, .consistent_read = true, .select = Select::kCount}).count,
            kWrites);
}

// --- watching ---

using namespace std::chrono_literals;

class WatchTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    table_ = CreateWatched();
  }
  // A store elsewhere can be watched by way of streams.
  std::string CreateWatched() {
    std::string table = CreatePair();
    if (IsRemote()) {
      UpdateTableRequest update{.table_name = table};
      update.stream_specification = StreamSpecification{true, StreamViewType::kNewAndOldImages};
      Must(update);
    }
    return table;
  }
  bool IsRemote() const { return GetParam() == "server"; }
  void Put(const std::string& s, int n) {
    Item item = Pair("p", s);
    item.Set("n", n);
    Must(PutItemRequest{.table_name = table_, .item = item});
  }
  std::unique_ptr<TableWatch> Watch(const std::optional<std::string>& from = std::nullopt) {
    auto watch = store().Watch(table_, from);
    if (!watch) return ADD_FAILURE() << watch.error().ToString(), nullptr;
    return *std::move(watch);
  }
  ErrorCode WatchFails(const std::string& table, const std::optional<std::string>& from) {
    auto watch = store().Watch(table, from);
    EXPECT_FALSE(watch);
    return watch ? ErrorCode::kInternal : watch.error().code();
  }
  // Waits for `count` changes, taken a few at a time.
  static std::vector<TableChange> Read(TableWatch* watch, size_t count) {
    std::vector<TableChange> all;
    auto deadline = std::chrono::steady_clock::now() + 20s;
    while (all.size() < count && watch->Wait(deadline)) {
      auto some = watch->Read(3);
      if (!some) return ADD_FAILURE() << some.error().ToString(), all;
      for (TableChange& change : *some) all.push_back(std::move(change));
    }
    EXPECT_EQ(all.size(), count);
    return all;
  }

  std::string table_;
};

TEST_P(WatchTest, ChangesAreToldOnceInTheOrderOfTheirCommits) {
  Put("before", 0);
  auto watch = Watch();
  Put("a", 1);
  Put("a", 2);
  Put("b", 1);
  Must(DeleteItemRequest{.table_name = table_, .key = Pair("p", "a")});
  auto changes = Read(watch.get(), 4);
  using Kind = TableChange::Kind;
  EXPECT_EQ(changes[0].kind, Kind::kInsert);
  EXPECT_FALSE(changes[0].old_item);
  EXPECT_EQ(changes[0].new_item, (Item{{"p", "p"}, {"s", "a"}, {"n", 1}}));
  EXPECT_EQ(changes[1].kind, Kind::kModify);
  EXPECT_EQ(changes[1].old_item, changes[0].new_item);
  EXPECT_EQ(changes[1].new_item->Get("n"), 2);
  EXPECT_EQ(changes[2].new_item->Get("s"), "b");
  EXPECT_EQ(changes[3].kind, Kind::kRemove);
  EXPECT_EQ(changes[3].old_item, changes[1].new_item);
  EXPECT_FALSE(changes[3].new_item || changes[3].by_ttl);
  EXPECT_FALSE(watch->Wait(std::chrono::steady_clock::now())) << "nothing is told twice";
}

// Whoever stops and comes back must neither miss a change nor see one twice.
TEST_P(WatchTest, AWatchGoesOnAfterAPosition) {
  auto watch = Watch();
  for (int i = 0; i < 7; ++i) Put(std::to_string(i), i);
  auto changes = Read(watch.get(), 7);
  auto second = Watch(changes[2].position);
  auto rest = Read(second.get(), 4);
  EXPECT_EQ(rest.front().new_item, changes[3].new_item);
  EXPECT_EQ(rest.back().position, changes.back().position);
  Put("more", 1);
  EXPECT_EQ(Read(Watch(watch->position()).get(), 1).front().new_item->Get("s"), "more");
}

TEST_P(WatchTest, WhatIsNoLongerKeptIsRefused) {
  Put("a", 1);
  std::string position = Watch()->position();
  EXPECT_EQ(WatchFails(table_, "nonsense"), ErrorCode::kValidation);
  EXPECT_EQ(WatchFails("no.such.table", std::nullopt), ErrorCode::kResourceNotFound);
  std::string other = CreateWatched();
  EXPECT_EQ(WatchFails(other, position), ErrorCode::kTrimmedDataAccess) << "it is of another table";
  if (IsRemote()) return;  // a stream keeps them for a day
  // Nobody watches: changes are not kept, once the housekeeper has noticed.
  EXPECT_TRUE(Becomes([&] {
    Put("a", 2);
    auto late = store().Watch(table_, position);
    return !late && late.error().code() == ErrorCode::kTrimmedDataAccess;
  }));
}

TEST_P(WatchTest, TheWatchOfADeletedTableSaysSo) {
  auto watch = Watch();
  Must(DeleteTableRequest{table_});
  EXPECT_TRUE(Becomes([&] {
    watch->Wait(std::chrono::steady_clock::now() + 1s);
    auto read = watch->Read(10);
    return !read && read.error().code() == ErrorCode::kResourceNotFound;
  }));
  EXPECT_EQ(WatchFails(table_, std::nullopt), ErrorCode::kResourceNotFound);
}

INSTANTIATE_TEST_SUITE_P(Stores, WatchTest, testing::Values("memory", "disk", "server"),
                         [](const auto& info) { return info.param; });

TEST(RemoteStore, SaysWhatWatchingWouldNeed) {
  OnServer opened;
  CreateTableRequest create{.table_name = "plain",
                            .key_schema = {{"p"}},
                            .attribute_definitions = {{"p"}},
                            .billing_mode = BillingMode::kPayPerRequest};
  for (auto view : {std::optional<StreamViewType>(), std::optional(StreamViewType::kNewImage)}) {
    if (view) {
      create.table_name = "half";
      create.stream_specification = StreamSpecification{true, view};
    }
    ASSERT_TRUE(opened.store->Run(create));
    auto watch = opened.store->Watch(create.table_name, std::nullopt);
    ASSERT_FALSE(watch);
    EXPECT_EQ(watch.error().code(), ErrorCode::kNotSupported);
    EXPECT_NE(watch.error().message().find("needs DynamoDB Streams"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreTest, testing::ValuesIn(Kinds()),
                         [](const auto& info) { return info.param; });

// A store that goes away while answers are still to come would call completions whose owner is gone.
TEST(EmbeddedStore, TheDestructorWaitsForAnswers) {
  auto opened = std::make_unique<OnDatabase>(TestDirectory());
  ASSERT_NE(opened->store, nullptr);
  ASSERT_TRUE(opened->store->Run(CreateTableRequest{.table_name = "abc",
                                                    .key_schema = {{"p", KeyType::kHash}},
                                                    .attribute_definitions = {{"p"}},
                                                    .billing_mode = BillingMode::kPayPerRequest}));
  std::atomic<int> answered{0};
  for (int i = 0; i < 50; ++i) {
    opened->store->Execute(PutItemRequest{.table_name = "abc", .item = {{"p", std::to_string(i)}}},
                           [&](const Result<PutItemResponse>&) { ++answered; });
  }
  opened->store.reset();
  EXPECT_EQ(answered, 50);
}

}  // namespace
}  // namespace holdfast
