// Many threads against one database, in memory and on disk; what they saw is checked, not how it came about.
#include "history.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <random>
#include <thread>

#include "holdfast/database.h"

namespace holdfast {
namespace {

constexpr int kThreads = 6;

void InParallel(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

Item Key(const std::string& name) {
  return {{"p", name}};
}

// --- the checkers refuse what they should: a checker that always nods proves nothing ---

TEST(Checkers, RefuseAStaleRead) {
  using enum RegisterOp::Kind;
  std::vector<RegisterOp> history{{.kind = kPut, .value = 1, .called = 1, .returned = 2},
                                  {.kind = kRead, .value = 0, .called = 3, .returned = 4}};
  EXPECT_FALSE(IsLinearizable(history));
  history[1].called = 1;  // now they overlap, and the read may have come first
  EXPECT_TRUE(IsLinearizable(history));
}

TEST(Checkers, RefuseTwoWinnersOfOneValue) {
  using enum RegisterOp::Kind;
  std::vector<RegisterOp> history{
      {.kind = kCompareAndSet, .expected = 0, .value = 1, .called = 1, .returned = 9},
      {.kind = kCompareAndSet, .expected = 0, .value = 2, .called = 1, .returned = 9}};
  EXPECT_FALSE(IsLinearizable(history));
}

TEST(Checkers, RefuseWriteSkewAndFracturedReads) {
  // Each read the other's list as empty and wrote its own.
  std::vector<ListTransaction> skew{
      {.appends = {{"a", 1}}, .reads = {{"b", {}}}, .called = 1, .returned = 9},
      {.appends = {{"b", 2}}, .reads = {{"a", {}}}, .called = 1, .returned = 9}};
  EXPECT_NE(FindAnomaly(skew, {{"a", {1}}, {"b", {2}}}), "");
  // One transaction wrote both; a reader saw half of it.
  std::vector<ListTransaction> fractured{{.appends = {{"a", 1}, {"b", 2}}, .called = 1, .returned = 9},
                                         {.reads = {{"a", {1}}, {"b", {}}}, .called = 1, .returned = 9}};
  EXPECT_NE(FindAnomaly(fractured, {{"a", {1}}, {"b", {2}}}), "");
}

class Concurrency : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Options options;
    if (std::string(GetParam()) == "disk") {
      directory_ = testing::TempDir() + "holdfast-concurrency-" + std::to_string(::getpid());
      std::filesystem::remove_all(directory_);
      options.directory = directory_;
    }
    auto opened = Database::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    db_ = *std::move(opened);
    CreateTableRequest table{.table_name = "shared"};
    table.billing_mode = BillingMode::kPayPerRequest;
    table.key_schema = {{"p", KeyType::kHash}};
    table.attribute_definitions = {{"p", ScalarAttributeType::kString}};
    ASSERT_TRUE(db_->CreateTable(table).has_value());
  }
  void TearDown() override {
    db_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  void Put(const std::string& name, AttributeValue value) {
    ASSERT_TRUE(
        db_->PutItem({.table_name = "shared", .item = {{"p", name}, {"v", std::move(value)}}}).has_value());
  }
  // Asked for consistently: what linearizability is promised for.
  AttributeValue Get(const std::string& name) {
    auto got = db_->GetItem({.table_name = "shared", .key = Key(name), .consistent_read = true});
    return *got->item->Get("v");
  }
  static TransactUpdate Update(const std::string& name, std::string expression, std::string condition,
                               ExpressionValues values) {
    TransactUpdate update{.table_name = "shared", .key = Key(name)};
    update.update_expression = std::move(expression);
    if (!condition.empty()) update.condition_expression = std::move(condition);
    update.expression_attribute_values = std::move(values);
    return update;
  }
  // Tries again for as long as another transaction stands in the way. False: a condition failed.
  bool Commit(const TransactWriteItemsRequest& request) {
    while (true) {
      auto done = db_->TransactWriteItems(request);
      if (done) return true;
      EXPECT_EQ(done.error().code(), ErrorCode::kTransactionCanceled) << done.error().ToString();
      if (done.error().message().find("TransactionConflict") == std::string::npos) return false;
    }
  }
  // As of one moment.
  std::vector<Item> GetTogether(const std::vector<std::string>& names) {
    TransactGetItemsRequest request;
    for (const std::string& name : names) {
      request.transact_items.push_back({.get = {.table_name = "shared", .key = Key(name)}});
    }
    while (true) {
      auto got = db_->TransactGetItems(request);
      if (!got) continue;  // a conflict
      std::vector<Item> items;
      for (auto& response : got->responses) items.push_back(*response.item);
      return items;
    }
  }

  std::string directory_;
  std::unique_ptr<Database> db_;
};

// Conditional writes are linearizable: the histories of a few keys, each touched by every thread.
TEST_P(Concurrency, ConditionalWritesAreLinearizable) {
  for (int round = 0; round < 40; ++round) {
    std::string name = "register" + std::to_string(round);
    Put(name, 0);
    Moments moments;
    std::mutex mu;
    std::vector<RegisterOp> history;
    InParallel([&](int thread) {
      std::mt19937 random(round * 100 + thread);
      int64_t known = 0;
      for (int i = 0; i < 8; ++i) {
        RegisterOp op{.kind = static_cast<RegisterOp::Kind>(random() % 3)};
        op.value = 1 + thread * 1000 + i;
        op.expected = known;
        op.called = moments.Next();
        if (op.kind == RegisterOp::Kind::kRead) {
          op.value = Get(name).AsInt64().value();
        } else if (op.kind == RegisterOp::Kind::kPut) {
          Put(name, op.value);
        } else {
          UpdateItemRequest update{.table_name = "shared", .key = Key(name)};
          update.update_expression = "SET v = :new";
          update.condition_expression = "v = :old";
          update.expression_attribute_values = ExpressionValues{{":new", op.value}, {":old", op.expected}};
          op.succeeded = db_->UpdateItem(update).has_value();
        }
        op.returned = moments.Next();
        if (op.succeeded) known = op.value;
        std::lock_guard lock(mu);
        history.push_back(op);
      }
    });
    ASSERT_TRUE(IsLinearizable(history)) << "round " << round;
  }
}

// Every increment counts once, and each caller is told a number of its own.
TEST_P(Concurrency, CountersCountEveryIncrementOnce) {
  constexpr int kIncrements = 200;
  std::mutex mu;
  std::set<int64_t> told;
  InParallel([&](int) {
    for (int i = 0; i < kIncrements; ++i) {
      UpdateItemRequest update{.table_name = "shared", .key = Key("counter")};
      update.update_expression = "ADD v :one";
      update.expression_attribute_values = ExpressionValues{{":one", 1}};
      update.return_values = ReturnValue::kUpdatedNew;
      auto updated = db_->UpdateItem(update);
      ASSERT_TRUE(updated.has_value());
      std::lock_guard lock(mu);
      told.insert(updated->attributes->Get("v")->AsInt64().value());
    }
  });
  EXPECT_EQ(told.size(), static_cast<size_t>(kThreads * kIncrements));
  EXPECT_EQ(*told.rbegin(), kThreads * kIncrements);
}

// Transactions are strictly serializable: appends to several lists, and reads of several lists.
TEST_P(Concurrency, TransactionsAreStrictlySerializable) {
  const std::vector<std::string> lists{"a", "b", "c", "d"};
  for (const std::string& list : lists) Put(list, AttributeValue::List({}));
  auto elements = [](const Item& item) {
    std::vector<int64_t> numbers;
    AttributeValue list = *item.Get("v");
    for (const AttributeValue& element : list.AsList()) numbers.push_back(element.AsInt64().value());
    return numbers;
  };
  Moments moments;
  std::mutex mu;
  std::vector<ListTransaction> history;
  InParallel([&](int thread) {
    std::mt19937 random(thread);
    for (int i = 0; i < 60; ++i) {
      std::vector<std::string> chosen = lists;
      std::shuffle(chosen.begin(), chosen.end(), random);
      chosen.resize(2 + random() % 2);
      ListTransaction done{.called = moments.Next()};
      if (random() % 2 == 0) {
        TransactWriteItemsRequest request;
        for (const std::string& list : chosen) {
          int64_t element = moments.Next();
          done.appends[list] = element;
          TransactWriteItem action;
          action.update = Update(list, "SET v = list_append(v, :e)", "",
                                 ExpressionValues{{":e", AttributeValue::List({element})}});
          request.transact_items.push_back(std::move(action));
        }
        ASSERT_TRUE(Commit(request));
      } else {
        std::vector<Item> items = GetTogether(chosen);
        for (size_t j = 0; j < chosen.size(); ++j) done.reads[chosen[j]] = elements(items[j]);
      }
      done.returned = moments.Next();
      std::lock_guard lock(mu);
      history.push_back(std::move(done));
    }
  });
  std::map<std::string, std::vector<int64_t>> finals;
  std::vector<Item> items = GetTogether(lists);
  for (size_t i = 0; i < lists.size(); ++i) finals[lists[i]] = elements(items[i]);
  EXPECT_EQ(FindAnomaly(history, finals), "");
}

// Money moves between accounts and never comes into being or goes missing, at no moment that anybody can see.
TEST_P(Concurrency, BankTransfersKeepTheTotal) {
  constexpr int kAccounts = 5, kEach = 100;
  std::vector<std::string> accounts;
  for (int i = 0; i < kAccounts; ++i) {
    accounts.push_back("account" + std::to_string(i));
    Put(accounts.back(), kEach);
  }
  InParallel([&](int thread) {
    std::mt19937 random(thread);
    for (int i = 0; i < 60; ++i) {
      if (thread % 3 == 0) {
        int64_t total = 0;
        for (const Item& account : GetTogether(accounts)) {
          int64_t balance = account.Get("v")->AsInt64().value();
          EXPECT_GE(balance, 0);
          total += balance;
        }
        ASSERT_EQ(total, kAccounts * kEach);
        continue;
      }
      size_t from = random() % kAccounts, to = (from + 1 + random() % (kAccounts - 1)) % kAccounts;
      ExpressionValues amount{{":amount", static_cast<int>(random() % 60)}};
      TransactWriteItemsRequest transfer;
      transfer.transact_items.resize(2);
      transfer.transact_items[0].update =
          Update(accounts[from], "SET v = v - :amount", "v >= :amount", amount);
      transfer.transact_items[1].update = Update(accounts[to], "SET v = v + :amount", "", amount);
      Commit(transfer);  // or too little money
    }
  });
}

// A name that everybody wants goes to one of them, together with that one's own record.
TEST_P(Concurrency, UniqueClaimsHaveOneWinner) {
  for (int round = 0; round < 40; ++round) {
    std::string name = "name" + std::to_string(round);
    std::atomic<int> winners{0};
    InParallel([&](int thread) {
      TransactWriteItemsRequest claim;
      claim.transact_items.resize(2);
      TransactPut taken{.table_name = "shared", .item = {{"p", name}, {"v", thread}}};
      taken.condition_expression = "attribute_not_exists(p)";
      claim.transact_items[0].put = std::move(taken);
      claim.transact_items[1].put = TransactPut{
          .table_name = "shared", .item = {{"p", name + "/user" + std::to_string(thread)}, {"v", thread}}};
      if (Commit(claim)) ++winners;
    });
    ASSERT_EQ(winners, 1);
    int64_t winner = Get(name).AsInt64().value();
    for (int thread = 0; thread < kThreads; ++thread) {
      auto record =
          db_->GetItem({.table_name = "shared", .key = Key(name + "/user" + std::to_string(thread))});
      EXPECT_EQ(record->item.has_value(), thread == winner);
    }
  }
}

// Write skew: each may leave if another stays. Snapshot isolation would let all of them go.
TEST_P(Concurrency, WriteSkewIsImpossible) {
  for (int round = 0; round < 40; ++round) {
    auto doctor = [&](int i) { return "doctor" + std::to_string(round) + "-" + std::to_string(i); };
    for (int i = 0; i < 2; ++i) Put(doctor(i), "on call");
    InParallel([&](int thread) {
      TransactWriteItemsRequest leave;
      leave.transact_items.resize(2);
      ExpressionValues on_call{{":on", "on call"}};
      TransactConditionCheck other{.table_name = "shared", .key = Key(doctor((thread + 1) % 2))};
      other.condition_expression = "v = :on";
      other.expression_attribute_values = on_call;
      leave.transact_items[0].condition_check = std::move(other);
      leave.transact_items[1].update = Update(doctor(thread % 2), "SET v = :off", "", {{":off", "off"}});
      Commit(leave);
    });
    int on_call = 0;
    for (const Item& item : GetTogether({doctor(0), doctor(1)}))
      on_call += item.Get("v")->AsText() == "on call";
    ASSERT_EQ(on_call, 1) << "round " << round;
  }
}

// --- vectors ---

class Vectors : public Concurrency {
 protected:
  void SetUp() override {
    Concurrency::SetUp();
    CreateTableRequest table{.table_name = "vectors"};
    table.billing_mode = BillingMode::kPayPerRequest;
    table.key_schema = {{"p", KeyType::kHash}};
    table.attribute_definitions = {{"p", ScalarAttributeType::kString}, {"g", ScalarAttributeType::kNumber}};
    table.vector_indexes = {{near_}};
    ASSERT_TRUE(db_->CreateTable(table).has_value());
  }

