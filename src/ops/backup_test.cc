// Backups on demand, and tables restored from them.
#include <atomic>
#include <thread>

#include "ops/recovery_testing.h"

namespace holdfast::ops {
namespace {

class BackupTest : public RecoveryTest {
 protected:
  // Replaces the file of the one backup there is.
  void Damage(const std::function<void(std::string*)>& how) {
    storage::Files* files = engine_->kv().files(storage::FileKind::kSegments);
    std::vector<std::string> names = files->List().value();
    ASSERT_EQ(names.size(), 1U);
    std::unique_ptr<storage::FileReader> reader = files->Open(names[0]).value();
    std::string content;
    char byte = 0;
    while (reader->Read(1, &byte)) content.push_back(byte);
    how(&content);
    std::unique_ptr<storage::FileWriter> writer = files->Create(names[0]).value();
    ASSERT_TRUE(writer->Append(content));
    ASSERT_TRUE(writer->Finish());
  }
};

TEST_P(BackupTest, DB_B_02_ABackupIsTheTableAsItWasAndOutlivesIt) {
  CreateTableRequest request = TableWithIndexes("tab");
  request.tags = {{{"team", "one"}, {"holdfast:vector:by_v", "m=8"}}};
  request.deletion_protection_enabled = false;
  Do(request);
  Do(UpdateTimeToLiveRequest{"tab", {.attribute_name = "e", .enabled = true}});
  for (int key = 0; key < 500; ++key) Put("tab", MakeItem(key, key + 1));
  Items then = Scan("tab");
  CreateBackupResponse made = Do(CreateBackupRequest{"tab", "before"});
  EXPECT_EQ(made.backup_details.backup_arn.substr(0, 63),
            "arn:aws:dynamodb:us-east-1:123456789012:table/tab/backup/018000");
  for (int key = 0; key < 500; key += 3) Put("tab", MakeItem(key, key + 2));
  for (int key = 1; key < 500; key += 3) Do(DeleteItemRequest{.table_name = "tab", .key = KeyOf(key)});
  engine_->backups().thread().WaitIdle();
  Do(DeleteTableRequest{"tab"});

  const std::string& arn = made.backup_details.backup_arn;
  BackupDescription description = Do(DescribeBackupRequest{arn}).backup_description;
  EXPECT_EQ(description.backup_details.backup_status, BackupStatus::kAvailable);
  EXPECT_EQ(description.source_table_details.item_count, 500);
  EXPECT_EQ(description.source_table_details.table_name, "tab");
  EXPECT_EQ(description.source_table_feature_details.global_secondary_indexes->size(), 1U);
  EXPECT_EQ(description.source_table_feature_details.local_secondary_indexes->size(), 1U);
  EXPECT_EQ(description.source_table_feature_details.vector_indexes->size(), 1U);
  EXPECT_EQ(description.source_table_feature_details.time_to_live_description->attribute_name, "e");

  TableDescription answer = Do(Restoring(arn, "res")).table_description;
  EXPECT_EQ(answer.table_status, TableStatus::kCreating);
  EXPECT_TRUE(answer.restore_summary->restore_in_progress);
  TableDescription restored = Restored("res");
  EXPECT_EQ(restored.restore_summary->source_backup_arn, arn);
  EXPECT_EQ(restored.restore_summary->source_table_arn, "arn:aws:dynamodb:us-east-1:123456789012:table/tab");
  EXPECT_EQ(restored.restore_summary->restore_date_time.millis, clock_.NowMillis());
  EXPECT_EQ(restored.item_count, 500);
  EXPECT_EQ(restored.table_size_bytes, description.source_table_details.table_size_bytes);
  EXPECT_EQ(Scan("res"), then);
  // What AWS leaves to be set up anew, but for the settings of a vector index.
  EXPECT_EQ(Do(DescribeTimeToLiveRequest{"res"}).time_to_live_description.time_to_live_status,
            TimeToLiveStatus::kDisabled);
  std::vector<Tag> tags = Do(ListTagsOfResourceRequest{restored.table_arn}).tags;
  ASSERT_EQ(tags.size(), 1U);
  EXPECT_EQ(tags[0].key, "holdfast:vector:by_v");
  ExpectSound();

  // It stays in the description, and the store sound, after a restart. (In memory there is none.)
  if (directory_.empty()) return;
  Open();
  EXPECT_EQ(Restored("res").restore_summary->source_backup_arn, arn);
  EXPECT_EQ(Scan("res"), then);
  ExpectSound();
}

// Two items are written together, always with the same number: in a backup they must not differ.
TEST_P(BackupTest, DB_B_02_ABackupIsConsistentUnderWrites) {
  Do(TableWithIndexes("tab"));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int version = 1; !stop; ++version) {
      TransactWriteItemsRequest request;
      for (int key : {1, 2}) {
        TransactWriteItem action;
        action.put = TransactPut{.table_name = "tab", .item = MakeItem(key, version)};
        request.transact_items.push_back(std::move(action));
      }
      static_cast<void>(Run(request));
    }
  });
  std::vector<std::string> arns;
  for (int i = 0; i < 10; ++i) arns.push_back(Backup("tab"));
  stop = true;
  writer.join();
  for (size_t i = 0; i < arns.size(); ++i) {
    std::string target = "res" + std::to_string(100 + i);
    Do(Restoring(arns[i], target));
    Restored(target);
    Items items = Scan(target);
    ASSERT_TRUE(items.empty() || items.size() == 2);
    if (items.empty()) continue;
    EXPECT_EQ(items.at("p1/1").Get("version")->AsText(), items.at("p2/2").Get("version")->AsText());
  }
  ExpectSound();
}

