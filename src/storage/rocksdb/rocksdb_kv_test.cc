// What this store must keep to although the packaged RocksDB does not: docs/rocksdb.md lists its faults.
#include "storage/rocksdb/rocksdb_kv.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/crc32c.h"
#include "storage/fault/fault_file_system.h"
#include "storage/fault/page_cache.h"
#include "storage/rocksdb/log_files.h"
#include "storage/rocksdb/rocksdb_options.h"
#include "storage/rocksdb/stall_watch.h"

namespace holdfast::storage {
namespace {

class RocksDbKvTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 ("holdfast-rocksdb-" + std::to_string(::getpid()) + "-" + std::to_string(++made_));
  }
  void TearDown() override {
    kv_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Open() {
    kv_.reset();
    auto opened = OpenRocksDbKv(options(), silence_);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    kv_ = *std::move(opened);
  }
  // Small tables, so that a small store has many of them.
  RocksDbOptions options() const {
    return {.directory = directory_, .write_buffer_bytes = 128 << 10, .table_bytes = 64 << 10};
  }

  static std::string Key(int number) {
    char key[16];
    std::snprintf(key, sizeof key, "k%08d", number);
    return key;
  }
  static std::string Value(int number) {
    // Poorly compressible, so that tables fill.
    std::string value;
    for (uint64_t word = static_cast<uint64_t>(number) + 1; value.size() < 200;) {
      word = word * 6364136223846793005u + 1442695040888963407u;
      value.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    return value;
  }
  // Even keys only: the odd ones are absent, amid the others. In two passes, whose tables overlap, so that a
  // compaction rewrites them to their size.
  void Load() {
    Open();
    for (int first : {0, 2}) {
      for (int number = first; number < kKeys; number += 4) {
        auto batch = kv_->NewBatch();
        batch->Put(Space::kItems, Key(number), Value(number));
        ASSERT_TRUE(kv_->Write(batch.get(), Wait::kMayBlock));
      }
    }
    ASSERT_TRUE(kv_->Sync());
    ASSERT_TRUE(kv_->Compact());
    ASSERT_GT(TableFiles(), 30);
  }
  int TableFiles() const {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      files += entry.path().extension() == ".sst";
    }
    return files;
  }
  void ReadAll(int from, int to) {
    std::string value;
    for (int number = from; number < to; number += 2) {
      Result<bool> found = kv_->Get(Space::kItems, Key(number), nullptr, Wait::kMayBlock, &value);
      ASSERT_TRUE(found.has_value() && *found);
    }
  }

  void DropPages() const { DropCachedPages(directory_); }
  static constexpr int kKeys = 30'000;
  static inline int made_ = 0;
  std::string directory_;
  base::Log silence_{base::LogLevel::kNone};
  std::unique_ptr<Kv> kv_;
};

// An I/O thread must not wait for the disk, and must not be told less than the store holds: RocksDB's own way
// of reading its cache alone (7.8) answered OK and an empty value where a table was not open.
TEST_F(RocksDbKvTest, AReadThatMayNotWaitIsRightOrWouldBlock) {
  Load();
  Open();
  DropPages();
  int blocked = 0;
  std::string value;
  for (int number = 0; number < kKeys; ++number) {
    value.clear();
    Result<bool> found = kv_->Get(Space::kItems, Key(number), nullptr, Wait::kNever, &value);
    if (!found.has_value()) {
      ASSERT_EQ(found.error().code(), ErrorCode::kWouldBlock) << number;
      ++blocked;
      continue;
    }
    ASSERT_EQ(*found, number % 2 == 0) << number;
    if (*found) {
      ASSERT_EQ(value, Value(number)) << number;
    }
  }
  EXPECT_GT(blocked, 100);
}

// A block that RocksDB's cache has lost is often still in the system's memory; to read it there costs less
// than to hand the request to another thread.
TEST_F(RocksDbKvTest, AReadThatMayNotWaitFindsWhatTheSystemHasInMemory) {
  Load();
  Open();
  ReadAll(0, kKeys);
  kv_->LimitCache(0);
  std::string value;
  for (int number = 0; number < kKeys; ++number) {
    Result<bool> found = kv_->Get(Space::kItems, Key(number), nullptr, Wait::kNever, &value);
    ASSERT_TRUE(found.has_value()) << found.error().ToString();
    ASSERT_EQ(*found, number % 2 == 0) << number;
  }
  auto it = kv_->Iterate(Space::kItems, {}, nullptr, Wait::kNever);
  int seen = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++seen;
  ASSERT_TRUE(it->status());
  EXPECT_EQ(seen, kKeys / 2);
}

// Where the first block of the next table is not in the cache, RocksDB 7.8 loses the status of that level
// and goes on without it: a walk that may not wait ended early and called it the end of the range.
TEST_F(RocksDbKvTest, AWalkThatMayNotWaitIsCompleteOrWouldBlock) {
  Load();
  for (bool forward : {true, false}) {
    for (int cached = 2; cached < kKeys; cached += kKeys / 9 / 2 * 2) {
      Open();
      DropPages();
      int from = forward ? 0 : kKeys - cached;
      ReadAll(from, from + cached);
      auto it = kv_->Iterate(Space::kItems, {}, nullptr, Wait::kNever);
      int seen = 0;
      for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid(); forward ? it->Next() : it->Prev()) {
        ASSERT_EQ(it->key(), Key(forward ? seen * 2 : kKeys - 2 - seen * 2));
        ++seen;
      }
      ASSERT_TRUE(seen == kKeys / 2 || !it->status()) << "ended after " << seen << ", cached " << cached;
    }
  }
}