  static std::vector<float> RandomVector(std::mt19937_64* random) {
    std::vector<float> vector(kDimensions);
    for (float& element : vector) element = static_cast<float>((*random)() % 1'000'000);
    return vector;
  }
  static Item WithVector(const std::string& name, const std::vector<float>& vector, int64_t group) {
    std::vector<AttributeValue> elements;
    for (float element : vector) elements.emplace_back(static_cast<int64_t>(element));
    return {{"p", name}, {"g", group}, {"w", AttributeValue::List(std::move(elements))}};
  }
  void PutVector(const std::string& name, const std::vector<float>& vector, int64_t group) {
    ASSERT_TRUE(db_->PutItem({.table_name = "vectors", .item = WithVector(name, vector, group)}).has_value());
  }
  void PutMany(int count) {
    std::mt19937_64 random(count);
    for (int i = 0; i < count; i += 25) {
      BatchWriteItemRequest batch;
      for (int k = i; k < i + 25; ++k) {
        batch.request_items["vectors"].push_back(
            {.put_request = PutRequest{WithVector("other" + std::to_string(k), RandomVector(&random), 0)}});
      }
      ASSERT_TRUE(db_->BatchWriteItem(batch).has_value());
    }
  }
  std::vector<SearchResult> Nearest(const std::vector<float>& vector, int64_t top_k,
                                    std::optional<int64_t> group = {}) {
    SearchVectorsRequest request{
        .table_name = "vectors", .index_name = "near", .search_vector = vector, .top_k = top_k};
    if (group) {
      request.search_condition_expression = "g = :g";
      request.expression_attribute_values = {{":g", *group}};
    }
    auto found = db_->SearchVectors(request);
    EXPECT_TRUE(found.has_value()) << found.error().ToString();
    return found->search_results;
  }