TEST_P(BackupTest, DB_B_02_BackupsAreListedInPagesAndByTableTimeAndType) {
  Do(TableWithIndexes("one"));
  Do(TableWithIndexes("two"));
  std::vector<std::string> arns;
  int64_t begun = clock_.NowMillis();
  for (int i = 0; i < 7; ++i) {
    arns.push_back(Backup(i % 2 == 0 ? "one" : "two", "b" + std::to_string(100 + i)));
    clock_.Advance(1000);
  }
  auto list = [&](ListBackupsRequest request) {
    std::vector<std::string> listed;
    while (true) {
      ListBackupsResponse page = Do(request);
      for (const BackupSummary& summary : page.backup_summaries) listed.push_back(summary.backup_arn);
      if (!page.last_evaluated_backup_arn) return listed;
      EXPECT_EQ(*page.last_evaluated_backup_arn, listed.back());
      request.exclusive_start_backup_arn = page.last_evaluated_backup_arn;
    }
  };
  EXPECT_EQ(list({}), arns);
  EXPECT_EQ(list({.limit = 2}), arns);
  EXPECT_EQ(list({.limit = 7}), arns);
  EXPECT_EQ(list({.table_name = "two"}), (std::vector{arns[1], arns[3], arns[5]}));
  EXPECT_EQ(list({.table_name = "arn:aws:dynamodb:us-east-1:123456789012:table/two", .limit = 1}),
            (std::vector{arns[1], arns[3], arns[5]}));
  EXPECT_EQ(list({.table_name = "none"}), std::vector<std::string>());
  EXPECT_EQ(list({.time_range_lower_bound = Timestamp{begun + 1000},
                  .time_range_upper_bound = Timestamp{begun + 3000}}),
            (std::vector{arns[1], arns[2]}));
  EXPECT_EQ(list({.backup_type = BackupTypeFilter::kAll}), arns);
  EXPECT_EQ(list({.backup_type = BackupTypeFilter::kSystem}), std::vector<std::string>());

  EXPECT_EQ(Do(DeleteBackupRequest{arns[0]}).backup_description.backup_details.backup_status,
            BackupStatus::kDeleted);
  EXPECT_EQ(list({}), std::vector(arns.begin() + 1, arns.end()));
  EXPECT_EQ(engine_->kv().files(storage::FileKind::kSegments)->List().value().size(), 6U);
  EXPECT_EQ(Refusal(DeleteBackupRequest{arns[0]}), "BackupNotFoundException: Backup not found: " + arns[0]);
  EXPECT_EQ(Refusal(DescribeBackupRequest{arns[0]}), "BackupNotFoundException: Backup not found: " + arns[0]);
  EXPECT_EQ(Refusal(Restoring(arns[0], "rrr")), "BackupNotFoundException: Backup not found: " + arns[0]);
  ListBackupsRequest after_deleted;
  after_deleted.exclusive_start_backup_arn = arns[0];
  EXPECT_EQ(list(after_deleted), std::vector(arns.begin() + 1, arns.end())) << "pages go on past it";
}

