// Cuts the power while backups are made, tables restored and bases of recovery written: afterwards each
// backup is whole or not there, each restore ends right, and no file is left that nobody needs.
//
// `HOLDFAST_CRASH_SEEDS=200` is the long form; a failure prints its seed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "engine/backup/backups.h"
#include "engine/backup/recovery.h"
#include "engine/backup/restorer.h"
#include "engine/engine.h"
#include "engine/verify.h"
#include "indexed_table.h"
#include "ops/operations.h"
#include "storage/fault/fault_file_system.h"

namespace holdfast {
namespace {

using Items = std::map<std::string, Item>;

class RecoveryPowerCut {
 public:
  explicit RecoveryPowerCut(uint64_t seed)
      : seed_(seed), random_(seed), disk_(std::make_shared<storage::FaultFileSystem>(seed)) {
    directory_ = std::filesystem::temp_directory_path() /
                 ("holdfast-recovery-cut-" + std::to_string(::getpid()) + "-" + std::to_string(seed));
    std::filesystem::remove_all(directory_);
  }
  ~RecoveryPowerCut() {
    engine_.reset();
    std::filesystem::remove_all(directory_);
    std::filesystem::remove_all(directory_ + ".parked");
  }

  void Live() {
    Open();
    Prepare();
    for (int round = 0; round < 4 && !testing::Test::HasFailure(); ++round) {
      disk_->CutAfter(5 + random_() % 250);
      WorkUntilCut(round);
      engine_.reset();
      disk_->Restore();
      Open();
      if (!testing::Test::HasFailure()) Inspect();
    }
  }

 private:
  void Open() {
    // Each time another, or the names of files would come round again.
    engine::EngineOptions options{.clock = &clock_, .seed = random_(), .manual_housekeeping = true};
    options.options.directory = directory_;
    options.file_system = disk_;
    // Cuts meet flushes, too.
    options.write_buffer_bytes = 2 << 20;
    options.vector_graph_min = 8;
    options.vector_snapshot_changes = 100;
    auto opened = engine::Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << "seed " << seed_ << ": " << opened.error().ToString();
    engine_ = *std::move(opened);
  }

  template <class Request>
  auto Run(const Request& request) {
    return ops::Run(engine_.get(), request);
  }

  void Prepare() {
    // The index is small beside the items: RocksDB 7.8 (ScheduleFlushes) stumbles over its own assertion when
    // the disk fails between two spaces whose buffers are full at once.
    CreateTableRequest table = IndexedTable("cut");
    table.global_secondary_indexes->front().projection = {.projection_type = ProjectionType::kKeysOnly};
    ASSERT_TRUE(Run(table).has_value());
    ASSERT_TRUE(Run(UpdateContinuousBackupsRequest{"cut", {true, 1}}).has_value());
    for (int key = 0; key < 1200; key += 25) {
      BatchWriteItemRequest batch;
      for (int i = key; i < key + 25; ++i) {
        WriteRequest write;
        write.put_request = PutRequest{MakeItem(i, 0)};
        batch.request_items["cut"].push_back(std::move(write));
      }
      ASSERT_TRUE(Run(batch).has_value());
    }
    then_ = Scan("cut");
    clock_.Advance(2000);
  }

  static Item MakeItem(int key, int version) {
    return {{"p", std::to_string(key)},
            {"g", "g" + std::to_string((key + version) % 5)},
            {"v", version},
            {"w", AttributeValue::List({key % 11, version, 1, 2})},
            {"pad", std::string(1000, 'x')}};
  }

  Items Scan(const std::string& table) {
    Items items;
    ScanRequest request;
    request.table_name = table;
    while (true) {
      auto page = Run(request);
      if (!page) {
        ADD_FAILURE() << "seed " << seed_ << ": " << table << ": " << page.error().ToString();
        return items;
      }
      for (Item& item : *page->items) {
        std::string name = item.Get("p")->AsText();
        items.emplace(std::move(name), std::move(item));
      }
      if (!page->last_evaluated_key) return items;
      request.exclusive_start_key = page->last_evaluated_key;
    }
  }

