// DB-B-03: a store made anew from its archive. Random histories over virtual days are restored to random
// seconds and compared with what was true then; the power is cut under the store, the archive is taken away,
// damaged, given to another store.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "engine/backup/backups.h"
#include "engine/backup/recovery.h"
#include "engine/backup/restorer.h"
#include "engine/engine.h"
#include "engine/restore.h"
#include "engine/verify.h"
#include "holdfast/master_keys.h"
#include "indexed_table.h"
#include "ops/operations.h"
#include "storage/archive/archiver.h"
#include "storage/encryption/vault.h"
#include "storage/fault/fault_file_system.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kStart = 1'750'000'000'000;
constexpr int64_t kDay = 86'400'000;

// Key to version, of each table.
using Contents = std::map<std::string, std::map<std::string, int64_t>>;

class ArchiveTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("holdfast-archive-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override {
    engine_.reset();
    fs::remove_all(root_);
  }

  std::string Path(const std::string& name) const { return (root_ / name).string(); }

  engine::EngineOptions OptionsFor(const std::string& data, const std::string& archive) {
    engine::EngineOptions options;
    options.options.directory = Path(data);
    if (!archive.empty()) options.options.archive_directory = Path(archive);
    options.clock = &clock_;
    options.log = &log_;
    options.manual_housekeeping = true;
    options.write_buffer_bytes = 256 << 10;  // so that logs are rolled and tables compacted
    return options;
  }
  Result<std::unique_ptr<engine::Engine>> TryOpen(const std::string& data, const std::string& archive = {}) {
    return engine::Engine::Open(OptionsFor(data, archive));
  }
  void Open(const std::string& data = "data", const std::string& archive = "archive") {
    engine_.reset();
    auto opened = TryOpen(data, archive);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = *std::move(opened);
  }

  void CreateTable(const std::string& name) {
    auto created = ops::Run(engine_.get(), IndexedTable(name));
    ASSERT_TRUE(created.has_value()) << created.error().ToString();
    truth_[name];
  }
  void DropTable(const std::string& name) {
    ASSERT_TRUE(ops::Run(engine_.get(), DeleteTableRequest{.table_name = name}).has_value());
    truth_.erase(name);
  }
  void Put(const std::string& table, const std::string& key, size_t pad = 300) {
    ASSERT_TRUE(TryPut(engine_.get(), table, key, ++version_, pad));
    truth_[table][key] = version_;
  }
  static bool TryPut(engine::Engine* engine, const std::string& table, const std::string& key,
                     int64_t version, size_t pad) {
    Item item{{"p", AttributeValue(key)},
              {"g", AttributeValue("g" + std::to_string(version % 5))},
              {"v", version},
              {"w", AttributeValue::List({version, version % 7, 1, 2})},
              {"pad", AttributeValue(std::string(pad, 'x'))}};
    return ops::Run(engine, PutItemRequest{.table_name = table, .item = item}).has_value();
  }
  void Delete(const std::string& table, const std::string& key) {
    Item name{{"p", AttributeValue(key)}};
    ASSERT_TRUE(ops::Run(engine_.get(), DeleteItemRequest{.table_name = table, .key = name}).has_value());
    truth_[table].erase(key);
  }

  static Contents Read(engine::Engine* engine) {
    Contents contents;
    for (const engine::TablePtr& table : engine->catalog().All()) {
      auto& items = contents[table->schema()->name];
      ScanRequest request{.table_name = table->schema()->name};
      while (true) {
        auto page = ops::Run(engine, request);
        EXPECT_TRUE(page.has_value());
        if (!page) return contents;
        for (const Item& item : *page->items)
          items[std::string(item.Get("p")->AsText())] = item.Get("v")->AsInt64().value_or(-1);
        if (!page->last_evaluated_key) break;
        request.exclusive_start_key = page->last_evaluated_key;
      }
    }
    return contents;
  }

  Result<storage::Restored> Restore(const std::string& to, int64_t second = storage::kNewest,
                                    const std::string& from = "archive") {
    engine::RestoreOptions options;
    options.from = Path(from);
    options.directory = Path(to);
    options.at_second = second;
    options.tell = [this](const std::string& what) { told_ += what + "\n"; };
    if (fs::exists(Path("key"))) options.key_file = Path("key");
    return engine::RestoreStore(options, log_);
  }
  // Restores, opens, verifies, reads and throws away.
  Contents RestoredContents(int64_t second = storage::kNewest, const std::string& from = "archive") {
    fs::remove_all(Path("restored"));
    auto restored = Restore("restored", second, from);
    EXPECT_TRUE(restored.has_value()) << restored.error().ToString();
    if (!restored) return {};
    engine::EngineOptions options = OptionsFor("restored", "");
    if (fs::exists(Path("key"))) options.options.key_file = Path("key");
    auto engine = engine::Engine::Open(options);
    EXPECT_TRUE(engine.has_value()) << engine.error().ToString();
    if (!engine) return {};
    (*engine)->WaitForBackfills();
    (*engine)->WaitForVectors();
    auto report = engine::VerifyStore(engine->get());
    EXPECT_TRUE(report.has_value());
    if (!report) return {};
    EXPECT_EQ(report->faults, std::vector<std::string>{});
    return Read(engine->get());
  }
  storage::ArchiveSurvey Survey(const std::string& name = "archive",
                                storage::Depth depth = storage::Depth::kSize) {
    storage::Archive archive(rocksdb::FileSystem::Default(), Path(name));
    auto survey = storage::SurveyArchive(archive, depth);
    EXPECT_TRUE(survey.has_value());
    return survey ? *survey : storage::ArchiveSurvey{};
  }

  static void Flip(const std::string& path, uint64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    char byte = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
  }
  void BackUpTable(const std::string& name) {
    ASSERT_TRUE(ops::Run(engine_.get(), CreateBackupRequest{"table", name}).has_value());
    engine_->backups().thread().WaitIdle();
  }
  // The archive's file of the newest backup.
  std::string BackupObject() {
    std::string newest;
    for (const auto& entry : fs::directory_iterator(Path("archive/files"))) {
      std::string path = entry.path();
      if (path.find("segments-backup-") != std::string::npos) newest = std::max(newest, path);
    }
    return newest;
  }
  void WaitUntil(const std::function<bool()>& condition) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_TRUE(condition());
  }

  fs::path root_;
  std::string told_;  // by restores
  base::ManualClock clock_{kStart};
  base::Log log_{base::LogLevel::kNone};
  std::unique_ptr<engine::Engine> engine_;
  Contents truth_;
  int64_t version_ = 0;
};