// Policies are held against the ARN: it must not lead to a backup of another table.
TEST_P(BackupTest, AnArnOfAnotherTableNamesNoBackup) {
  Do(TableWithIndexes("tab"));
  Do(TableWithIndexes("other"));
  std::string arn = Backup("tab");
  std::string foreign = arn;
  foreign.replace(foreign.find("table/tab/"), 10, "table/other/");
  std::string refusal = "BackupNotFoundException: Backup not found: " + foreign;
  EXPECT_EQ(Refusal(DescribeBackupRequest{foreign}), refusal);
  EXPECT_EQ(Refusal(Restoring(foreign, "rrr")), refusal);
  EXPECT_EQ(Refusal(DeleteBackupRequest{foreign}), refusal);
  ListBackupsRequest list;
  list.exclusive_start_backup_arn = foreign;
  EXPECT_EQ(Refusal(list), refusal);
  EXPECT_EQ(Do(DescribeBackupRequest{arn}).backup_description.backup_details.backup_arn, arn);
}

TEST_P(BackupTest, DB_B_02_OverridesChooseIndexesAndBilling) {
  Do(TableWithIndexes("tab"));
  for (int key = 0; key < 50; ++key) Put("tab", MakeItem(key, key));
  std::string arn = Backup("tab");
  Items items = Scan("tab");

  RestoreTableFromBackupRequest bare = Restoring(arn, "bare");
  bare.global_secondary_index_override.emplace();
  bare.local_secondary_index_override.emplace();
  bare.vector_index_override.emplace();
  bare.billing_mode_override = BillingMode::kProvisioned;
  bare.provisioned_throughput_override = {{5, 6}};
  Do(bare);
  TableDescription described = Restored("bare");
  EXPECT_FALSE(described.global_secondary_indexes || described.local_secondary_indexes ||
               described.vector_indexes);
  EXPECT_EQ(described.attribute_definitions->size(), 2U);
  EXPECT_EQ(described.provisioned_throughput.write_capacity_units, 6);
  EXPECT_EQ(Scan("bare"), items);

  RestoreTableFromBackupRequest chosen = Restoring(arn, "chosen");
  chosen.global_secondary_index_override = {{GlobalIndex()}};
  chosen.global_secondary_index_override->front().provisioned_throughput = {{7, 8}};
  chosen.vector_index_override.emplace();
  chosen.billing_mode_override = BillingMode::kProvisioned;
  chosen.provisioned_throughput_override = {{5, 6}};
  Do(chosen);
  described = Restored("chosen");
  EXPECT_EQ(described.global_secondary_indexes->front().provisioned_throughput->read_capacity_units, 7);
  EXPECT_EQ(described.local_secondary_indexes->size(), 1U);
  ExpectSound();
}