// A server's cache makes room for what grows beside it: at once, and without a restart.
TEST_F(RocksDbKvTest, TheCacheKeepsToItsLimitWhenThatChanges) {
  Load();
  kv_->LimitCache(64 << 20);
  ReadAll(0, kKeys);
  ASSERT_GT(kv_->memory().cache_bytes, size_t{2} << 20);
  kv_->LimitCache(1 << 20);
  EXPECT_LT(kv_->memory().cache_bytes, size_t{3} << 19);
  ReadAll(0, kKeys);
  EXPECT_LT(kv_->memory().cache_bytes, size_t{3} << 19);
  kv_->LimitCache(64 << 20);
  ReadAll(0, kKeys);
  EXPECT_GT(kv_->memory().cache_bytes, size_t{2} << 20);
}

// A table that cannot be read at its first block must end a compaction, not vanish in it.
TEST_F(RocksDbKvTest, ACompactionThatMeetsDamageKeepsEverything) {
  Load();
  kv_.reset();
  std::vector<std::string> tables;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (entry.path().extension() == ".sst") tables.push_back(entry.path());
  }
  std::sort(tables.begin(), tables.end());
  {
    std::fstream table(tables[tables.size() / 2], std::ios::in | std::ios::out | std::ios::binary);
    table.seekp(100);
    table << "damaged";
  }
  Open();
  for (int number = 1; number < kKeys; number += 40) {  // so that every table is to be merged with something
    auto batch = kv_->NewBatch();
    batch->Put(Space::kItems, Key(number), Value(number));
    ASSERT_TRUE(kv_->Write(batch.get(), Wait::kMayBlock));
  }
  EXPECT_FALSE(kv_->Compact());
  int damaged = 0;
  std::string value;
  for (int number = 0; number < kKeys; number += 2) {
    Result<bool> found = kv_->Get(Space::kItems, Key(number), nullptr, Wait::kMayBlock, &value);
    ASSERT_TRUE(!found || *found) << Key(number) << " is gone";
    damaged += !found;
  }
  EXPECT_GT(damaged, 0);
  EXPECT_LT(damaged, 200) << "more than one block";
}

// --- a log that the manifest names and the directory lacks ---