TEST_F(ArchiveTest, DB_B_03_RestoresAnySecondOfARandomHistory) {
  std::mt19937_64 random(7);
  std::map<int64_t, Contents> history;  // what was true at the end of a second
  Open();
  ASSERT_TRUE(engine_->archiver()->Ship());  // from here on
  CreateTable("table0");
  ASSERT_FALSE(HasFatalFailure());
  for (int step = 0; step < 1000; ++step) {
    auto table = std::next(truth_.begin(), static_cast<int64_t>(random() % truth_.size()))->first;
    std::string key = std::to_string(random() % 60);
    uint64_t dice = random() % 100;
    if (dice < 70)
      Put(table, key, random() % 1500);
    else if (dice < 85)
      Delete(table, key);
    else if (dice < 87 && truth_.size() < 4)
      CreateTable("table" + std::to_string(step));
    else if (dice < 89 && truth_.size() > 1)
      DropTable(table);
    else if (dice == 90)
      Open();  // a restart
    if (dice == 91) {
      ASSERT_TRUE(engine_->archiver()->Ship().has_value());
    }
    if (HasFatalFailure()) return;
    history[clock_.NowMillis() / 1000] = truth_;
    // Mostly within a second or a few; now and then hours.
    clock_.Advance(random() % 20 == 0 ? static_cast<int64_t>(random() % (kDay / 4))
                                      : static_cast<int64_t>(random() % 1500));
  }
  ASSERT_TRUE(engine_->archiver()->Ship());
  engine_.reset();
  fs::remove_all(Path("data"));

  storage::ArchiveSurvey survey = Survey();
  EXPECT_EQ(survey.faults, std::vector<std::string>{});
  ASSERT_EQ(survey.covered.size(), 1U) << storage::CoverageText(survey.covered);
  EXPECT_GT(survey.checkpoints.size(), 3U);
  EXPECT_EQ(RestoredContents(), truth_);
  for (int i = 0; i < 12; ++i) {
    int64_t first = history.begin()->first, last = history.rbegin()->first;
    int64_t second = first + static_cast<int64_t>(random() % static_cast<uint64_t>(last - first + 1));
    if (i % 2 == 0)
      second = std::next(history.begin(), static_cast<int64_t>(random() % history.size()))->first;
    Contents expected = std::prev(history.upper_bound(second))->second;
    EXPECT_EQ(RestoredContents(second), expected) << "at " << second;
  }
  auto early = Restore("early", survey.covered[0].from_millis / 1000 - 10);
  ASSERT_FALSE(early.has_value());
  EXPECT_EQ(early.error().code(), ErrorCode::kValidation);
  EXPECT_NE(early.error().message().find("it covers " + storage::CoverageText(survey.covered)),
            std::string::npos)
      << early.error().message();
  EXPECT_FALSE(Restore("late", survey.covered[0].to_millis / 1000 + 10).has_value());
}