TEST_P(BackupTest, DB_B_02_ThroughputOfRestoredIndexesIsAsAskedForOrRefused) {
  CreateTableRequest source = TableWithIndexes("tab");
  source.vector_indexes.reset();  // which are on demand alone
  source.global_secondary_indexes->front().on_demand_throughput = {{9, 9}};
  Do(source);
  std::string arn = Backup("tab");
  auto restoring = [&](const std::string& name, std::optional<OnDemandThroughput> maxima,
                       std::optional<WarmThroughput> warm) {
    RestoreTableFromBackupRequest request = Restoring(arn, name);
    request.global_secondary_index_override = {{GlobalIndex()}};
    request.global_secondary_index_override->front().on_demand_throughput = maxima;
    request.global_secondary_index_override->front().warm_throughput = warm;
    return request;
  };
  Do(restoring("asked", OnDemandThroughput{50, 60}, WarmThroughput{15000, 5000}));
  GlobalSecondaryIndexDescription index = Restored("asked").global_secondary_indexes->front();
  EXPECT_EQ(index.on_demand_throughput, (OnDemandThroughput{50, 60}));
  EXPECT_EQ(index.warm_throughput->read_units_per_second, 15000);
  Do(restoring("kept", {}, {}));
  EXPECT_EQ(Restored("kept").global_secondary_indexes->front().on_demand_throughput,
            (OnDemandThroughput{9, 9}));
  EXPECT_NE(Refusal(restoring("wrong", OnDemandThroughput{-5, {}}, {})), "nothing");
  EXPECT_NE(Refusal(restoring("wrong", {}, WarmThroughput{-1, {}})), "nothing");
  EXPECT_FALSE(Run(DescribeTableRequest{"wrong"}).has_value());

  // One that was never on demand does not look as if it had been, nor as warm as if it were.
  RestoreTableFromBackupRequest provisioned = restoring("units", {}, {});
  provisioned.billing_mode_override = BillingMode::kProvisioned;
  provisioned.provisioned_throughput_override = {{5, 6}};
  provisioned.global_secondary_index_override->front().provisioned_throughput = {{1, 2}};
  Do(provisioned);
  TableDescription units = Restored("units");
  EXPECT_FALSE(units.billing_mode_summary.has_value());
  EXPECT_EQ(units.global_secondary_indexes->front().warm_throughput->read_units_per_second, 1);
}

TEST_P(BackupTest, DB_B_02_ABackupTellsWhatItsTableHad) {
  CreateTableRequest source = TableWithIndexes("tab");
  source.on_demand_throughput = {{100, 200}};
  source.stream_specification = {{true, StreamViewType::kNewImage}};
  source.global_secondary_indexes->front().on_demand_throughput = {{9, 9}};
  Do(source);
  BackupDescription told = Do(DescribeBackupRequest{Backup("tab")}).backup_description;
  EXPECT_EQ(told.source_table_details.on_demand_throughput, (OnDemandThroughput{100, 200}));
  const SourceTableFeatureDetails& features = told.source_table_feature_details;
  ASSERT_TRUE(features.stream_description.has_value());
  EXPECT_EQ(features.stream_description->stream_view_type, StreamViewType::kNewImage);
  EXPECT_EQ(features.global_secondary_indexes->front().on_demand_throughput, (OnDemandThroughput{9, 9}));
}

// Whoever has an ARN from elsewhere does not mean the table here that happens to have the same name.
TEST_P(BackupTest, TablesOfOtherAccountsAndRegionsAreNotThisStores) {
  Do(TableWithIndexes("tab"));
  Put("tab", MakeItem(1, 1));
  for (const char* place : {"us-east-1:999999999999", "eu-west-1:123456789012"}) {
    std::string arn = "arn:aws:dynamodb:" + std::string(place) + ":table/tab";
    std::string refusal =
        "AccessDeniedException: User: arn:aws:iam::123456789012:root is not authorized to perform this "
        "action "
        "on resource: " +
        arn;
    EXPECT_EQ(Refusal(DeleteTableRequest{arn}), refusal);
    EXPECT_EQ(Refusal(DescribeTableRequest{arn}), refusal);
    EXPECT_EQ(Refusal(CreateBackupRequest{arn, "bbb"}), refusal);
    EXPECT_EQ(Refusal(ListBackupsRequest{.table_name = arn}), refusal);
    EXPECT_EQ(Refusal(GetItemRequest{.table_name = arn, .key = KeyOf(1)}), refusal);
    EXPECT_EQ(Refusal(PutItemRequest{.table_name = arn, .item = MakeItem(2, 2)}), refusal);
  }
  std::string own = "arn:aws:dynamodb:us-east-1:123456789012:table/tab";
  EXPECT_TRUE(Do(GetItemRequest{.table_name = own, .key = KeyOf(1)}).item.has_value());
  EXPECT_EQ(Scan("tab").size(), 1U);
}

