// What /metrics says of a store at work.
#include "wire/metrics.h"

#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

#include "ops/operations.h"

namespace holdfast::wire {
namespace {

// Changes nothing, but holds its key while it is decided whether to.
class Nothing final : public engine::ItemMutation {
 public:
  Result<engine::Change> Apply(const value::MapView*) const override { return engine::Change{}; }
};

class BackfillTest : public testing::Test {
 protected:
  static constexpr int kItems = 10'000;

  template <class Request>
  auto Run(const Request& request) {
    return ops::Run(engine_.get(), request);
  }
  template <class Request>
  auto Do(const Request& request) {
    auto done = Run(request);
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().ToString());
    return std::move(done).value();
  }
  void SetUp() override {
    engine_ = engine::Engine::Open({}).value();
    CreateTableRequest table{.table_name = "tab", .billing_mode = BillingMode::kPayPerRequest};
    table.key_schema = {{"p", KeyType::kHash}};
    table.attribute_definitions = {{"p", ScalarAttributeType::kNumber}};
    Do(table);
    for (int number = 0; number < kItems; number += 25) {
      BatchWriteItemRequest batch;
      for (int i = number; i < number + 25; ++i)
        batch.request_items["tab"].push_back({.put_request = PutRequest{{{"p", i}, {"g", "all"}}}});
      Do(batch);
    }
    table_ = engine_->catalog().Find("tab");
    auto it = engine_->kv().Iterate(storage::Space::kItems, engine::ObjectRange(table_->schema()->id),
                                    nullptr, storage::Wait::kMayBlock);
    it->SeekToLast();
    last_key_ = it->key();
  }

  void AddIndex() {
    CreateGlobalSecondaryIndexAction create;
    create.index_name = "by_g";
    create.key_schema = {{"g", KeyType::kHash}};
    create.projection.projection_type = ProjectionType::kKeysOnly;
    UpdateTableRequest request{.table_name = "tab"};
    request.attribute_definitions = {
        {{"p", ScalarAttributeType::kNumber}, {"g", ScalarAttributeType::kString}}};
    request.global_secondary_index_updates = {{{.create = create}}};
    Do(request);
  }
  void DropIndex() {
    UpdateTableRequest request{.table_name = "tab"};
    request.global_secondary_index_updates = {{{.delete_action = DeleteGlobalSecondaryIndexAction{"by_g"}}}};
    Do(request);
  }
  QueryRequest QueryOfIndex() {
    QueryRequest query;
    query.table_name = "tab";
    query.index_name = "by_g";
    query.key_condition_expression = "g = :g";
    query.expression_attribute_values = Item{{":g", "all"}};
    query.select = Select::kCount;
    return query;
  }
  bool IsCreating() { return table_->schema()->FindIndex("by_g")->status == IndexStatus::kCreating; }
  double Progress() { return engine_->BackfillProgress(table_->schema()->FindIndex("by_g")->id); }

  // Calls `look` while a backfill stands still shortly before its end: a write holds the last item's key.
  void WithBackfillHeld(const std::function<void()>& look) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      AddIndex();
      std::binary_semaphore held{0}, let_go{0};
      std::thread writer([&] {
        engine::WriteOptions options;
        options.under_lock = [&](const auto* outcomes, auto*) -> Status {
          if (outcomes != nullptr) return Ok{};
          held.release();
          let_go.acquire();
          return Ok{};
        };
        Nothing nothing;
        EXPECT_TRUE(engine_->writer().Write({{table_.get(), last_key_, &nothing}}, options));
      });
      held.acquire();
      bool caught = IsCreating();
      if (caught) look();
      let_go.release();
      writer.join();
      engine_->WaitForBackfills();
      if (caught) return;
      DropIndex();  // it was filled before the key was taken: once more
    }
    FAIL() << "no backfill could be held";
  }

  std::unique_ptr<engine::Engine> engine_;
  engine::TablePtr table_;
  std::string last_key_;
};

// The progress of adding an index to a large table must be visible, and a Query of the unfinished index would
// miss items.
TEST_F(BackfillTest, DB_G_03_ABackfillShowsItsProgressAndItsIndexRefusesQueries) {
  Metrics metrics({});
  const std::string sample = "\nholdfast_index_backfill_progress{table=\"tab\",index=\"by_g\"} ";
  EXPECT_EQ(metrics.Render(engine_.get()).find(sample), std::string::npos);
  WithBackfillHeld([&] {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (Progress() < 0.9 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    std::string text = metrics.Render(engine_.get());
    size_t at = text.find(sample);
    ASSERT_NE(at, std::string::npos);
    double shown = std::stod(text.substr(at + sample.size()));
    EXPECT_GE(shown, 0.9);
    EXPECT_LT(shown, 1);

    auto query = Run(QueryOfIndex());
    ASSERT_FALSE(query.has_value());
    EXPECT_EQ(query.error().ToString(),
              "ValidationException: Cannot read from backfilling global secondary index: by_g");
    ScanRequest scan;
    scan.table_name = "tab";
    scan.index_name = "by_g";
    EXPECT_EQ(Run(scan).error().ToString(),
              "ValidationException: Cannot read from backfilling global secondary index: by_g");
    GlobalSecondaryIndexDescription index =
        Do(DescribeTableRequest{"tab"}).table.global_secondary_indexes->at(0);
    EXPECT_EQ(index.index_status, IndexStatus::kCreating);
    EXPECT_EQ(index.backfilling, true);
    // The table itself is read and written on.
    Do(PutItemRequest{.table_name = "tab", .item = {{"p", kItems}, {"g", "all"}}});
    EXPECT_TRUE(Do(GetItemRequest{.table_name = "tab", .key = {{"p", kItems}}}).item.has_value());
  });
  EXPECT_EQ(Do(DescribeTableRequest{"tab"}).table.global_secondary_indexes->at(0).index_status,
            IndexStatus::kActive);
  EXPECT_EQ(metrics.Render(engine_.get()).find(sample), std::string::npos);
  int64_t counted = 0;
  QueryRequest query = QueryOfIndex();
  while (true) {
    QueryResponse page = Do(query);
    counted += page.count;
    if (!page.last_evaluated_key) break;
    query.exclusive_start_key = page.last_evaluated_key;
  }
  EXPECT_EQ(counted, kItems + 1) << "what was written meanwhile is in it too";
}

}  // namespace
}  // namespace holdfast::wire