// What the store lost the archive must not have; what the store has the archive gets, the log being kept.
TEST_F(ArchiveTest, DB_B_03_PowerCutsOfTheStore) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    fs::remove_all(root_);
    fs::create_directories(root_);
    auto disk = std::make_shared<storage::FaultFileSystem>(seed);
    engine::EngineOptions options = OptionsFor("data", "archive");
    base::SystemClock clock;
    options.clock = &clock;
    options.file_system = disk;
    options.archive_file_system = rocksdb::FileSystem::Default();
    auto opened = engine::Engine::Open(options);
    ASSERT_TRUE(opened.has_value());
    engine_ = *std::move(opened);
    CreateTable("table");
    ASSERT_TRUE(engine_->archiver()->Ship());
    for (int round = 0; round < 3; ++round) {
      disk->CutAfter(200 + seed * 97 + static_cast<uint64_t>(round) * 700);
      std::vector<std::thread> writers;
      std::atomic<int64_t> version{round * 1'000'000};
      for (int writer = 0; writer < 3; ++writer) {
        writers.emplace_back([&, writer] {
          for (int i = 0; !disk->is_cut(); ++i) {
            std::string key = std::to_string(writer) + "-" + std::to_string(i % 20);
            if (!TryPut(engine_.get(), "table", key, ++version, static_cast<size_t>(i % 1000))) break;
          }
        });
      }
      for (std::thread& writer : writers) writer.join();
      engine_.reset();
      disk->Restore();
      Contents archived = RestoredContents();

      opened = engine::Engine::Open(options);
      ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
      engine_ = *std::move(opened);
      Contents kept = Read(engine_.get());
      for (const auto& [key, found] : archived["table"]) {
        ASSERT_TRUE(kept["table"].contains(key)) << "seed " << seed << ": the archive has " << key;
        EXPECT_LE(found, kept["table"][key]) << "seed " << seed << ": the archive is ahead at " << key;
      }
      Status shipped = engine_->archiver()->Ship();
      ASSERT_TRUE(shipped) << shipped.error().ToString();
      EXPECT_EQ(RestoredContents(), kept) << "seed " << seed << " round " << round;
      EXPECT_EQ(Survey().covered.size(), 1U) << "seed " << seed << " round " << round;
    }
    engine_.reset();
    fs::remove_all(Path("data.parked"));
  }
}

TEST_F(ArchiveTest, DB_B_03_AnUnreachableArchiveStopsNobody) {
  auto mount = std::make_shared<storage::FaultFileSystem>(1);
  engine::EngineOptions options = OptionsFor("data", "mount/archive");
  options.archive_file_system = mount;
  auto opened = engine::Engine::Open(options);
  ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
  engine_ = *std::move(opened);
  CreateTable("table");
  Put("table", "a");
  EXPECT_FALSE(engine_->archiver()->Ship());
  storage::ArchiverStats stats = engine_->archiver()->stats();
  EXPECT_GT(stats.lag_seconds, 0);
  EXPECT_GT(stats.failures, 0U);
  EXPECT_NE(stats.error.find("mount/archive"), std::string::npos) << stats.error;
  fs::create_directories(Path("mount"));
  Put("table", "b");
  ASSERT_TRUE(engine_->archiver()->Ship());
  stats = engine_->archiver()->stats();
  EXPECT_EQ(stats.error, "");
  EXPECT_GT(stats.shipped_bytes, 0U);
  // Taken away while it is being written: nothing between is lost, since the log is kept.
  mount->FailSyncs(true);
  Put("table", "c");
  EXPECT_FALSE(engine_->archiver()->Ship());
  for (int i = 0; i < 3000; ++i) Put("table", std::to_string(i % 100), 1000);  // several logs
  mount->FailSyncs(false);
  Status shipped = Ok{};
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (shipped = engine_->archiver()->Ship(); shipped) break;
  }
  ASSERT_TRUE(shipped) << shipped.error().ToString();
  EXPECT_EQ(Survey("mount/archive").covered.size(), 1U);
  engine_.reset();
  EXPECT_EQ(RestoredContents(storage::kNewest, "mount/archive"), truth_);
}