TEST_P(BackupTest, DB_B_02_WhatIsWrongIsRefusedAndChangesNothing) {
  Do(TableWithIndexes("tab"));
  std::string arn = Backup("tab");
  size_t tables = engine_->catalog().size();

  EXPECT_EQ(Refusal(CreateBackupRequest{"none", "kept"}), "TableNotFoundException: Table not found: none");
  EXPECT_EQ(Refusal(CreateBackupRequest{"tab", "a b"}),
            "ValidationException: 1 validation error detected: Value 'a b' at 'backupName' failed to satisfy "
            "constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+");
  EXPECT_EQ(
      Refusal(DescribeBackupRequest{"short"}),
      "ValidationException: 1 validation error detected: Value 'short' at 'backupArn' failed to satisfy "
      "constraint: Member must have length greater than or equal to 37");
  std::string not_one = "arn:aws:dynamodb:us-east-1:123456789012:table/tab";
  EXPECT_EQ(Refusal(DescribeBackupRequest{not_one}), "ValidationException: Invalid BackupArn: " + not_one);
  EXPECT_EQ(Refusal(Restoring(arn, "tab")), "TableAlreadyExistsException: Table already exists: tab");
  EXPECT_EQ(Refusal(Restoring(arn, "a")),
            "ValidationException: 1 validation error detected: Value 'a' at 'targetTableName' failed to "
            "satisfy constraint: Member must have length greater than or equal to 3");

  auto refusal = [&](auto change) {
    RestoreTableFromBackupRequest request = Restoring(arn, "rrr");
    change(&request);
    return Refusal(request);
  };
  const std::string invalid = "ValidationException: One or more parameter values were invalid: ";
  EXPECT_EQ(refusal([](auto* request) { request->billing_mode_override = BillingMode::kProvisioned; }),
            invalid +
                "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is "
                "PROVISIONED");
  EXPECT_EQ(refusal([](auto* request) {
              request->provisioned_throughput_override = {{1, 1}};
            }),
            invalid +
                "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
                "PAY_PER_REQUEST");
  EXPECT_EQ(refusal([](auto* request) {
              request->billing_mode_override = BillingMode::kProvisioned;
              request->provisioned_throughput_override = {{1, 1}};
            }),
            invalid + "ProvisionedThroughput must be specified for index: by_g");
  EXPECT_EQ(refusal([](auto* request) {
              request->billing_mode_override = BillingMode::kProvisioned;
              request->provisioned_throughput_override = {{1, 1}};
              request->global_secondary_index_override.emplace();
            }),
            invalid + "Vector indexes are only supported for PAY_PER_REQUEST tables");
  EXPECT_EQ(refusal([](auto* request) {
              request->global_secondary_index_override = {{GlobalIndex()}};
              request->global_secondary_index_override->front().key_schema.pop_back();
            }),
            invalid + "GlobalSecondaryIndexOverride: the source table has no such index: by_g");
  EXPECT_EQ(refusal([](auto* request) {
              request->local_secondary_index_override = {{LocalIndex()}};
              request->local_secondary_index_override->front().index_name = "other";
            }),
            invalid + "LocalSecondaryIndexOverride: the source table has no such index: other");
  EXPECT_EQ(refusal([](auto* request) {
              request->vector_index_override = {{OfVectors()}};
              request->vector_index_override->front().dimensions = 3;
            }),
            invalid + "VectorIndexOverride: the source table has no such index: by_v");
  EXPECT_EQ(engine_->catalog().size(), tables);
  Do(DeleteBackupRequest{arn});  // nobody holds it
}