class MissingLogTest : public RocksDbKvTest {
 protected:
  // A store whose manifest tracks no logs yet, with one item in tables and one in the newest log alone.
  void SetUp() override {
    RocksDbKvTest::SetUp();
    std::vector<rocksdb::ColumnFamilyDescriptor> spaces{{rocksdb::kDefaultColumnFamilyName, {}}};
    for (int i = 0; i < kSpaces; ++i) {
      spaces.emplace_back(std::string(SpaceName(static_cast<Space>(i))), rocksdb::ColumnFamilyOptions());
    }
    rocksdb::DBOptions db_options = MakeDbOptions(options());
    db_options.track_and_verify_wals_in_manifest = false;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(db_options, directory_, spaces, &handles, &db).ok());
    auto items = handles[1 + static_cast<int>(Space::kItems)];
    ASSERT_TRUE(db->Put({}, items, "in a table", "1").ok());
    ASSERT_TRUE(db->Flush({}, handles).ok());
    ASSERT_TRUE(db->Put({}, items, "in the log", "2").ok());
    ASSERT_TRUE(db->FlushWAL(true).ok());
    for (auto* handle : handles) db->DestroyColumnFamilyHandle(handle);
    delete db;
  }

  std::string NewestOf(const std::string& prefix, const std::string& suffix) const {
    std::string newest;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      std::string name = entry.path().filename();
      if (name.starts_with(prefix) && name.ends_with(suffix)) newest = std::max(newest, name);
    }
    return newest;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) names.push_back(entry.path());
    std::sort(names.begin(), names.end());
    return names;
  }
  // Appends to the manifest that this log was synced up to one byte: tag WalAddition2, a length-prefixed
  // number, SyncedSize 1, Terminate; framed as a record of RocksDB's log format.
  void NameInManifest(uint8_t log_number) const {
    ASSERT_LT(log_number, 128);  // one byte as a varint
    std::string edit{"\x87\x40\x04", 3};
    edit += {static_cast<char>(log_number), 2, 1, 1};
    std::string type_and_edit = "\x01" + edit;
    uint32_t crc = base::Crc32c(0, type_and_edit);
    crc = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;  // as RocksDB masks it
    std::string header(reinterpret_cast<const char*>(&crc), sizeof crc);
    header += {static_cast<char>(edit.size()), 0};
    std::ofstream manifest(directory_ + "/" + NewestOf("MANIFEST-", ""), std::ios::app | std::ios::binary);
    manifest << header << type_and_edit;
  }
  std::string Get(ByteView key) {
    std::string value;
    Result<bool> found = kv_->Get(Space::kItems, key, nullptr, Wait::kMayBlock, &value);
    return found.has_value() && *found ? value : "(none)";
  }
};

// RocksDB 7.8 may write into a new manifest that a log is synced when the log is no longer needed and about
// to be deleted, and then refuses to open the store: nothing is missing, so the store must open.
TEST_F(MissingLogTest, AStoreOpensWithoutALogThatNothingNeeds) {
  NameInManifest(1);
  Open();
  EXPECT_EQ(Get("in a table"), "1");
  EXPECT_EQ(Get("in the log"), "2");
  Open();  // and tracks its logs again
  EXPECT_EQ(Get("in the log"), "2");
}

TEST_F(MissingLogTest, AStoreThatLacksALogItNeedsIsRefusedAndUnchanged) {
  std::string log = NewestOf("", ".log");
  NameInManifest(static_cast<uint8_t>(std::stoi(log)));
  std::string away = directory_ + ".away";
  std::filesystem::rename(directory_ + "/" + log, away);
  std::ofstream(directory_ + "/000127.log").flush();  // an empty one: RocksDB begins to recover
  std::vector<std::string> before = Names();
  for (int tries = 0; tries < 2; ++tries) {
    auto opened = OpenRocksDbKv(options(), silence_);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption) << opened.error().ToString();
    EXPECT_EQ(Names(), before);
  }
  std::filesystem::remove(directory_ + "/000127.log");
  std::filesystem::rename(away, directory_ + "/" + log);
  Open();
  EXPECT_EQ(Get("in a table"), "1");
  EXPECT_EQ(Get("in the log"), "2");
}

// --- the rest ---

