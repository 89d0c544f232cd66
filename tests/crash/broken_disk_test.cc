// A disk that fails without going away: syncs that fail, space that ends. Writers are told, readers are
// served what was acknowledged, and a restart on a sound disk finds all of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>

#include "engine/backup/backups.h"
#include "engine/backup/recovery.h"
#include "engine/engine.h"
#include "engine/verify.h"
#include "ops/operations.h"
#include "storage/fault/fault_file_system.h"

namespace holdfast {
namespace {

class BrokenDisk : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "holdfast-broken-" + std::to_string(::getpid());
    std::filesystem::remove_all(directory_);
    Open();
    CreateTableRequest table{.table_name = "broken"};
    table.billing_mode = BillingMode::kPayPerRequest;
    table.key_schema = {{"p", KeyType::kHash}};
    table.attribute_definitions = {{"p", ScalarAttributeType::kNumber}};
    ASSERT_TRUE(ops::Run(engine_.get(), table).has_value());
  }
  void TearDown() override {
    engine_.reset();
    std::filesystem::remove_all(directory_);
    std::filesystem::remove_all(directory_ + ".parked");
  }

  void Open() {
    engine_.reset();
    engine::EngineOptions options;
    options.options.directory = directory_;
    options.file_system = disk_;
    options.options.durability = durability_;
    options.options.sync_interval_millis = 3'600'000;  // for kInterval: no sync tells of what happened
    options.write_buffer_bytes = 256 << 10;
    auto opened = engine::Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = *std::move(opened);
  }

  Result<PutItemResponse> Put(int number) {
    return ops::Run(engine_.get(), PutItemRequest{.table_name = "broken",
                                                  .item = {{"p", number}, {"pad", std::string(4000, 'x')}}});
  }
  bool Has(int number) {
    auto got = ops::Run(engine_.get(), GetItemRequest{.table_name = "broken", .key = {{"p", number}}});
    return got && got->item;
  }
  // Puts items until one is refused; returns how many were acknowledged.
  int PutUntilRefused(int most) {
    for (int number = 0; number < most; ++number) {
      if (!Put(number)) return number;
    }
    return most;
  }
  void ExpectItems(int count) {
    for (int number = 0; number < count; ++number) ASSERT_TRUE(Has(number)) << number << " of " << count;
  }

  template <class Request>
  auto Do(const Request& request) {
    auto response = ops::Run(engine_.get(), request);
    EXPECT_TRUE(response.has_value()) << response.error().ToString();
    return *std::move(response);
  }
  template <class Request>
  std::function<Status()> Doing(Request request) {
    return [this, request = std::move(request)]() -> Status {
      auto response = ops::Run(engine_.get(), request);
      return response ? Status(Ok{}) : Status(response.error());
    };
  }
  // Everything that storage holds, published or not.
  std::map<std::string, std::string> Stored() {
    std::map<std::string, std::string> stored;
    for (storage::Space space : {storage::Space::kCatalog, storage::Space::kItems, storage::Space::kIndexes,
                                 storage::Space::kTtl, storage::Space::kChanges}) {
      auto it = engine_->kv().Iterate(space, {"", ""}, nullptr, storage::Wait::kMayBlock);
      for (it->SeekToFirst(); it->Valid(); it->Next())
        stored[std::string(storage::SpaceName(space)) + "/" + std::string(it->key())] = it->value();
      EXPECT_TRUE(it->status());
    }
    return stored;
  }

  std::string directory_;
  Durability durability_ = Durability::kSync;
  std::shared_ptr<storage::FaultFileSystem> disk_ = std::make_shared<storage::FaultFileSystem>(1);
  std::unique_ptr<engine::Engine> engine_;
};

TEST_F(BrokenDisk, FailedSyncMakesTheStoreReadOnlyUntilItIsReopened) {
  ASSERT_TRUE(Put(0).has_value());
  disk_->FailSyncs(true);
  auto refused = Put(1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::kReadOnly);
  EXPECT_TRUE(Has(0));
  EXPECT_FALSE(Has(1)) << "a write that was not acknowledged is shown";
  // The kernel may have dropped the pages of the failed sync: a later one that works proves nothing
  // (fsyncgate).
  disk_->FailSyncs(false);
  EXPECT_FALSE(Put(2).has_value());
  Open();
  EXPECT_TRUE(Has(0));
  EXPECT_TRUE(Put(2).has_value());
}