// A restore that cannot go on says so; its backup is held until the table is given up.
TEST_P(BackupTest, DB_B_02_ADamagedBackupIsNeverRestoredInPart) {
  Do(TableWithIndexes("tab"));
  for (int key = 0; key < 2000; ++key) Put("tab", MakeItem(key, key));
  std::string arn = Backup("tab");
  std::string whole;
  Damage([&](std::string* content) {
    whole = *content;
    (*content)[content->size() / 2] ^= 1;
  });
  Do(Restoring(arn, "flipped"));
  engine_->restorer().WaitIdle();
  Damage([&](std::string* content) { content->resize(content->size() / 2); });
  Do(Restoring(arn, "cut"));
  engine_->restorer().WaitIdle();

  std::vector<engine::Restorer::Progress> progress = engine_->restorer().progress();
  ASSERT_EQ(progress.size(), 2U);
  for (const auto& each : progress) EXPECT_NE(each.fault, "");
  for (std::string name : {"flipped", "cut"}) {
    TableDescription description = Do(DescribeTableRequest{name}).table;
    EXPECT_EQ(description.table_status, TableStatus::kCreating);
    EXPECT_TRUE(description.restore_summary->restore_in_progress);
    EXPECT_EQ(Refusal(GetItemRequest{.table_name = name, .key = KeyOf(1)}),
              "ResourceNotFoundException: Requested resource not found");
    EXPECT_EQ(Refusal(CreateBackupRequest{name, "kept"}),
              "TableInUseException: Table is being created: " + name);
    EXPECT_EQ(Refusal(Restoring(arn, name)), "TableInUseException: Table is being created: " + name);
    EXPECT_EQ(Refusal(DeleteBackupRequest{arn}),
              "BackupInUseException: Backup is being restored from: " + arn);
  }
  // Mended, and opened anew: then it goes on.
  Damage([&](std::string* content) { *content = whole; });
  Do(DeleteTableRequest{"cut"});
  if (!directory_.empty()) {
    Open();
    Restored("flipped");
    EXPECT_EQ(Scan("flipped"), Scan("tab"));
    ExpectSound();
  } else {
    Do(DeleteTableRequest{"flipped"});
  }
  Do(DeleteBackupRequest{arn});
}

// Closed over and over while it restores, a store ends with the whole table.
TEST_P(BackupTest, DB_B_02_ARestoreGoesOnAfterARestart) {
  if (directory_.empty()) return;  // nothing outlives a store in memory
  Do(TableWithIndexes("tab"));
  std::string pad(2000, 'x');
  for (int key = 0; key < 3000; ++key) {
    BatchWriteItemRequest request;
    for (int end = key + 25; key < end; ++key) {
      AttributeMap item = MakeItem(key, key).ToMap();
      item["pad"] = pad;
      WriteRequest write;
      write.put_request = PutRequest{Item(item)};
      request.request_items["tab"].push_back(std::move(write));
    }
    --key;
    Do(request);
  }
  std::string arn = Backup("tab");
  Do(Restoring(arn, "res"));
  int restarts = 0;
  while (Do(DescribeTableRequest{"res"}).table.table_status != TableStatus::kActive && ++restarts < 8) Open();
  Restored("res");
  EXPECT_EQ(Scan("res"), Scan("tab"));
  ExpectSound();
  Do(DeleteBackupRequest{arn});
}