TEST_F(ArchiveTest, DB_B_03_ALifeWithoutTheArchiveIsAHoleThatIsNamed) {
  Open();
  CreateTable("table");
  Put("table", "a");
  ASSERT_TRUE(engine_->archiver()->Ship());
  clock_.Advance(60'000);
  Open("data", "");
  Put("table", "b");
  clock_.Advance(600'000);
  Open();
  Put("table", "c");
  ASSERT_TRUE(engine_->archiver()->Ship());
  engine_.reset();
  EXPECT_EQ(Survey().covered.size(), 2U);
  EXPECT_EQ(RestoredContents(), truth_);
  auto in_hole = Restore("hole", (kStart + 300'000) / 1000);
  ASSERT_FALSE(in_hole.has_value());
  EXPECT_NE(in_hole.error().message().find(", and "), std::string::npos) << in_hole.error().message();
}

TEST_F(ArchiveTest, DB_B_03_ADamagedOrMissingPartIsNamedAndRefused) {
  Open();
  CreateTable("table");
  for (int life = 0; life < 3; ++life) {
    for (int i = 0; i < 50; ++i) Put("table", std::to_string(i));
    ASSERT_TRUE(engine_->archiver()->Ship());
    clock_.Advance(10'000);
    Open();  // each life has a segment of its own
  }
  Put("table", "last");
  ASSERT_TRUE(engine_->archiver()->Ship());
  engine_.reset();
  std::string segment = Path("archive/log/0000000002");
  ASSERT_TRUE(fs::exists(segment));
  fs::copy(Path("archive"), Path("copy"), fs::copy_options::recursive);
  auto heal = [&] {
    fs::remove_all(Path("archive"));
    fs::copy(Path("copy"), Path("archive"), fs::copy_options::recursive);
  };
  auto refused = [&](const std::string& named) {
    auto restored = Restore("refused");
    ASSERT_FALSE(restored.has_value());
    EXPECT_EQ(restored.error().code(), ErrorCode::kCorruption) << restored.error().ToString();
    EXPECT_NE(restored.error().message().find(named), std::string::npos) << restored.error().message();
    EXPECT_FALSE(fs::exists(Path("refused/FORMAT")));  // nothing that could be taken for a store
    fs::remove_all(Path("refused"));
  };
  Flip(segment, fs::file_size(segment) / 2);
  EXPECT_EQ(Survey().faults.size(), 0U);  // a closed one is not read
  EXPECT_EQ(Survey("archive", storage::Depth::kBytes).faults.size(), 1U);
  refused(segment);
  heal();
  fs::remove(segment);
  refused(segment);
  // Before the missing one it can still be restored.
  auto before = Restore("before", kStart / 1000);
  EXPECT_TRUE(before.has_value()) << before.error().ToString();
  heal();
  fs::resize_file(segment, fs::file_size(segment) / 2);
  refused(segment);
  heal();
  std::string newest = Path("archive/log/0000000003");
  Flip(newest, 100);
  refused(newest);
  heal();
  for (const auto& entry : fs::directory_iterator(Path("archive/files"))) {
    if (!entry.path().string().ends_with(".sst") &&
        entry.path().string().find("MANIFEST") == std::string::npos)
      continue;
    Flip(entry.path(), 20);
    EXPECT_EQ(Survey().faults.size(), 0U);
    ASSERT_EQ(Survey("archive", storage::Depth::kBytes).faults.size(), 1U);
    refused(entry.path());
    fs::remove(entry.path());
    ASSERT_EQ(Survey().faults.size(), 1U);
    EXPECT_NE(Survey().faults[0].find(entry.path()), std::string::npos) << Survey().faults[0];
    refused(entry.path());
    heal();
  }
  // The newest one is missed too, though nothing follows it.
  std::string last = Path("archive/log/0000000004");
  ASSERT_TRUE(fs::exists(last));
  for (bool emptied : {false, true}) {
    if (emptied)
      fs::resize_file(last, 0);
    else
      fs::remove(last);
    ASSERT_EQ(Survey().faults.size(), 1U);
    refused(last + (emptied ? " is damaged" : " is missing"));
    EXPECT_TRUE(Restore("earlier", kStart / 1000).has_value());
    fs::remove_all(Path("earlier"));
    heal();
  }
  EXPECT_EQ(RestoredContents(), truth_);
  fs::remove(Path("archive/HEAD"));  // of an archive from before there was one
  EXPECT_EQ(RestoredContents(), truth_);
}

// Frames that go to a file without a name, or beside a mount that is away, are no archive.
TEST_F(ArchiveTest, DB_B_03_AnArchiveThatIsTakenAwayWhileItIsWrittenIsMissed) {
  Open();
  CreateTable("table");
  Put("table", "a");
  ASSERT_TRUE(engine_->archiver()->Ship());
  auto missed = [&] {
    return engine_->archiver()->stats().error.find("gone") != std::string::npos &&
           engine_->archiver()->stats().lag_seconds > 0;
  };
  auto shipped = [&] { return engine_->archiver()->Ship().has_value(); };
  fs::rename(Path("archive"), Path("away"));
  Put("table", "b");
  WaitUntil(missed);
  Put("table", "c");
  EXPECT_FALSE(engine_->archiver()->Ship());
  EXPECT_FALSE(fs::exists(Path("archive")));
  fs::rename(Path("away"), Path("archive"));
  WaitUntil(shipped);
  EXPECT_EQ(Survey().covered.size(), 1U);  // nothing is lost
  EXPECT_EQ(RestoredContents(), truth_);

  fs::remove_all(Path("archive"));
  Put("table", "d");
  WaitUntil(missed);
  Open();  // nor does another life make it again
  EXPECT_FALSE(engine_->archiver()->Ship());
  EXPECT_FALSE(fs::exists(Path("archive")));
  fs::create_directory(Path("archive"));
  WaitUntil(shipped);
  Put("table", "e");
  ASSERT_TRUE(engine_->archiver()->Ship());
  EXPECT_EQ(RestoredContents(), truth_);
}

TEST_F(ArchiveTest, DB_B_03_AFileOfARecordIsShippedWithItOrDoneWithout) {
  Open();
  CreateTable("table");
  Put("table", "a");
  ASSERT_TRUE(engine_->archiver()->Ship());
  clock_.Advance(10'000);
  int64_t before = clock_.NowMillis() / 1000;
  ASSERT_TRUE(engine_->archiver()->Ship());
  clock_.Advance(10'000);
  engine::TablePtr table = engine_->catalog().Find("table");
  ASSERT_TRUE(engine_->recovery().Enable(table, 35));
  BackUpTable("kept");
  ASSERT_TRUE(engine_->archiver()->Ship());  // and what is named is there
  ASSERT_NE(BackupObject(), "");
  engine_.reset();
  auto backups = [&] {
    auto engine = TryOpen("restored");
    EXPECT_TRUE(engine.has_value()) << engine.error().ToString();
    engine::TablePtr again = (*engine)->catalog().Find("table");
    EXPECT_TRUE((*engine)->recovery().Maintain());
    EXPECT_TRUE((*engine)->recovery().WaitForWindow(again, std::chrono::seconds(30)).has_value());
    RestoreTableToPointInTimeRequest request;
    request.source_table_name = "table";
    request.target_table_name = "again";
    request.use_latest_restorable_time = true;
    auto restored = ops::Run(engine->get(), request);
    EXPECT_TRUE(restored.has_value()) << restored.error().ToString();
    (*engine)->restorer().WaitIdle();
    EXPECT_EQ(Read(engine->get())["again"], truth_["table"]);
    auto listed = ops::Run(engine->get(), ListBackupsRequest{});
    EXPECT_TRUE(listed.has_value());
    return listed->backup_summaries.size();
  };
  EXPECT_EQ(RestoredContents(), truth_);
  EXPECT_EQ(backups(), 1U);

  // Damaged: refused where it is needed, told where it is not.
  fs::copy(Path("archive"), Path("copy"), fs::copy_options::recursive);
  Flip(BackupObject(), 20);
  auto refused = Restore("refused");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message().find(BackupObject() + " is damaged"), std::string::npos);
  told_.clear();
  EXPECT_EQ(RestoredContents(before), truth_);
  EXPECT_NE(told_.find(BackupObject() + " is damaged; the restored state does without it"), std::string::npos)
      << told_;

  // Cut off between the log and the files: the store does without them.
  fs::remove_all(Path("archive/additions"));
  told_.clear();
  EXPECT_EQ(RestoredContents(), truth_);
  EXPECT_NE(told_.find("the backup kept had not reached the archive yet"), std::string::npos) << told_;
  EXPECT_EQ(backups(), 0U);
}

TEST_F(ArchiveTest, DB_B_03_ARestoreThatIsRefusedLeavesNothing) {
  Open();
  CreateTable("table");
  ASSERT_TRUE(engine_->archiver()->Ship());
  EXPECT_FALSE(Restore("early", kStart / 1000 - 10).has_value());
  EXPECT_FALSE(fs::exists(Path("early")));
}

TEST_F(ArchiveTest, DB_B_03_ADamagedListOfAddedFilesIsNamedAndRefusedWhereItMayBeNeeded) {
  Open();
  CreateTable("table");
  for (int i = 0; i < 50; ++i) Put("table", std::to_string(i));
  ASSERT_TRUE(engine_->archiver()->Ship());  // the first checkpoint
  auto list = [&](int number) { return Path("archive/additions/000000000" + std::to_string(number)); };
  for (int number : {1, 2}) {
    ASSERT_TRUE(ops::Run(engine_.get(), CreateBackupRequest{"table", "kept"}).has_value());
    engine_->backups().thread().WaitIdle();
    // The archive looks for what was added about once a second.
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!fs::exists(list(number)) && std::chrono::steady_clock::now() < deadline)
      ASSERT_TRUE(engine_->archiver()->Ship());
    ASSERT_TRUE(fs::exists(list(number)));
    clock_.Advance(10'000);
  }
  Put("table", "between");
  ASSERT_TRUE(engine_->archiver()->Ship());
  clock_.Advance(kDay);
  Put("table", "last");
  ASSERT_TRUE(engine_->archiver()->Ship());
  EXPECT_EQ(Survey().checkpoints.size(), 2U);

  fs::copy(list(1), Path("whole"));
  fs::resize_file(list(1), fs::file_size(list(1)) / 2);
  for (bool missing : {false, true}) {
    if (missing) fs::copy(Path("whole"), list(1), fs::copy_options::overwrite_existing);
    if (missing) fs::rename(list(2), Path("second"));
    if (missing) fs::rename(list(1), list(2));  // the first is not there
    if (missing) fs::copy(list(2), list(4));
    ASSERT_EQ(Survey().faults.size(), 1U);
    std::string named = list(missing ? 3 : 1);
    EXPECT_NE(Survey().faults[0].find(named), std::string::npos) << Survey().faults[0];
    auto refused = Restore("refused", kStart / 1000 + 15);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption);
    EXPECT_NE(refused.error().message().find(named), std::string::npos) << refused.error().message();
    // The checkpoint after them has all that it needs.
    EXPECT_EQ(RestoredContents(), truth_);
  }
  // With the checkpoint that needs it, the damaged list goes.
  fs::resize_file(list(2), fs::file_size(list(2)) / 2);
  clock_.Advance(40 * kDay);
  ASSERT_TRUE(engine_->archiver()->Ship());
  EXPECT_EQ(engine_->archiver()->stats().error, "");
  for (int number : {2, 4}) EXPECT_FALSE(fs::exists(list(number))) << number;
  EXPECT_EQ(Survey().faults.size(), 0U);
}

TEST_F(ArchiveTest, DB_B_03_AnArchiveBelongsToOneStore) {
  Open();
  CreateTable("table");
  ASSERT_TRUE(engine_->archiver()->Ship());
  auto both = TryOpen("other", "archive");
  ASSERT_FALSE(both.has_value());
  EXPECT_NE(both.error().message().find("another store"), std::string::npos) << both.error().message();
  engine_.reset();
  // A restored store is another one: it must not go on in the archive of the one it was made from.
  ASSERT_TRUE(Restore("restored").has_value());
  auto second = TryOpen("restored", "archive");
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message().find("begins its own"), std::string::npos) << second.error().message();
  EXPECT_TRUE(TryOpen("restored", "archive2").has_value());
  // An older copy of the directory would write another history over the archive's.
  fs::copy(Path("data"), Path("older"), fs::copy_options::recursive);
  Open();
  Put("table", "a");
  ASSERT_TRUE(engine_->archiver()->Ship());
  engine_.reset();
  auto older = TryOpen("older", "archive");
  ASSERT_FALSE(older.has_value());
  EXPECT_NE(older.error().message().find("ahead of this store"), std::string::npos);
  engine::EngineOptions memory = OptionsFor("data", "archive");
  memory.options.directory.clear();
  EXPECT_EQ(engine::Engine::Open(memory).error().code(), ErrorCode::kValidation);
  fs::create_directories(Path("something"));
  std::ofstream(Path("something/else")) << "x";
  EXPECT_FALSE(TryOpen("data", "something").has_value());
}

TEST_F(ArchiveTest, DB_B_03_OldPartsGoWhenTheirDaysAreOver) {
  engine::EngineOptions options = OptionsFor("data", "archive");
  options.options.archive_days = 3;
  auto opened = engine::Engine::Open(options);
  ASSERT_TRUE(opened.has_value());
  engine_ = *std::move(opened);
  CreateTable("table");
  std::map<int64_t, Contents> history;
  for (int day = 0; day < 8; ++day) {
    for (int i = 0; i < 400; ++i) Put("table", std::to_string(i), 900);
    ASSERT_TRUE(engine_->Compact());
    ASSERT_TRUE(engine_->archiver()->Ship());
    history[clock_.NowMillis() / 1000] = truth_;
    clock_.Advance(kDay);
    ASSERT_TRUE(engine_->archiver()->Ship());
  }
  engine_.reset();
  storage::ArchiveSurvey survey = Survey();
  EXPECT_LE(survey.checkpoints.size(), 5U);
  ASSERT_EQ(survey.covered.size(), 1U);
  EXPECT_LE(survey.covered[0].from_millis, clock_.NowMillis() - 3 * kDay);
  EXPECT_GT(survey.covered[0].from_millis, clock_.NowMillis() - 5 * kDay);
  auto third_last = std::prev(history.end(), 2);
  EXPECT_EQ(RestoredContents(third_last->first), third_last->second);
  size_t tables = 0;
  for (const auto& entry : fs::directory_iterator(Path("archive/files"))) {
    tables += entry.path().extension() == ".sst";
    EXPECT_FALSE(entry.path().string().ends_with(".partial"));
  }
  EXPECT_LT(tables, 200U);
}

TEST_F(ArchiveTest, DB_B_03_ABackupIsConsistentUnderWrites) {
  Open("data", "");
  CreateTable("table");
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  std::array<std::atomic<int64_t>, 3> acknowledged{};
  for (size_t writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&, writer] {
      for (int64_t i = 1; !stop; ++i) {
        if (!TryPut(engine_.get(), "table", std::to_string(writer) + "-" + std::to_string(i), i, 200)) break;
        acknowledged[writer] = i;
      }
    });
  }
  while (acknowledged[0] < 200) std::this_thread::yield();
  for (int backup = 0; backup < 3; ++backup) {
    std::array<int64_t, 3> before{};
    for (size_t writer = 0; writer < 3; ++writer) before[writer] = acknowledged[writer];
    std::string name = "backup" + std::to_string(backup);
    auto bytes = engine_->BackUp(Path(name));
    ASSERT_TRUE(bytes.has_value()) << bytes.error().ToString();
    EXPECT_GT(*bytes, 0U);
    EXPECT_FALSE(engine_->BackUp(Path(name)).has_value());  // there already
    EXPECT_FALSE(fs::exists(Path(name + ".partial")));
    Contents found = RestoredContents(storage::kNewest, name);
    for (size_t writer = 0; writer < 3; ++writer) {
      // Everything acknowledged before, and nothing without what its writer wrote before it.
      int64_t count = 0;
      while (found["table"].contains(std::to_string(writer) + "-" + std::to_string(count + 1))) ++count;
      EXPECT_GE(count, before[writer]);
      EXPECT_FALSE(found["table"].contains(std::to_string(writer) + "-" + std::to_string(count + 2)));
    }
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_FALSE(Restore("data", storage::kNewest, "backup0").has_value());  // not empty
  EXPECT_FALSE(Restore("fresh", storage::kNewest, "data").has_value());    // no backup
  EXPECT_FALSE(fs::exists(Path("fresh")));
}

// The new store is encrypted as its archive is: no file of it shows an item.
TEST_F(ArchiveTest, DB_B_03_ARestoreOfAnEncryptedArchiveLeavesNoPlainText) {
  ASSERT_TRUE(MasterKeys::Create(Path("key")));
  engine::EngineOptions options = OptionsFor("data", "archive");
  options.options.key_file = Path("key");
  options.options.encrypt = true;
  auto opened = engine::Engine::Open(options);
  ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
  engine_ = *std::move(opened);
  CreateTable("PlantedTable");
  for (int i = 0; i < 500; ++i) Put("PlantedTable", std::to_string(i));
  ASSERT_TRUE(engine_->Compact());
  ASSERT_TRUE(engine_->archiver()->Ship());
  auto backed_up = engine_->BackUp(Path("backup"));
  ASSERT_TRUE(backed_up.has_value()) << backed_up.error().ToString();
  engine_.reset();
  for (const char* from : {"archive", "backup"}) {
    engine::RestoreOptions restore;
    restore.from = Path(from);
    restore.directory = Path(std::string("sealed-") + from);
    restore.key_file = Path("key");
    auto restored = engine::RestoreStore(restore, log_);
    ASSERT_TRUE(restored.has_value()) << restored.error().ToString();
    for (const auto& entry : fs::recursive_directory_iterator(restore.directory)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      std::string bytes{std::istreambuf_iterator<char>(file), {}};
      EXPECT_EQ(bytes.find("PlantedTable"), std::string::npos) << entry.path();
      EXPECT_EQ(bytes.find(std::string(100, 'x')), std::string::npos) << entry.path();
    }
    options = OptionsFor(std::string("sealed-") + from, "");
    options.options.key_file = Path("key");
    opened = engine::Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    EXPECT_EQ(Read(opened->get()), truth_);
    opened->reset();
  }
}

// The archive is encrypted with its store: what it had before, too, and it can still be restored.
TEST_F(ArchiveTest, DB_B_03_AnArchiveIsEncryptedWithItsStore) {
  ASSERT_TRUE(MasterKeys::Create(Path("key")));
  engine::EngineOptions options = OptionsFor("data", "archive");
  options.options.key_file = Path("key");
  auto open = [&] {
    engine_.reset();
    auto opened = engine::Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = *std::move(opened);
  };
  auto plain_files = [&] {
    std::vector<std::string> plain;
    for (const auto& entry : fs::recursive_directory_iterator(Path("archive"))) {
      if (!entry.is_regular_file() || entry.file_size() == 0) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::string bytes{std::istreambuf_iterator<char>(in), {}};
      if (!bytes.starts_with("holdfast sealed")) plain.push_back(entry.path());
    }
    return plain;
  };
  open();
  CreateTable("table");
  for (int i = 0; i < 500; ++i) Put("table", std::to_string(i));
  ASSERT_TRUE(engine_->Compact());
  BackUpTable("kept");
  clock_.Advance(kDay);
  ASSERT_TRUE(engine_->archiver()->Ship());
  int64_t plain_second = clock_.NowMillis() / 1000;
  Contents plain_truth = truth_;
  clock_.Advance(10'000);
  Put("table", "later");
  ASSERT_TRUE(engine_->archiver()->Ship());
  open();
  EXPECT_GT(plain_files().size(), 5U);
  size_t had = Survey().checkpoints.size();

  options.options.encrypt = true;
  open();  // and nothing is written any more
  Status encrypted = engine_->WaitForEncryption();
  ASSERT_TRUE(encrypted) << encrypted.error().ToString();
  EXPECT_EQ(plain_files(), std::vector<std::string>{});
  EXPECT_EQ(engine_->files_to_encrypt(), 0U);
  EXPECT_EQ(RestoredContents(), truth_);
  EXPECT_EQ(RestoredContents(plain_second), plain_truth);

  // Another version of the key: the old one is not needed any more.
  auto keys = MasterKeys::Load(Path("key"));
  ASSERT_TRUE(keys.has_value());
  ASSERT_TRUE(MasterKeys::Rotate(Path("key")));
  WaitUntil([&] { return engine_->encryption() == engine::Encryption::kUpdating; });
  ASSERT_TRUE(engine_->WaitForEncryption());
  ASSERT_TRUE(MasterKeys::Disable(Path("key"), 1));
  EXPECT_EQ(RestoredContents(plain_second), plain_truth);
  open();
  Put("table", "last");
  ASSERT_TRUE(engine_->archiver()->Ship());
  ASSERT_TRUE(engine_->WaitForEncryption());
  EXPECT_EQ(RestoredContents(), truth_);
  EXPECT_EQ(plain_files(), std::vector<std::string>{});
  storage::Archive archive(storage::ReadingFileSystem(nullptr, *storage::LoadKeys(Path("key"))),
                           Path("archive"));
  auto survey = storage::SurveyArchive(archive, storage::Depth::kBytes);
  ASSERT_TRUE(survey.has_value()) << survey.error().ToString();
  EXPECT_EQ(survey->faults, std::vector<std::string>{});
  EXPECT_EQ(survey->covered.size(), 1U);
  EXPECT_GE(survey->checkpoints.size(), had);
}

// Show 3: cut short at any point a restore leaves nothing that could be opened, and the next one begins anew.
TEST_F(ArchiveTest, DB_B_03_ARestoreThatWasCutShortBeginsAnew) {
  Open();
  CreateTable("table");
  for (int i = 0; i < 500; ++i) Put("table", std::to_string(i));
  ASSERT_TRUE(engine_->archiver()->Ship());
  engine_.reset();
  uint64_t cuts = 0;
  for (uint64_t after = 1; after < 2000; after = after * 3 / 2 + 1, ++cuts) {
    auto disk = std::make_shared<storage::FaultFileSystem>(after);
    disk->CutAfter(after);
    engine::RestoreOptions options;
    options.from = Path("archive");
    options.directory = Path("cut");
    options.file_system = disk;
    options.archive_file_system = rocksdb::FileSystem::Default();
    auto restored = engine::RestoreStore(options, log_);
    if (restored) break;
    disk->Restore();
    auto opened = TryOpen("cut");
    ASSERT_FALSE(opened.has_value()) << "after " << after;
    EXPECT_NE(opened.error().message().find("cut short"), std::string::npos) << opened.error().message();
  }
  EXPECT_GT(cuts, 3U);
  ASSERT_TRUE(Restore("again").has_value());
  auto whole = TryOpen("cut");
  ASSERT_TRUE(whole.has_value()) << whole.error().ToString();
  EXPECT_EQ(Read(whole->get()), truth_);
}

}  // namespace
}  // namespace holdfast
