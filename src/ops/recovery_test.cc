// Point-in-time recovery: a table as it was at the end of any second, told by a model that remembers them
// all.
#include <random>

#include "engine/backup/recovery.h"
#include "ops/recovery_testing.h"

namespace holdfast::ops {
namespace {

constexpr int64_t kDay = 24 * 3600;

class PointInTimeTest : public RecoveryTest {
 protected:
  using Description = PointInTimeRecoveryDescription;

  Description Enable(const std::string& table, std::optional<int64_t> days = {}) {
    auto enabled = Do(UpdateContinuousBackupsRequest{table, {true, days}});
    engine_->backups().thread().WaitIdle();
    return enabled.continuous_backups_description.point_in_time_recovery_description;
  }
  void Disable(const std::string& table) { Do(UpdateContinuousBackupsRequest{table, {false, {}}}); }
  Description Window(const std::string& table) {
    return Do(DescribeContinuousBackupsRequest{table})
        .continuous_backups_description.point_in_time_recovery_description;
  }
  RestoreTableToPointInTimeRequest To(const std::string& target, std::optional<int64_t> second) {
    RestoreTableToPointInTimeRequest request;
    request.source_table_name = "tab";
    request.target_table_name = target;
    if (second) {
      request.restore_date_time = Timestamp{*second * 1000};
    } else {
      request.use_latest_restorable_time = true;
    }
    return request;
  }
  // The table as of a second, which is taken away again.
  Items AsOf(std::optional<int64_t> second) {
    Do(To("restored", second));
    Restored("restored");
    Items items = Scan("restored");
    ExpectSound();
    Do(DeleteTableRequest{"restored"});
    return items;
  }
  // Housekeeping, and what it gives to the background to do.
  void Housekeep() {
    ASSERT_TRUE(engine_->RunHousekeeping());
    engine_->backups().thread().WaitIdle();
    ASSERT_TRUE(engine_->RunHousekeeping());
  }
  int64_t now() { return clock_.NowSeconds(); }
  size_t Segments() { return engine_->kv().files(storage::FileKind::kSegments)->List().value().size(); }
};

constexpr std::string_view kOutside =
    "InvalidRestoreTimeException: An invalid restore time was specified. RestoreDateTime must be between "
    "EarliestRestorableDateTime and LatestRestorableDateTime.";

TEST_P(PointInTimeTest, DB_B_01_RecoveryIsSwitchedOnAndOff) {
  Do(TableWithIndexes("tab"));
  Put("tab", MakeItem(1, 1));
  Description off = Window("tab");
  EXPECT_EQ(off.point_in_time_recovery_status, ContinuousBackupsStatus::kDisabled);
  EXPECT_FALSE(off.earliest_restorable_date_time || off.recovery_period_in_days);
  EXPECT_EQ(Refusal(To("rrr", now())),
            "PointInTimeRecoveryUnavailableException: Point in time recovery is not enabled for table 'tab'");

  Description on = Enable("tab");
  EXPECT_EQ(on.point_in_time_recovery_status, ContinuousBackupsStatus::kEnabled);
  EXPECT_EQ(on.recovery_period_in_days, 35);
  EXPECT_EQ(on.earliest_restorable_date_time->millis, now() * 1000);
  EXPECT_EQ(on.latest_restorable_date_time->millis, now() * 1000);
  EXPECT_EQ(AsOf(std::nullopt).size(), 1U);
  Enable("tab", 3);
  EXPECT_EQ(Window("tab").recovery_period_in_days, 3);
  EXPECT_EQ(Segments(), 1U);

  int64_t before = now();
  clock_.Advance(10'000);
  Disable("tab");
  EXPECT_EQ(Window("tab").point_in_time_recovery_status, ContinuousBackupsStatus::kDisabled);
  engine_->backups().thread().WaitIdle();
  EXPECT_EQ(Segments(), 0U);
  Put("tab", MakeItem(2, 1));  // in no log
  clock_.Advance(10'000);
  EXPECT_EQ(Enable("tab").earliest_restorable_date_time->millis, now() * 1000);
  EXPECT_EQ(Refusal(To("rrr", before)), kOutside);
  Put("tab", MakeItem(3, 1));
  EXPECT_EQ(AsOf(now()).size(), 3U);
}

// A table with recovery leaves a backup behind, as on AWS, for 35 days.
TEST_P(PointInTimeTest, DB_B_01_ADeletedTableCanBeHadBackForAWhile) {
  Do(TableWithIndexes("tab"));
  Enable("tab");
  for (int key = 0; key < 30; ++key) Put("tab", MakeItem(key, key));
  Items then = Scan("tab");
  Do(DeleteTableRequest{"tab"});
  engine_->backups().thread().WaitIdle();
  EXPECT_EQ(Segments(), 1U);  // no base is left
  EXPECT_TRUE(Do(ListBackupsRequest{}).backup_summaries.empty());
  auto listed = [&] {
    return Do(ListBackupsRequest{.backup_type = BackupTypeFilter::kSystem}).backup_summaries;
  };
  ASSERT_EQ(listed().size(), 1U);
  BackupSummary left = listed()[0];
  EXPECT_EQ(left.backup_name, "tab$DeletedTableBackup");
  EXPECT_EQ(left.backup_expiry_date_time->millis, (now() + 35 * kDay) * 1000);
  RestoreTableFromBackupRequest back;
  back.backup_arn = left.backup_arn;
  back.target_table_name = "tab";
  Do(back);
  Restored("tab");
  EXPECT_EQ(Scan("tab"), then);
  EXPECT_EQ(Window("tab").point_in_time_recovery_status, ContinuousBackupsStatus::kDisabled);
  clock_.Advance((35 * kDay - 1) * 1000);
  Housekeep();
  EXPECT_EQ(listed().size(), 1U);
  clock_.Advance(1000);
  Housekeep();
  EXPECT_TRUE(listed().empty());
  EXPECT_EQ(Segments(), 0U);
}

// Stopped at once, the store still makes the backup before it drops the table.
TEST_P(PointInTimeTest, DB_B_01_ADeletedTableIsNotLostByAStop) {
  if (directory_.empty()) return;  // nothing outlives a store in memory
  Do(TableWithIndexes("tab"));
  Enable("tab");
  for (int key = 0; key < 30; ++key) Put("tab", MakeItem(key, key));
  Items then = Scan("tab");
  EXPECT_EQ(Do(DeleteTableRequest{"tab"}).table_description.table_status, TableStatus::kDeleting);
  Open();
  engine_->backups().thread().WaitIdle();
  EXPECT_EQ(engine_->catalog().size(), 0U);
  auto left = Do(ListBackupsRequest{.backup_type = BackupTypeFilter::kSystem}).backup_summaries;
  ASSERT_FALSE(left.empty());
  RestoreTableFromBackupRequest back;
  back.backup_arn = left[0].backup_arn;
  back.target_table_name = "tab";
  Do(back);
  Restored("tab");
  EXPECT_EQ(Scan("tab"), then);
}

// Where its last backup does not fit on the disk, the table stays until it does.
TEST_P(PointInTimeTest, DB_B_01_ADeletedTableStaysWhileItsLastBackupCannotBeMade) {
  if (directory_.empty()) return;  // there is no disk
  Do(TableWithIndexes("tab"));
  Enable("tab");
  AttributeMap large = MakeItem(0, 0).ToMap();
  large["pad"] = std::string(300'000, 'x');
  for (int key = 0; key < 10; ++key) {
    large["c"] = key;
    Put("tab", Item(large));
  }
  size_t bases = Segments();
  disk_->LimitSpace(1 << 20);
  Do(DeleteTableRequest{"tab"});
  engine_->backups().thread().WaitIdle();
  EXPECT_EQ(Do(DescribeTableRequest{"tab"}).table.table_status, TableStatus::kDeleting);
  EXPECT_EQ(Segments(), bases);
  disk_->LimitSpace(UINT64_MAX);
  clock_.Advance(engine::TableJobs::kPauseMillis);
  Housekeep();
  engine_->backups().thread().WaitIdle();
  EXPECT_EQ(engine_->catalog().size(), 0U);
  auto left = Do(ListBackupsRequest{.backup_type = BackupTypeFilter::kSystem}).backup_summaries;
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(Do(DescribeBackupRequest{left[0].backup_arn}).backup_description.source_table_details.item_count,
            10);
}

TEST_P(PointInTimeTest, DB_B_01_TheWindowIsExact) {
  Do(TableWithIndexes("tab"));
  clock_.Set(1'800'000'000'500);
  Put("tab", MakeItem(1, 1));
  Enable("tab", 2);
  int64_t begun = now();
  Put("tab", MakeItem(1, 2));
  clock_.Set(begun * 1000 + 999);
  Put("tab", MakeItem(1, 3));  // still in that second
  clock_.Set((begun + 1) * 1000);
  Put("tab", MakeItem(1, 4));  // in the next
  clock_.Advance(5000);
  auto version = [&](int64_t second) { return AsOf(second).at("p1/1").Get("version")->AsInt64(); };
  EXPECT_EQ(version(begun), 3);
  EXPECT_EQ(version(begun + 1), 4);
  EXPECT_EQ(Refusal(To("rrr", begun - 1)), kOutside);
  EXPECT_EQ(version(now()), 4);
  EXPECT_EQ(Refusal(To("rrr", now() + 1)), kOutside);

  // A fraction of a second is cut off.
  RestoreTableToPointInTimeRequest within = To("rrr", begun);
  within.restore_date_time->millis += 999;
  Do(within);
  EXPECT_EQ(Restored("rrr").restore_summary->restore_date_time.millis, begun * 1000);
  EXPECT_EQ(Scan("rrr").at("p1/1").Get("version")->AsInt64(), 3);
  Do(DeleteTableRequest{"rrr"});

  // Until the period has passed it begins when recovery was switched on; then it moves, second by second.
  for (int64_t past : {2 * kDay, 2 * kDay + 1, 5 * kDay}) {
    clock_.Set((begun + past) * 1000);
    Housekeep();
    int64_t earliest = now() - 2 * kDay;
    EXPECT_EQ(Window("tab").earliest_restorable_date_time->millis, earliest * 1000);
    EXPECT_EQ(version(earliest), past == 2 * kDay ? 3 : 4);
    EXPECT_EQ(Refusal(To("rrr", earliest - 1)), kOutside);
  }
  EXPECT_EQ(engine_->catalog().size(), 1U);
}

TEST_P(PointInTimeTest, DB_B_01_WhatIsWrongIsRefusedAndChangesNothing) {
  Do(TableWithIndexes("tab"));
  Enable("tab");
  const std::string invalid = "ValidationException: One or more parameter values were invalid: ";
  EXPECT_EQ(Refusal(DescribeContinuousBackupsRequest{"none"}),
            "TableNotFoundException: Table not found: none");
  EXPECT_EQ(Refusal(UpdateContinuousBackupsRequest{"none", {true, {}}}),
            "TableNotFoundException: Table not found: none");
  EXPECT_EQ(
      Refusal(UpdateContinuousBackupsRequest{"tab", {true, 36}}),
      "ValidationException: 1 validation error detected: Value '36' at "
      "'pointInTimeRecoverySpecification.recoveryPeriodInDays' failed to satisfy constraint: Member must "
      "have value less than or equal to 35");
  EXPECT_EQ(Refusal(UpdateContinuousBackupsRequest{"tab", {false, 1}}),
            invalid + "RecoveryPeriodInDays can only be specified when PointInTimeRecoveryEnabled is true");
  auto refusal = [&](auto change) {
    RestoreTableToPointInTimeRequest request = To("rrr", now());
    change(&request);
    return Refusal(request);
  };
  EXPECT_EQ(refusal([](auto* request) { request->source_table_name = "none"; }),
            "TableNotFoundException: Table not found: none");
  EXPECT_EQ(refusal([](auto* request) { request->target_table_name = "t"; }).substr(0, 55),
            "ValidationException: 1 validation error detected: Value");
  EXPECT_EQ(refusal([](auto* request) { request->source_table_name.reset(); }),
            invalid + "Either SourceTableName or SourceTableArn must be specified");
  EXPECT_EQ(refusal([](auto* request) { request->use_latest_restorable_time = true; }),
            invalid + "Only one of RestoreDateTime and UseLatestRestorableTime may be specified");
  EXPECT_EQ(refusal([](auto* request) { request->restore_date_time.reset(); }),
            invalid + "Either RestoreDateTime or UseLatestRestorableTime must be specified");
  EXPECT_EQ(refusal([](auto* request) { request->billing_mode_override = BillingMode::kProvisioned; }),
            invalid +
                "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is "
                "PROVISIONED");
  Do(TableWithIndexes("taken"));
  EXPECT_EQ(refusal([](auto* request) { request->target_table_name = "taken"; }),
            "TableAlreadyExistsException: Table already exists: taken");
  EXPECT_EQ(engine_->catalog().size(), 2U);
  EXPECT_EQ(Window("tab").recovery_period_in_days, 35);

  RestoreTableToPointInTimeRequest by_arn = To("by_arn", now());
  by_arn.source_table_name.reset();
  by_arn.source_table_arn = "arn:aws:dynamodb:us-east-1:123456789012:table/tab";
  by_arn.global_secondary_index_override.emplace();
  Do(by_arn);
  TableDescription described = Restored("by_arn");
  EXPECT_FALSE(described.global_secondary_indexes);
  EXPECT_EQ(described.restore_summary->source_table_arn, by_arn.source_table_arn);
  EXPECT_FALSE(described.restore_summary->source_backup_arn);
}

// A damaged base is noticed, and what the restore reads stays until the table is given up.
TEST_P(PointInTimeTest, DB_B_01_WhatARestoreReadsStays) {
  Do(TableWithIndexes("tab"));
  for (int key = 0; key < 30; ++key) Put("tab", MakeItem(key, key));
  Enable("tab", 1);
  storage::Files* files = engine_->kv().files(storage::FileKind::kSegments);
  std::string name = files->List().value().at(0);
  ASSERT_TRUE((*files->Create(name))->Finish());
  Do(To("broken", now()));
  engine_->restorer().WaitIdle();
  EXPECT_EQ(Do(DescribeTableRequest{"broken"}).table.table_status, TableStatus::kCreating);

  EXPECT_EQ(Refusal(DeleteTableRequest{"tab"}),
            "ResourceInUseException: Attempt to change a resource which is still in use: a table is being "
            "restored from: tab");
  EXPECT_EQ(
      Refusal(UpdateContinuousBackupsRequest{"tab", {false, {}}}),
      "ContinuousBackupsUnavailableException: A table is being restored from the table: tab. Please retry "
      "later");
  EXPECT_EQ(Refusal(UpdateContinuousBackupsRequest{"broken", {true, {}}}),
            "ContinuousBackupsUnavailableException: Backups are being enabled for the table: broken. Please "
            "retry later");
  for (int day = 0; day < 5; ++day) {
    clock_.Advance(kDay * 1000);
    Housekeep();
  }
  EXPECT_EQ(Segments(), 6U);
  Do(DeleteTableRequest{"broken"});
  Housekeep();
  engine_->backups().thread().WaitIdle();
  EXPECT_LT(Segments(), 4U);
  EXPECT_EQ(AsOf(now()).size(), 30U);
  Disable("tab");
  Do(DeleteTableRequest{"tab"});
}

// Virtual weeks of puts, deletes, transactions, expiries, changes of the table and restarts; then a hundred
// seconds of them, each of which the model remembers.
TEST_P(PointInTimeTest, DB_B_01_AnySecondOfARandomHistoryIsRestored) {
  std::mt19937_64 random(GetParam() == "memory" ? 7 : 8);
  Do(TableWithIndexes("tab"));
  Do(UpdateTimeToLiveRequest{"tab", {.attribute_name = "e", .enabled = true}});
  engine_->WaitForBackfills();
  Items model;
  std::map<int64_t, Items> history;  // by the first millisecond of which it is true
  auto remember = [&] { history[clock_.NowMillis()] = model; };
  auto put = [&](int key) {
    AttributeMap item = MakeItem(key, static_cast<int>(random() % 1000)).ToMap();
    if (random() % 5 == 0) item.emplace("e", now() + static_cast<int64_t>(random() % (3 * kDay)));
    return Item(item);
  };
  for (int key = 0; key < 40; ++key) {
    Item item = put(key);
    Put("tab", item);
    model[NameOfKey(item)] = item;
  }
  Enable("tab", 20);
  int64_t begun = now();
  remember();
  // What has expired goes; the sweeper decides by the second.
  auto sweep = [&] {
    Housekeep();
    std::erase_if(model, [&](const auto& entry) {
      auto expiry = entry.second.Get("e");
      return expiry && *expiry->AsInt64() <= now();
    });
  };
  bool has_extra = false;
  while (now() < begun + 24 * kDay) {
    // Many changes fall into one second, then for hours nothing happens.
    clock_.Advance(random() % 4 == 0 ? static_cast<int64_t>(random() % (6 * 3600'000))
                                     : static_cast<int64_t>(random() % 700));
    switch (random() % 12) {
      case 0: {
        Item key = KeyOf(static_cast<int>(random() % 40));
        Do(DeleteItemRequest{.table_name = "tab", .key = key});
        model.erase(NameOfKey(key));
        break;
      }
      case 1: {
        TransactWriteItemsRequest request;
        int first = static_cast<int>(random() % 38);
        for (int key = first; key < first + 3; ++key) {
          TransactWriteItem action;
          action.put = TransactPut{.table_name = "tab", .item = put(key)};
          model[NameOfKey(action.put->item)] = action.put->item;
          request.transact_items.push_back(std::move(action));
        }
        Do(request);
        break;
      }
      case 2: sweep(); break;
      case 3: {
        if (random() % 10 != 0) break;
        UpdateTableRequest request;
        request.table_name = "tab";
        GlobalSecondaryIndexUpdate update;
        if (has_extra) {
          update.delete_action = DeleteGlobalSecondaryIndexAction{.index_name = "extra"};
        } else {
          request.attribute_definitions = {{{"version", ScalarAttributeType::kNumber}}};
          update.create = CreateGlobalSecondaryIndexAction{
              {.index_name = "extra",
               .key_schema = {{"version", KeyType::kHash}},
               .projection = {.projection_type = ProjectionType::kKeysOnly}}};
        }
        request.global_secondary_index_updates = {{update}};
        Do(request);
        engine_->WaitForBackfills();
        has_extra = !has_extra;
        break;
      }
      case 4:
        if (!directory_.empty() && random() % 40 == 0) Open();
        break;
      default: {
        Item item = put(static_cast<int>(random() % 40));
        Put("tab", item);
        model[NameOfKey(item)] = item;
      }
    }
    remember();
  }
  clock_.Advance(3000);
  sweep();
  remember();
  int64_t earliest = Window("tab").earliest_restorable_date_time->millis / 1000;
  int64_t latest = Window("tab").latest_restorable_date_time->millis / 1000;
  EXPECT_EQ(earliest, now() - 20 * kDay);
  std::vector<int64_t> seconds{earliest, latest};
  for (const auto& [millis, items] : history) {
    if (millis / 1000 >= earliest && random() % 10 == 0 && seconds.size() < 60)
      seconds.push_back(millis / 1000);
  }
  while (seconds.size() < 100)
    seconds.push_back(earliest + static_cast<int64_t>(random() % static_cast<uint64_t>(latest - earliest)));
  for (int64_t second : seconds) {
    const Items& expected = std::prev(history.lower_bound((second + 1) * 1000))->second;
    Items found = AsOf(second);
    ASSERT_TRUE(found == expected) << "as of " << second << ", " << second - begun << " s into it";
  }
}

INSTANTIATE_TEST_SUITE_P(Storages, PointInTimeTest, testing::Values("memory", "rocksdb"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace holdfast::ops