// Where a new manifest cannot be written, on a full disk, RocksDB 7.8 takes it for the current one and
// deletes the one that CURRENT names: the store could never be opened again.
TEST_F(RocksDbKvTest, TheManifestThatCurrentNamesIsNotDeleted) {
  std::filesystem::create_directories(directory_);
  for (const char* name : {"MANIFEST-000005", "MANIFEST-000004"})
    std::ofstream(directory_ + "/" + name) << "m";
  std::ofstream(directory_ + "/CURRENT") << "MANIFEST-000005\n";
  LogFileSystem files(rocksdb::FileSystem::Default());
  EXPECT_FALSE(files.DeleteFile(directory_ + "/MANIFEST-000005", {}, nullptr).ok());
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/MANIFEST-000005"));
  EXPECT_TRUE(files.DeleteFile(directory_ + "/MANIFEST-000004", {}, nullptr).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/MANIFEST-000004"));
}

// The same from above: a disk that is full while the manifest is rolled, at every point of doing so.
TEST_F(RocksDbKvTest, AStoreOpensAgainAfterAFullDiskWhileItsManifestWasRolled) {
  auto disk = std::make_shared<FaultFileSystem>(1);
  RocksDbOptions full = options();
  full.file_system = disk;
  full.manifest_bytes = 1;  // each change of the set of tables begins a new manifest
  for (uint64_t space = 0; space < 4000; space += 800) {  // RocksDB waits a second after each failure
    std::filesystem::remove_all(directory_);
    disk->LimitSpace(UINT64_MAX);
    auto opened = OpenRocksDbKv(full, silence_);
    ASSERT_TRUE(opened.has_value());
    std::unique_ptr<Kv> kv = *std::move(opened);
    auto batch = kv->NewBatch();
    batch->Put(Space::kItems, "key", "value");
    ASSERT_TRUE(kv->Write(batch.get(), Wait::kMayBlock));
    ASSERT_TRUE(kv->Sync());
    disk->LimitSpace(space);
    for (int tries = 0; tries < 3; ++tries) static_cast<void>(kv->RollLog());
    kv.reset();
    disk->LimitSpace(UINT64_MAX);
    opened = OpenRocksDbKv(full, silence_);
    ASSERT_TRUE(opened.has_value()) << space << ": " << opened.error().ToString();
    std::string value;
    Result<bool> found = (*opened)->Get(Space::kItems, "key", nullptr, Wait::kMayBlock, &value);
    ASSERT_TRUE(found.has_value() && *found) << space;
  }
}

// A server that is told to stop while writes wait for a flush or a compaction must not wait for that too: on
// a busy machine it took 23 seconds.
TEST_F(RocksDbKvTest, WritesThatAreStoppedEndWhenTheStoreIsAboutToClose) {
  // Tables cannot be begun until it is told.
  class HeldFiles final : public rocksdb::FileSystemWrapper {
   public:
    HeldFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
    const char* Name() const override { return "held"; }
    rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& file_options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override {
      if (path.ends_with(".sst")) released.wait(false);
      return target()->NewWritableFile(path, file_options, file, debug);
    }
    std::atomic<bool> released{false};
  };
  auto files = std::make_shared<HeldFiles>();
  RocksDbOptions held = options();
  held.file_system = files;
  auto opened = OpenRocksDbKv(held, silence_);
  ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
  kv_ = *std::move(opened);
  auto write = [&](int number, Wait wait) {
    auto batch = kv_->NewBatch();
    batch->Put(Space::kItems, Key(number), std::string(16 << 10, 'x'));
    return kv_->Write(batch.get(), wait);
  };
  int number = 0;
  while (write(number, Wait::kNever)) ++number;  // slowed down
  std::thread writer([&] {
    while (write(++number, Wait::kMayBlock)) {  // and stopped
    }
  });
  kv_->PrepareToClose();
  writer.join();
  files->released = true;
  files->released.notify_all();
}

// Writes are stopped by too many tables of level 0, and nothing runs that would take tables away, as RocksDB
// 7.8 may leave it after a compaction. Here its picker sees no need, since its trigger lies beyond the stop.
TEST_F(RocksDbKvTest, WritesThatAreStoppedWhileNothingRunsMakeRocksDbLookAgain) {
  rocksdb::Options create;
  create.create_if_missing = true;
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(create, directory_, &opened).ok());
  std::unique_ptr<rocksdb::DB> db(opened);
  std::vector<rocksdb::ColumnFamilyHandle*> handles{db->DefaultColumnFamily()};
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(StallWatch::IsStuck(db.get(), handles));
    ASSERT_TRUE(db->Put({}, "key", std::to_string(i)).ok());
    ASSERT_TRUE(db->Flush({}).ok());
  }
  ASSERT_TRUE(
      db->SetOptions({{"level0_stop_writes_trigger", "3"}, {"level0_file_num_compaction_trigger", "100"}})
          .ok());
  ASSERT_TRUE(StallWatch::IsStuck(db.get(), handles));
  // A kick makes RocksDB take its options anew and write them down.
  auto options_file = [&] {
    std::string newest;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (std::string name = entry.path().filename(); name.starts_with("OPTIONS-"))
        newest = std::max(newest, name);
    }
    return newest;
  };
  std::string before = options_file();
  StallWatch watch(db.get(), handles, silence_);
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (options_file() == before && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_NE(options_file(), before);
}

}  // namespace
}  // namespace holdfast::storage