// A change that gets past the door is answered with an error and done all the same, in memory or at the next
// start (I-5, I-29). So each of them is tried, and storage must be the same to the byte.
TEST_F(BrokenDisk, AfterAFailedSyncEveryChangeIsRefusedAndLeavesNoTrace) {
  ASSERT_TRUE(Put(0).has_value());
  const std::string arn = Do(DescribeTableRequest{"broken"}).table.table_arn;
  Do(TagResourceRequest{arn, {{"team", "one"}}});
  Do(UpdateContinuousBackupsRequest{"broken", {true, {}}});
  std::string backup = Do(CreateBackupRequest{"broken", "kept"}).backup_details.backup_arn;
  engine_->backups().thread().WaitIdle();
  CreateTableRequest other{.table_name = "other", .billing_mode = BillingMode::kPayPerRequest};
  other.key_schema = {{"p", KeyType::kHash}};
  other.attribute_definitions = {{"p", ScalarAttributeType::kNumber}};
  Do(other);

  disk_->FailSyncs(true);
  ASSERT_FALSE(Put(1).has_value());
  disk_->FailSyncs(false);
  const auto before = Stored();

  CreateTableRequest third = other;
  third.table_name = "third";
  UpdateTableRequest provisioned{.table_name = "broken"};
  provisioned.billing_mode = BillingMode::kProvisioned;
  provisioned.provisioned_throughput = {5, 5};
  RestoreTableFromBackupRequest from_backup;
  from_backup.backup_arn = backup;
  from_backup.target_table_name = "restored";
  RestoreTableToPointInTimeRequest to_now;
  to_now.source_table_name = "broken";
  to_now.target_table_name = "restored";
  to_now.use_latest_restorable_time = true;
  Item item{{"p", 1}};
  BatchWriteItemRequest batch;
  batch.request_items["broken"].push_back({.put_request = PutRequest{item}});
  const std::pair<const char*, std::function<Status()>> changes[] = {
      {"PutItem", Doing(PutItemRequest{.table_name = "broken", .item = item})},
      {"DeleteItem", Doing(DeleteItemRequest{.table_name = "broken", .key = {{"p", 0}}})},
      {"BatchWriteItem", Doing(batch)},
      {"TransactWriteItems",
       Doing(TransactWriteItemsRequest{
           .transact_items = {{.put = TransactPut{.table_name = "broken", .item = item}}}})},
      {"CreateTable", Doing(third)},
      {"UpdateTable", Doing(provisioned)},
      {"DeleteTable, kept back by its last backup", Doing(DeleteTableRequest{"broken"})},
      {"DeleteTable", Doing(DeleteTableRequest{"other"})},
      {"UpdateTimeToLive",
       Doing(UpdateTimeToLiveRequest{"broken", {.attribute_name = "e", .enabled = true}})},
      {"TagResource", Doing(TagResourceRequest{arn, {{"team", "two"}}})},
      {"UntagResource", Doing(UntagResourceRequest{arn, {"team"}})},
      {"UpdateContinuousBackups, off", Doing(UpdateContinuousBackupsRequest{"broken", {false, {}}})},
      {"UpdateContinuousBackups, on", Doing(UpdateContinuousBackupsRequest{"other", {true, {}}})},
      {"CreateBackup", Doing(CreateBackupRequest{"broken", "another"})},
      {"DeleteBackup", Doing(DeleteBackupRequest{backup})},
      {"RestoreTableFromBackup", Doing(from_backup)},
      {"RestoreTableToPointInTime", Doing(to_now)},
      {"DropTable", [&] { return engine_->DropTable(engine_->catalog().Find("other")); }},
      {"trimming the change log", [&] { return engine_->change_log().Trim(); }},
  };
  for (const auto& [name, change] : changes) {
    Status refused = change();
    ASSERT_FALSE(refused.has_value()) << name;
    EXPECT_EQ(refused.error().code(), ErrorCode::kReadOnly) << name << ": " << refused.error().ToString();
    EXPECT_TRUE(Stored() == before) << name << " wrote";
  }
  static_cast<void>(engine_->RunHousekeeping());
  EXPECT_TRUE(Stored() == before) << "housekeeping wrote";

  EXPECT_TRUE(Has(0));
  EXPECT_EQ(Do(ListTablesRequest{}).table_names, (std::vector<std::string>{"broken", "other"}));
  EXPECT_EQ(Do(DescribeTableRequest{"broken"}).table.table_status, TableStatus::kActive);
  EXPECT_EQ(Do(ListTagsOfResourceRequest{arn}).tags.at(0).value, "one");
  Open();
  EXPECT_EQ(Do(ListTablesRequest{}).table_names, (std::vector<std::string>{"broken", "other"}));
  EXPECT_TRUE(Has(0));
  EXPECT_FALSE(engine::VerifyStore(engine_.get())->faults.size());
}