  static constexpr int kDimensions = 8;
  const VectorIndex near_{.index_name = "near",
                          .vector_attribute = {"w"},
                          .dimensions = kDimensions,
                          .distance_function = DistanceFunction::kEuclidean,
                          .projection = {.projection_type = ProjectionType::kKeysOnly},
                          .search_schema = {{{"g", SearchSchemaElementType::kInlineFilter}}}};
};

// Whoever was told that a vector is written, replaced or gone finds it so, whatever others are about: with
// few vectors, and with a graph that grows meanwhile.
TEST_P(Vectors, WritersFindTheirOwnLastWrite) {
  for (int others : {0, 3500}) {
    PutMany(others);
    InParallel([&](int thread) {
      std::mt19937_64 random(thread);
      std::string name = "own" + std::to_string(thread);
      for (int i = 0; i < 300 && !HasFailure(); ++i) {
        std::vector<float> vector = RandomVector(&random);
        PutVector(name, vector, 0);
        auto found = Nearest(vector, 1);
        ASSERT_EQ(found.size(), 1u) << i;
        EXPECT_EQ(found[0].item.Get("p")->AsText(), name) << i;
        EXPECT_EQ(found[0].score, 0) << i;
        if (i % 3 != 0) continue;
        ASSERT_TRUE(db_->DeleteItem({.table_name = "vectors", .key = Key(name)}).has_value());
        for (const SearchResult& result : Nearest(vector, 1)) {
          EXPECT_NE(result.item.Get("p")->AsText(), name) << i;
        }
      }
    });
  }
}

// A filter must hold for what is shown, even for an item that is just leaving the group; and one that stays
// must not be missed because another leaves.
TEST_P(Vectors, ResultsPassTheirFilterWhileItemsChangeGroups) {
  const std::vector<float> centre(kDimensions, 0), near(kDimensions, 1), far(kDimensions, 2);
  PutVector("stays", far, 1);
  for (int thread = 0; thread < kThreads; ++thread) PutVector("moves" + std::to_string(thread), near, 1);
  InParallel([&](int thread) {
    for (int i = 0; i < 300 && !HasFailure(); ++i) {
      if (thread % 2 == 0) {
        PutVector("moves" + std::to_string(thread), near, i % 2);
        continue;
      }
      bool stays = false;
      for (const SearchResult& result : Nearest(centre, 100, 1)) {
        EXPECT_EQ(result.item.Get("g")->AsInt64(), 1);
        stays |= result.item.Get("p")->AsText() == "stays";
      }
      EXPECT_TRUE(stays);
    }
  });
}

// Entries and vectors of an index that is dropped do not go at the same moment: a search in between must not
// say that there is nothing near.
TEST_P(Vectors, SearchesOfAnIndexThatIsDroppedAreWholeOrRefused) {
  PutMany(50);
  std::atomic<bool> stop{false};
  InParallel([&](int thread) {
    const std::vector<float> centre(kDimensions, 0);
    SearchVectorsRequest search{
        .table_name = "vectors", .index_name = "near", .search_vector = centre, .top_k = 50};
    while (thread != 0 && !stop) {
      auto found = db_->SearchVectors(search);
      EXPECT_EQ(found ? found->search_results.size() : 50, 50u);
    }
    for (int round = 0; thread == 0 && round < 100; ++round) {
      VectorIndexUpdate update;
      if (round % 2 == 0) {
        update.delete_action.emplace().index_name = "near";
      } else {
        static_cast<VectorIndex&>(update.create.emplace()) = near_;
      }
      UpdateTableRequest request{.table_name = "vectors"};
      if (update.create) request.attribute_definitions = {{{"g", ScalarAttributeType::kNumber}}};
      request.vector_index_updates = {{update}};
      while (!db_->UpdateTable(request)) std::this_thread::yield();  // until the one before is filled
    }
    if (thread == 0) stop = true;
  });
}

INSTANTIATE_TEST_SUITE_P(Stores, Vectors, testing::Values("memory", "disk"),
                         [](const auto& info) { return std::string(info.param); });

INSTANTIATE_TEST_SUITE_P(Stores, Concurrency, testing::Values("memory", "disk"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace holdfast