// What was answered is made, whatever comes in between: also of a table that is deleted meanwhile.
TEST_P(BackupTest, DB_B_02_BackupsThatAStopCutsShortAreMadeAtTheNextStart) {
  if (directory_.empty()) return;  // nothing outlives a store in memory
  Do(TableWithIndexes("tab"));
  Do(TableWithIndexes("gone"));
  AttributeMap large = MakeItem(0, 0).ToMap();
  large["pad"] = std::string(300'000, 'x');
  for (int key = 0; key < 20; ++key) {
    large["c"] = key;
    Put("tab", Item(large));
    Put("gone", Item(large));
  }
  Items then = Scan("tab");
  std::vector<std::string> arns;
  for (std::string table : {"tab", "tab", "gone", "tab", "gone"})
    arns.push_back(Do(CreateBackupRequest{table, "kept"}).backup_details.backup_arn);
  Do(DeleteTableRequest{"gone"});
  Open();
  for (const std::string& arn : arns) {
    auto found = Run(DescribeBackupRequest{arn});
    ASSERT_TRUE(found.has_value()) << found.error().ToString();
  }
  engine_->backups().thread().WaitIdle();
  EXPECT_EQ(Do(ListBackupsRequest{}).backup_summaries.size(), arns.size());
  EXPECT_EQ(engine_->catalog().Find("gone"), nullptr);
  for (const std::string& arn : arns) {
    BackupDetails details = Do(DescribeBackupRequest{arn}).backup_description.backup_details;
    EXPECT_EQ(details.backup_status, BackupStatus::kAvailable);
    Do(Restoring(arn, "res"));
    Restored("res");
    EXPECT_EQ(Scan("res"), then);
    Do(DeleteTableRequest{"res"});
  }
}

TEST_P(BackupTest, DB_B_02_ABackupThatDoesNotFitIsTriedAgainOrDeleted) {
  if (directory_.empty()) return;  // there is no disk
  Do(TableWithIndexes("tab"));
  AttributeMap large = MakeItem(0, 0).ToMap();
  large["pad"] = std::string(300'000, 'x');
  for (int key = 0; key < 10; ++key) {
    large["c"] = key;
    Put("tab", Item(large));
  }
  Items then = Scan("tab");
  disk_->LimitSpace(1 << 20);
  std::string arn = Do(CreateBackupRequest{"tab", "kept"}).backup_details.backup_arn;
  std::string given_up = Do(CreateBackupRequest{"tab", "given-up"}).backup_details.backup_arn;
  Do(DeleteTableRequest{"tab"});
  engine_->backups().thread().WaitIdle();
  disk_->LimitSpace(UINT64_MAX);
  EXPECT_EQ(Do(DescribeTableRequest{"tab"}).table.table_status, TableStatus::kDeleting);
  EXPECT_EQ(Do(DescribeBackupRequest{arn}).backup_description.backup_details.backup_status,
            BackupStatus::kCreating);
  Do(DeleteBackupRequest{given_up});
  clock_.Advance(engine::TableJobs::kPauseMillis);
  EXPECT_TRUE(engine_->RunHousekeeping());
  engine_->backups().thread().WaitIdle();
  EXPECT_EQ(engine_->catalog().Find("tab"), nullptr);
  EXPECT_EQ(Do(ListBackupsRequest{}).backup_summaries.size(), 1U);
  Do(Restoring(arn, "res"));
  Restored("res");
  EXPECT_EQ(Scan("res"), then);
}

// What a crash in the middle of a backup leaves is not taken for one.
TEST_P(BackupTest, DB_B_02_FilesThatNoRecordNamesGo) {
  Do(TableWithIndexes("tab"));
  std::string arn = Backup("tab");
  storage::Files* files = engine_->kv().files(storage::FileKind::kSegments);
  ASSERT_TRUE((*files->Create("backup-left.segment"))->Finish());
  EXPECT_EQ(files->List().value().size(), 2U);
  if (directory_.empty()) return;
  Open();
  EXPECT_EQ(engine_->kv().files(storage::FileKind::kSegments)->List().value().size(), 1U);
  Do(DescribeBackupRequest{arn});
}

INSTANTIATE_TEST_SUITE_P(Storages, BackupTest, testing::Values("memory", "rocksdb"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace holdfast::ops