  // The items never change; what is kept of them does. Every other day a base is due.
  void WorkUntilCut(int round) {
    int64_t second = clock_.NowSeconds() - 1;
    for (int step = 0; !disk_->is_cut() && step < 200; ++step) {
      std::string name = "r" + std::to_string(round) + "-" + std::to_string(step);
      switch (random_() % 5) {
        case 0:
          if (auto made = Run(CreateBackupRequest{"cut", name}))
            backups_.insert(made->backup_details.backup_arn);
          break;
        case 1:
          if (!backups_.empty()) {
            RestoreTableFromBackupRequest request;
            request.backup_arn = *backups_.begin();
            request.target_table_name = name;
            if (Run(request)) restores_.insert(name);
          }
          break;
        case 2: {
          RestoreTableToPointInTimeRequest request;
          request.source_table_name = "cut";
          request.target_table_name = name;
          request.restore_date_time = Timestamp{second * 1000};
          if (Run(request)) restores_.insert(name);
          break;
        }
        case 3:
          if (backups_.size() > 2 && Run(DeleteBackupRequest{*backups_.begin()}))
            backups_.erase(backups_.begin());
          break;
        default:
          clock_.Advance(24LL * 3600 * 1000);
          second = clock_.NowSeconds() - 1;
          static_cast<void>(engine_->RunHousekeeping());
          break;
      }
      engine_->backups().thread().WaitIdle();
    }
    if (!disk_->is_cut()) engine_->restorer().WaitIdle();
    // If it is all done before the power goes: this writes in any case.
    while (!disk_->is_cut()) {
      disk_->CutAfter(1);
      static_cast<void>(Run(UpdateContinuousBackupsRequest{"cut", {true, 1}}));
    }
  }

  void Inspect() {
    engine_->WaitForBackfills();
    ExpectRestored();
    // What was answered is there, and whole. (A restore that was tried and not answered may be there too.)
    for (const std::string& name : restores_) {
      auto described = Run(DescribeTableRequest{name});
      ASSERT_TRUE(described.has_value()) << "seed " << seed_ << ": " << described.error().ToString();
      EXPECT_EQ(described->table.table_status, TableStatus::kActive) << "seed " << seed_ << ": " << name;
    }
    for (const std::string& name : engine_->catalog().Names("", 10000)) {
      EXPECT_TRUE(Scan(name) == then_) << "seed " << seed_ << ": " << name << " is not what it was";
      if (name != "cut") static_cast<void>(Run(DeleteTableRequest{name}));
    }
    restores_.clear();
    auto report = engine::VerifyStore(engine_.get());
    ASSERT_TRUE(report.has_value());
    for (const std::string& fault : report->faults) ADD_FAILURE() << "seed " << seed_ << ": " << fault;
    InspectBackups();
  }

  void ExpectRestored() {
    engine_->restorer().WaitIdle();
    for (const auto& progress : engine_->restorer().progress())
      ADD_FAILURE() << "seed " << seed_ << ": " << progress.table << ": " << progress.fault;
  }

  void InspectBackups() {
    engine_->backups().thread().WaitIdle();  // those that were cut short are made now
    std::set<std::string> there;
    auto listed = Run(ListBackupsRequest{});
    ASSERT_TRUE(listed.has_value());
    for (const BackupSummary& summary : listed->backup_summaries) {
      there.insert(summary.backup_arn);
      EXPECT_EQ(summary.backup_status, BackupStatus::kAvailable) << "seed " << seed_;
      RestoreTableFromBackupRequest request;
      request.backup_arn = summary.backup_arn;
      request.target_table_name = "probe";
      ASSERT_TRUE(Run(request).has_value());
      ExpectRestored();
      EXPECT_TRUE(Scan("probe") == then_) << "seed " << seed_ << ": a backup is not what it was";
      ASSERT_TRUE(Run(DeleteTableRequest{"probe"}).has_value());
    }
    for (const std::string& arn : backups_)
      EXPECT_TRUE(there.contains(arn)) << "seed " << seed_ << ": a backup that was answered is missing";
    backups_ = there;
    // One file for each backup; the others are bases.
    std::vector<std::string> names = engine_->kv().files(storage::FileKind::kSegments)->List().value();
    auto files = static_cast<size_t>(std::count_if(
        names.begin(), names.end(), [](const std::string& name) { return name.starts_with("backup-"); }));
    EXPECT_EQ(files, there.size()) << "seed " << seed_;
  }

  const uint64_t seed_;
  std::mt19937_64 random_;
  base::ManualClock clock_{1'800'000'000'000};
  std::string directory_;
  std::shared_ptr<storage::FaultFileSystem> disk_;
  std::unique_ptr<engine::Engine> engine_;
  Items then_;
  std::set<std::string> backups_, restores_;
};

TEST(RecoveryPowerCut, LeavesWholeBackupsAndRestoresThatGoOn) {
  const char* asked = std::getenv("HOLDFAST_CRASH_SEEDS");
  uint64_t seeds = asked != nullptr ? std::stoull(asked) : 8;
  for (uint64_t seed = 1; seed <= seeds && !testing::Test::HasFailure(); ++seed)
    RecoveryPowerCut(seed).Live();
}

}  // namespace
}  // namespace holdfast
