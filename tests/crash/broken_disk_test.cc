// A disk that fails without going away: syncs that fail, space that ends. Writers are told, readers are
// served what was acknowledged, and a restart on a sound disk finds all of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

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

// Whoever is answered before the sync is promised that a crash of the process takes nothing. The log
// swallowed the failure and writes were acknowledged for up to a second that were nowhere but in memory.
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
