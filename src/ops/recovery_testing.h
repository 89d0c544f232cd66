// What tests of backups and recovery share: a store whose clock they move, and short ways to say what they
// do.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "engine/backup/backups.h"
#include "engine/backup/restorer.h"
#include "engine/engine.h"
#include "engine/verify.h"
#include "ops/operations.h"
#include "storage/fault/fault_file_system.h"

namespace holdfast::ops {

// On a disk that syncs nothing, or in memory.
class RecoveryTest : public testing::TestWithParam<std::string> {
 protected:
  using Items = std::map<std::string, Item>;  // by key

  void SetUp() override {
    if (GetParam() == "rocksdb") {
      static int opened = 0;
      directory_ = std::filesystem::temp_directory_path() /
                   ("holdfast-recovery-" + std::to_string(::getpid()) + "-" + std::to_string(++opened));
      disk_ = std::make_shared<storage::FaultFileSystem>(1);
    }
    Open();
  }
  void TearDown() override {
    engine_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  void Open() {
    engine_.reset();
    engine::EngineOptions options{.clock = &clock_, .seed = 1, .manual_housekeeping = true};
    options.options.directory = directory_;
    options.file_system = disk_;
    options.vector_graph_min = 16;
    auto opened = engine::Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = *std::move(opened);
  }

  template <class Request>
  auto Run(const Request& request) {
    return ops::Run(engine_.get(), request);
  }
  // The same, of what must succeed.
  template <class Request>
  auto Do(const Request& request) {
    auto done = Run(request);
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().ToString());
    return std::move(done).value();
  }
  template <class Request>
  std::string Refusal(const Request& request) {
    auto done = Run(request);
    return done ? "nothing" : done.error().ToString();
  }

  // A table with an index of each kind.
  CreateTableRequest TableWithIndexes(const std::string& name) {
    CreateTableRequest request;
    request.table_name = name;
    request.billing_mode = BillingMode::kPayPerRequest;
    request.key_schema = {{"p", KeyType::kHash}, {"c", KeyType::kRange}};
    request.attribute_definitions = {{"p", ScalarAttributeType::kString},
                                     {"c", ScalarAttributeType::kNumber},
                                     {"g", ScalarAttributeType::kString},
                                     {"l", ScalarAttributeType::kString}};
    request.local_secondary_indexes = {{LocalIndex()}};
    request.global_secondary_indexes = {{GlobalIndex()}};
    request.vector_indexes = {{OfVectors()}};
    return request;
  }
  static LocalSecondaryIndex LocalIndex() {
    return {.index_name = "by_l",
            .key_schema = {{"p", KeyType::kHash}, {"l", KeyType::kRange}},
            .projection = {.projection_type = ProjectionType::kKeysOnly}};
  }
  static GlobalSecondaryIndex GlobalIndex() {
    return {.index_name = "by_g",
            .key_schema = {{"g", KeyType::kHash}, {"c", KeyType::kRange}},
            .projection = {.projection_type = ProjectionType::kAll}};
  }
  static VectorIndex OfVectors() {
    return {.index_name = "by_v",
            .vector_attribute = {"v"},
            .dimensions = 4,
            .distance_function = DistanceFunction::kEuclidean,
            .projection = {.projection_type = ProjectionType::kKeysOnly},
            .search_schema = {{{"g", SearchSchemaElementType::kInlineFilter}}}};
  }

  static Item MakeItem(int key, int version) {
    AttributeMap item{{"p", "p" + std::to_string(key % 7)},
                      {"c", key},
                      {"version", version},
                      {"pad", std::string(static_cast<size_t>(version * 37 % 300), 'x')}};
    if ((key + version) % 3 != 0) item.emplace("g", "g" + std::to_string(version % 4));
    if ((key + version) % 2 != 0) item.emplace("l", "l" + std::to_string(version % 9));
    if (version % 4 != 0) item.emplace("v", AttributeValue::List({version % 10, key % 10, version % 3, 1}));
    return Item(item);
  }
  static Item KeyOf(int key) { return Item{{"p", "p" + std::to_string(key % 7)}, {"c", key}}; }
  static std::string NameOfKey(const Item& item) {
    return item.Get("p")->AsText() + "/" + item.Get("c")->AsText();
  }

  void Put(const std::string& table, const Item& item) {
    Do(PutItemRequest{.table_name = table, .item = item});
  }
  Items Scan(const std::string& table) {
    Items items;
    ScanRequest request;
    request.table_name = table;
    while (true) {
      ScanResponse page = Do(request);
      for (Item& item : *page.items) {
        std::string name = NameOfKey(item);
        items.emplace(std::move(name), std::move(item));
      }
      if (!page.last_evaluated_key) return items;
      request.exclusive_start_key = page.last_evaluated_key;
    }
  }

  std::string Backup(const std::string& table, const std::string& name = "kept") {
    CreateBackupResponse made = Do(CreateBackupRequest{table, name});
    EXPECT_EQ(made.backup_details.backup_status, BackupStatus::kCreating);
    engine_->backups().thread().WaitIdle();
    return made.backup_details.backup_arn;
  }
  RestoreTableFromBackupRequest Restoring(const std::string& arn, const std::string& target) {
    RestoreTableFromBackupRequest request;
    request.backup_arn = arn;
    request.target_table_name = target;
    return request;
  }
  // Waits until the restored table is there, and describes it.
  TableDescription Restored(const std::string& table) {
    engine_->restorer().WaitIdle();
    TableDescription description = Do(DescribeTableRequest{table}).table;
    EXPECT_EQ(description.table_status, TableStatus::kActive);
    EXPECT_TRUE(description.restore_summary && !description.restore_summary->restore_in_progress);
    return description;
  }

  // Everything in the store is what its items say, and the figures are right.
  void ExpectSound() {
    engine_->WaitForBackfills();
    auto report = engine::VerifyStore(engine_.get());
    ASSERT_TRUE(report.has_value());
    for (const std::string& fault : report->faults) ADD_FAILURE() << fault;
    int64_t items = 0, entries = 0;
    for (const engine::TablePtr& table : engine_->catalog().All()) {
      items += table->tally.count;
      for (const engine::IndexSchema& index : table->schema()->indexes)
        entries += table->IndexTally(index.id)->count;
    }
    EXPECT_EQ(items, static_cast<int64_t>(report->items));
    EXPECT_EQ(entries, static_cast<int64_t>(report->index_entries));
  }

  base::ManualClock clock_{1'800'000'000'000};
  std::string directory_;
  std::shared_ptr<storage::FaultFileSystem> disk_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace holdfast::ops