// The sync that fails may be that of a change to the tables itself. Its caller is told that it failed: what
// readers are shown must say the same.
TEST_F(BrokenDisk, ATableWhoseOwnDropCannotBeSyncedStays) {
  ASSERT_TRUE(Put(0).has_value());
  disk_->FailSyncs(true);
  auto dropped = ops::Run(engine_.get(), DeleteTableRequest{"broken"});
  ASSERT_FALSE(dropped.has_value());
  EXPECT_EQ(dropped.error().code(), ErrorCode::kReadOnly);
  EXPECT_TRUE(Has(0));
  EXPECT_EQ(Do(DescribeTableRequest{"broken"}).table.table_status, TableStatus::kActive);
}
TEST_F(BrokenDisk, ATableWhoseCreationCannotBeSyncedIsNotShown) {
  CreateTableRequest other{.table_name = "other", .billing_mode = BillingMode::kPayPerRequest};
  other.key_schema = {{"p", KeyType::kHash}};
  other.attribute_definitions = {{"p", ScalarAttributeType::kNumber}};
  disk_->FailSyncs(true);
  EXPECT_FALSE(ops::Run(engine_.get(), other).has_value());
  EXPECT_EQ(Do(ListTablesRequest{}).table_names, (std::vector<std::string>{"broken"}));
}
TEST_F(BrokenDisk, AnUpdateOfATableThatCannotBeSyncedIsNotInForce) {
  UpdateTimeToLiveRequest enable{"broken", {.attribute_name = "e", .enabled = true}};
  disk_->FailSyncs(true);
  EXPECT_FALSE(ops::Run(engine_.get(), enable).has_value());
  EXPECT_EQ(Do(DescribeTimeToLiveRequest{"broken"}).time_to_live_description.time_to_live_status,
            TimeToLiveStatus::kDisabled);
}

TEST_F(BrokenDisk, FullDiskLosesNothingAndRecoversWithSpace) {
  disk_->LimitSpace(3 << 20);
  int acknowledged = PutUntilRefused(10000);
  ASSERT_GT(acknowledged, 0);
  ASSERT_LT(acknowledged, 10000) << "the disk never filled";
  ExpectItems(acknowledged);
  disk_->LimitSpace(UINT64_MAX);
  Open();
  ExpectItems(acknowledged);
  EXPECT_TRUE(Put(acknowledged).has_value());
  auto report = engine::VerifyStore(engine_.get());
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->faults.empty());
}

// An answer before the sync promises that a crash of the process takes nothing. The log swallowed the
// failure, and for up to a second acknowledged writes were in memory alone.
TEST_F(BrokenDisk, AFullDiskRefusesWritesAtOnceWhereSyncsAreRare) {
  durability_ = Durability::kInterval;
  Open();
  disk_->LimitSpace(1 << 20);
  int acknowledged = PutUntilRefused(10000);
  ASSERT_GT(acknowledged, 0);
  ASSERT_LT(acknowledged, 1000) << "more was acknowledged than the disk holds";
  auto refused = Put(acknowledged + 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::kReadOnly);
  disk_->LimitSpace(UINT64_MAX);
  EXPECT_FALSE(Put(acknowledged + 1).has_value()) << "a hole in the log would end the next recovery";
  Open();
  ExpectItems(acknowledged);
  EXPECT_FALSE(Has(acknowledged + 1));
  EXPECT_TRUE(Put(acknowledged).has_value());
}

// Without syncs the log is written a buffer at a time; the failure ends the writes all the same.
TEST_F(BrokenDisk, AFullDiskEndsWritesWhereThereAreNoSyncs) {
  durability_ = Durability::kNone;
  Open();
  disk_->LimitSpace(1 << 20);
  int accepted = 0;
  auto is_read_only = [](const Result<PutItemResponse>& put) {
    return !put && put.error().code() == ErrorCode::kReadOnly;
  };
  while (accepted < 10000 && !is_read_only(Put(accepted))) ++accepted;
  EXPECT_LT(accepted, 1000);
  disk_->LimitSpace(UINT64_MAX);
  EXPECT_TRUE(is_read_only(Put(accepted + 1)));
}

}  // namespace
}  // namespace holdfast
