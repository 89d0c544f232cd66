#include "storage/rocksdb/rocksdb_kv.h"

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/version.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "base/check.h"
#include "storage/encryption/vault.h"
#include "storage/rocksdb/disk_files.h"
#include "storage/rocksdb/log_files.h"
#include "storage/rocksdb/log_follower.h"
#include "storage/rocksdb/rocksdb_files.h"
#include "storage/rocksdb/rocksdb_options.h"
#include "storage/rocksdb/stall_watch.h"
#include "storage/rocksdb/status.h"

namespace holdfast::storage {
namespace {

rocksdb::Slice ToSlice(ByteView bytes) {
  return {bytes.data(), bytes.size()};
}
ByteView ToView(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// Passes RocksDB's warnings on to our log; its chatter is dropped.
class LogBridge final : public rocksdb::Logger {
 public:
  explicit LogBridge(const base::Log& log) : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), log_(log) {}
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override { Logv(GetInfoLogLevel(), format, arguments); }
  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < rocksdb::InfoLogLevel::WARN_LEVEL || level == rocksdb::InfoLogLevel::HEADER_LEVEL) return;
    // RocksDB's own checkpoint keeps files twice over, and warns of it.
    if (std::string_view(format).find("File Deletions ") != std::string_view::npos) return;
    char text[1024];
    std::vsnprintf(text, sizeof text, format, arguments);
    HF_LOG(log_, kWarning, "rocksdb", {"message", text});
  }

 private:
  const base::Log& log_;
};

class RocksSnapshot final : public Snapshot {
 public:
  explicit RocksSnapshot(rocksdb::DB* db) : db_(db), snapshot_(db->GetSnapshot()) {}
  ~RocksSnapshot() override { db_->ReleaseSnapshot(snapshot_); }
  const rocksdb::Snapshot* get() const { return snapshot_; }

 private:
  rocksdb::DB* db_;
  const rocksdb::Snapshot* snapshot_;
};

using Handles = std::array<rocksdb::ColumnFamilyHandle*, kSpaces>;

class RocksBatch final : public Batch {
 public:
  explicit RocksBatch(const Handles& handles) : handles_(handles) {}
  void Put(Space space, ByteView key, ByteView value) override {
    Check(batch.Put(handles_[static_cast<size_t>(space)], ToSlice(key), ToSlice(value)));
  }
  void Delete(Space space, ByteView key) override {
    Check(batch.Delete(handles_[static_cast<size_t>(space)], ToSlice(key)));
  }
  void DeleteRange(Space space, const Range& range) override {
    HF_ASSERT(!range.upper.empty());
    Check(batch.DeleteRange(handles_[static_cast<size_t>(space)], range.lower, range.upper));
  }
  void Clear() override { batch.Clear(); }
  bool empty() const override { return batch.Count() == 0; }

  rocksdb::WriteBatch batch;

 private:
  // Adding to a batch in memory only fails on misuse.
  static void Check(const rocksdb::Status& status) { HF_ASSERT(status.ok()); }

  const Handles& handles_;
};

rocksdb::ReadOptions MakeReadOptions(Space space, const Snapshot* snapshot) {
  rocksdb::ReadOptions options = MakeReadOptions(space);
  if (snapshot != nullptr) options.snapshot = static_cast<const RocksSnapshot*>(snapshot)->get();
  return options;
}

class RocksIterator final : public Iterator {
 public:
  RocksIterator(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* handle, Range range,
                rocksdb::ReadOptions options, Wait wait)
      : range_(std::move(range)),
        lower_(range_.lower),
        upper_(range_.upper),
        never_waits_(wait == Wait::kNever) {
    DoNotWait scope(never_waits_);
    if (!range_.lower.empty()) options.iterate_lower_bound = &lower_;
    if (!range_.upper.empty()) options.iterate_upper_bound = &upper_;
    bool may_end_early = never_waits_ && !options.ignore_range_deletions;
    iterator_.reset(may_end_early ? rocksdb::NewErrorIterator(rocksdb::Status::Incomplete())  // see there
                                  : db->NewIterator(options, handle));
  }
  bool Valid() const override { return iterator_->Valid(); }
  void SeekToFirst() override {
    DoNotWait scope(never_waits_);
    iterator_->SeekToFirst();
  }
  void SeekToLast() override {
    DoNotWait scope(never_waits_);
    iterator_->SeekToLast();
  }
  void Seek(ByteView key) override {
    DoNotWait scope(never_waits_);
    iterator_->Seek(ToSlice(key));
  }
  void SeekForPrev(ByteView key) override {
    DoNotWait scope(never_waits_);
    iterator_->SeekForPrev(ToSlice(key));
  }
  void Next() override {
    DoNotWait scope(never_waits_);
    iterator_->Next();
  }
  void Prev() override {
    DoNotWait scope(never_waits_);
    iterator_->Prev();
  }
  ByteView key() const override { return ToView(iterator_->key()); }
  ByteView value() const override { return ToView(iterator_->value()); }
  Status status() const override { return ToStatus(iterator_->status()); }

 private:
  const Range range_;  // the bounds below point into it
  const rocksdb::Slice lower_, upper_;
  const bool never_waits_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

// Of records of a log what was written before a moment. Each batch in them ends with its time.
class BatchesBefore final : public rocksdb::WriteBatch::Handler {
 public:
  BatchesBefore(const Handles& handles, int64_t before_millis) : before_millis_(before_millis) {
    for (rocksdb::ColumnFamilyHandle* handle : handles) by_id_[handle->GetID()] = handle;
    batch.SetSavePoint();
  }

  rocksdb::Status PutCF(uint32_t id, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    return With(id, [&](auto* handle) { return batch.Put(handle, key, value); });
  }
  rocksdb::Status DeleteCF(uint32_t id, const rocksdb::Slice& key) override {
    return With(id, [&](auto* handle) { return batch.Delete(handle, key); });
  }
  rocksdb::Status DeleteRangeCF(uint32_t id, const rocksdb::Slice& begin,
                                const rocksdb::Slice& end) override {
    return With(id, [&](auto* handle) { return batch.DeleteRange(handle, begin, end); });
  }
  void LogData(const rocksdb::Slice& stamp) override {
    if (stamp.size() != kLogStampBytes) return;
    auto time = static_cast<int64_t>(base::ReadBigEndian(ToView(stamp), static_cast<int>(kLogStampBytes)));
    if (time >= before_millis_) {
      batch.RollbackToSavePoint().PermitUncheckedError();
      met_later = true;
      return;
    }
    batch.PopSavePoint().PermitUncheckedError();
    batch.SetSavePoint();
  }
  bool Continue() override { return !met_later; }

  rocksdb::WriteBatch batch;
  bool met_later = false;

 private:
  template <class Add>
  rocksdb::Status With(uint32_t id, Add add) {
    if (id == 0) return rocksdb::Status::OK();  // the default space stays empty
    auto handle = by_id_.find(id);
    if (handle == by_id_.end()) return rocksdb::Status::Corruption("a record of an unknown space");
    return add(handle->second);
  }

  const int64_t before_millis_;
  std::map<uint32_t, rocksdb::ColumnFamilyHandle*> by_id_;
};

class RocksDbKv final : public Kv {
 public:
  RocksDbKv(const std::shared_ptr<LogFileSystem>& file_system, const RocksDbOptions& options,
            const base::Log& log, std::unique_ptr<rocksdb::Env> env, std::unique_ptr<SequenceGuard> guard,
            std::unique_ptr<rocksdb::DB> db, std::vector<rocksdb::ColumnFamilyHandle*> handles,
            SharedMemory memory, LogLife life)
      : vault_(options.vault),
        file_system_(file_system),
        directory_(options.directory),
        followed_by_clock_(options.followed_by_clock),
        life_(life),
        vectors_(OpenRocksDbFiles(file_system, options.directory + "/vectors")),
        segments_(OpenRocksDbFiles(file_system, options.directory + "/segments")),
        env_(std::move(env)),
        guard_(std::move(guard)),
        db_(std::move(db)),
        memory_(std::move(memory)),
        synced_(life.first_sequence - 1) {
    HF_ASSERT(handles.size() == handles_.size() + 1);
    std::copy(handles.begin() + 1, handles.end(), handles_.begin());
    default_handle_ = handles[0];
    stall_watch_ = std::make_unique<StallWatch>(db_.get(), std::move(handles), log);
  }

  ~RocksDbKv() override {
    stall_watch_.reset();
    for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle);
    db_->DestroyColumnFamilyHandle(default_handle_);
    db_->Close().PermitUncheckedError();  // whatever was acknowledged has been synced long ago
  }

  Capabilities capabilities() const override {
    return {.durable = true, .checkpoints = true, .follows = followed_by_clock_ != nullptr};
  }
  std::unique_ptr<Batch> NewBatch() override { return std::make_unique<RocksBatch>(handles_); }

  Status Write(Batch* batch, Wait wait) override {
    rocksdb::WriteOptions options;
    options.no_slowdown = wait == Wait::kNever;
    rocksdb::WriteBatch& changes = static_cast<RocksBatch*>(batch)->batch;
    HF_CHECK_OK(CheckLog());
    if (followed_by_clock_ != nullptr) HF_CHECK_OK(Stamp(&changes));
    HF_CHECK_OK(ToStatus(db_->Write(options, &changes)));
    return CheckLog();  // this write's place in it, where it is not held in the process
  }

  Status Sync() override {
    uint64_t written = db_->GetLatestSequenceNumber();
    HF_CHECK_OK(ToStatus(db_->FlushWAL(/*sync=*/true)));
    HF_CHECK_OK(ToStatus(file_system_->log_error()));  // which RocksDB is not told
    uint64_t synced = synced_.load(std::memory_order_relaxed);
    while (synced < written && !synced_.compare_exchange_weak(synced, written, std::memory_order_release)) {
    }
    return Ok{};
  }

  std::shared_ptr<const Snapshot> TakeSnapshot() override {
    return std::make_shared<const RocksSnapshot>(db_.get());
  }

  Result<bool> Get(Space space, ByteView key, const Snapshot* snapshot, Wait wait,
                   std::string* value) override {
    DoNotWait scope(wait == Wait::kNever);
    rocksdb::PinnableSlice pinned(value);
    rocksdb::Status status = db_->Get(MakeReadOptions(space, snapshot), handle(space), ToSlice(key), &pinned);
    if (status.IsNotFound()) return false;
    if (!status.ok()) return ToError(status);
    if (pinned.IsPinned()) value->assign(pinned.data(), pinned.size());
    return true;
  }

  std::unique_ptr<Iterator> Iterate(Space space, Range range, const Snapshot* snapshot, Wait wait) override {
    return std::make_unique<RocksIterator>(db_.get(), handle(space), std::move(range),
                                           MakeReadOptions(space, snapshot), wait);
  }

  uint64_t ApproximateSize(Space space, const Range& range) override {
    rocksdb::SizeApproximationOptions options;
    options.include_memtables = true;
    options.include_files = true;
    rocksdb::Range bounds(range.lower, range.upper);
    uint64_t bytes = 0;
    if (!db_->GetApproximateSizes(options, handle(space), &bounds, 1, &bytes).ok()) return 0;
    return bytes;
  }

  Stats stats() const override {
    Stats stats;
    for (rocksdb::ColumnFamilyHandle* handle : handles_) {
      stats.disk_bytes += Property(handle, rocksdb::DB::Properties::kTotalSstFilesSize);
      stats.memory_bytes += Property(handle, rocksdb::DB::Properties::kCurSizeAllMemTables) +
                            Property(handle, rocksdb::DB::Properties::kEstimateTableReadersMem);
      stats.compaction_pending_bytes +=
          Property(handle, rocksdb::DB::Properties::kEstimatePendingCompactionBytes);
    }
    stats.cache_bytes = memory_.cache->GetUsage();
    rocksdb::VectorLogPtr logs;
    if (db_->GetSortedWalFiles(logs).ok()) {
      for (const auto& log : logs) stats.log_bytes += log->SizeFileBytes();
    }
    stats.disk_bytes += stats.log_bytes;
    return stats;
  }

  MemoryStats memory() const override {
    return {.cache_bytes = memory_.cache->GetUsage(),
            .write_buffer_bytes = memory_.write_buffers->memory_usage()};
  }
  void LimitCache(size_t bytes) override { memory_.cache->SetCapacity(bytes); }

  Status Checkpoint(const std::string& directory) override {
    rocksdb::Checkpoint* checkpoint = nullptr;
    HF_CHECK_OK(ToStatus(rocksdb::Checkpoint::Create(db_.get(), &checkpoint)));
    std::unique_ptr<rocksdb::Checkpoint> owned(checkpoint);
    HF_CHECK_OK(ToStatus(owned->CreateCheckpoint(directory)));
    // A log that was closed meanwhile is in the checkpoint by a hard link, and perhaps unsynced
    // (docs/rocksdb.md, 6).
    HF_CHECK_OK(Sync());
    return vault_ == nullptr ? Ok{} : vault_->MarkCopy(directory);
  }

  void PrepareToClose() override {
    rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/false);
    memory_.cache->DisownData();
  }

  Files* files(FileKind kind) override {
    return kind == FileKind::kVectors ? vectors_.get() : segments_.get();
  }

  Status RollLog() override {
    // RocksDB begins a new log when it flushes a write buffer, so there has to be something to flush.
    HF_CHECK_OK(WriteNothing());
    std::vector<rocksdb::ColumnFamilyHandle*> all(handles_.begin(), handles_.end());
    all.push_back(default_handle_);
    HF_CHECK_OK(ToStatus(db_->Flush({}, all)));
    // Logs from before the start that nobody needs go when RocksDB looks at all files, which this makes it
    // do.
    HF_CHECK_OK(ToStatus(db_->DisableFileDeletions()));
#if ROCKSDB_MAJOR < 9
    HF_CHECK_OK(ToStatus(db_->EnableFileDeletions(/*force=*/false)));
#else
    HF_CHECK_OK(ToStatus(db_->EnableFileDeletions()));
#endif
    if (followed_by_clock_ == nullptr) return Ok{};
    // A follower leaves the old log for what stands in the new one.
    HF_CHECK_OK(WriteNothing());
    return Sync();
  }

  std::string identity() const override {
    std::string identity;
    return db_->GetDbIdentity(identity).ok() ? identity : std::string();
  }

  uint64_t synced_sequence() const override {
    return synced_.load(std::memory_order_acquire);
  }

  Result<std::unique_ptr<LogFollower>> Follow(uint64_t after) override {
    if (followed_by_clock_ == nullptr)
      return Error(ErrorCode::kNotSupported, "the store was not opened to be followed");
    return FollowLog({file_system_, directory_, life_, &synced_}, after);
  }

  Result<bool> Replay(const std::vector<ByteView>& records, int64_t before_millis) override {
    BatchesBefore before(handles_, before_millis);
    for (ByteView record : records) {
      rocksdb::WriteBatch batch{std::string(record)};
      HF_CHECK_OK(ToStatus(batch.Iterate(&before)));
      if (before.met_later) break;
    }
    HF_CHECK_OK(ToStatus(db_->Write({}, &before.batch)));
    return !before.met_later;
  }

  Status Compact() override {
    for (rocksdb::ColumnFamilyHandle* handle : handles_) {
      HF_CHECK_OK(ToStatus(db_->CompactRange({}, handle, nullptr, nullptr)));
    }
    return Ok{};
  }

 private:
  rocksdb::ColumnFamilyHandle* handle(Space space) const {
    return handles_[static_cast<size_t>(space)];
  }
  uint64_t Property(rocksdb::ColumnFamilyHandle* handle, const std::string& name) const {
    uint64_t value = 0;
    return db_->GetIntProperty(handle, name, &value) ? value : 0;
  }

  // RocksDB is not told of a failure of the log (log_files.h), and would go on taking writes.
  Status CheckLog() const {
    rocksdb::IOStatus failed = file_system_->log_error();
    if (failed.ok()) return Ok{};
    return Error(
        ErrorCode::kReadOnly,
        "the store is read-only: its log could not be written, so nothing written since can be promised; "
        "restart it once the disk is sound (" +
            failed.ToString() + ")");
  }

  // A write to the column family that stays empty.
  Status WriteNothing() {
    rocksdb::WriteBatch batch;
    HF_CHECK_OK(ToStatus(batch.Delete(default_handle_, "roll")));
    if (followed_by_clock_ != nullptr) HF_CHECK_OK(Stamp(&batch));
    return ToStatus(db_->Write({}, &batch));
  }

  // Times never go back, whatever the clock does.
  Status Stamp(rocksdb::WriteBatch* batch) {
    int64_t now = followed_by_clock_->NowMillis();
    int64_t newest = newest_stamp_.load(std::memory_order_relaxed);
    while (newest < now && !newest_stamp_.compare_exchange_weak(newest, now, std::memory_order_relaxed)) {
    }
    std::string stamp;
    base::AppendBigEndian(&stamp, static_cast<uint64_t>(std::max(newest, now)),
                          static_cast<int>(kLogStampBytes));
    return ToStatus(batch->PutLogData(stamp));
  }

  const std::shared_ptr<Vault> vault_;
  const std::shared_ptr<LogFileSystem> file_system_;
  const std::string directory_;
  const base::Clock* const followed_by_clock_;
  const LogLife life_;
  const std::unique_ptr<Files> vectors_, segments_;
  const std::unique_ptr<rocksdb::Env> env_;     // outlives db_
  const std::unique_ptr<SequenceGuard> guard_;  // likewise
  const std::unique_ptr<rocksdb::DB> db_;
  const SharedMemory memory_;
  Handles handles_{};
  rocksdb::ColumnFamilyHandle* default_handle_ = nullptr;
  std::unique_ptr<StallWatch> stall_watch_;
  std::atomic<uint64_t> synced_;
  std::atomic<int64_t> newest_stamp_{0};
};

// Deletes the logs that no follower needs.
void DeleteOldLogs(rocksdb::FileSystem* file_system, const std::string& directory) {
  std::vector<std::string> names;
  if (!file_system->GetChildren(OldLogDirectory(directory), {}, &names, nullptr).ok()) return;
  for (const std::string& name : names) {
    if (name.ends_with(".log"))
      file_system->DeleteFile(OldLogDirectory(directory) + "/" + name, {}, nullptr).PermitUncheckedError();
  }
}

Result<LogLife> LifeOf(rocksdb::DB* db, const SequenceGuard& guard) {
  std::unique_ptr<rocksdb::LogFile> log;
  HF_CHECK_OK(ToStatus(db->GetCurrentWalFile(&log)));
  LogLife life;
  life.first_log = log->LogNumber();  // nothing has been written yet
  life.first_sequence = db->GetLatestSequenceNumber() + 1;
  life.recovered_end = guard.next_sequence() != 0 ? guard.next_sequence() : life.first_sequence;
  return life;
}

// Which log RocksDB misses, when it refuses to open the store for that.
std::optional<uint64_t> MissingLog(const rocksdb::Status& status) {
  constexpr std::string_view kMissing = "Missing WAL with log number: ";
  std::string text = status.ToString();
  size_t at = text.find(kMissing);
  if (!status.IsCorruption() || at == std::string::npos) return std::nullopt;
  return std::strtoull(text.c_str() + at + kMissing.size(), nullptr, 10);
}

// One opening of the database, which may take two tries.
class Opening {
 public:
  Opening(const RocksDbOptions& options, const base::Log& log)
      : options_(options), log_(log), memory_(options) {
    std::shared_ptr<rocksdb::FileSystem> beneath =
        options.vault != nullptr ? options.vault->file_system() : options.file_system;
    file_system_ = std::make_shared<LogFileSystem>(beneath != nullptr ? beneath : DiskFileSystem());
    env_ = rocksdb::NewCompositeEnv(file_system_);
    spaces_.emplace_back(rocksdb::kDefaultColumnFamilyName, MakeUnusedSpaceOptions());
    for (int i = 0; i < kSpaces; ++i) {
      auto space = static_cast<Space>(i);
      spaces_.emplace_back(std::string(SpaceName(space)), MakeSpaceOptions(space, options, memory_.cache));
    }
  }

  Result<std::unique_ptr<Kv>> Run() {
    rocksdb::DBOptions db_options = MakeDbOptions(options_);
    rocksdb::Status status = Open(&db_options, SequenceGuard::Gaps::kEndRecovery);
    if (std::optional<uint64_t> missing = MissingLog(status); missing && *missing < FirstNeededLog()) {
      // The manifest names a log that nothing needs any more (docs/rocksdb.md, 3).
      HF_LOG(log_, kWarning,
             "the manifest names a log that is gone and that nothing needs; opening without it",
             {"log", *missing});
      db_options.track_and_verify_wals_in_manifest = false;
      status = Open(&db_options, SequenceGuard::Gaps::kRefuse);
    }
    if (!status.ok()) return ToError(status);
    Result<LogLife> life = LogLife{.first_sequence = db_->GetLatestSequenceNumber() + 1};
    if (options_.followed_by_clock != nullptr)
      life = LifeOf(db_.get(), *guard_);
    else
      DeleteOldLogs(file_system_.get(), options_.directory);
    if (!life) {
      for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle);
      return life.error();
    }
    return std::unique_ptr<Kv>(std::make_unique<RocksDbKv>(file_system_, options_, log_, std::move(env_),
                                                           std::move(guard_), std::move(db_),
                                                           std::move(handles_), memory_, *life));
  }

 private:
  // The first log that holds anything no table has yet; 0 when that cannot be told. Asks a secondary
  // instance, the one kind that neither writes nor verifies the logs.
  uint64_t FirstNeededLog() {
    rocksdb::DBOptions db_options = MakeDbOptions(options_);
    db_options.info_log = std::make_shared<LogBridge>(log_);
    db_options.env = env_.get();
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    if (!rocksdb::DB::OpenAsSecondary(db_options, options_.directory, options_.directory, spaces_, &handles,
                                      &opened)
             .ok())
      return 0;
    std::unique_ptr<rocksdb::DB> db(opened);
    uint64_t first = 0;
    if (!db->GetIntProperty(rocksdb::DB::Properties::kMinLogNumberToKeep, &first)) first = 0;
    for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
    return first;
  }

  rocksdb::Status Open(rocksdb::DBOptions* db_options, SequenceGuard::Gaps gaps) {
    guard_ = std::make_unique<SequenceGuard>(file_system_, gaps);
    db_options->info_log = std::make_shared<LogBridge>(log_);
    db_options->env = env_.get();
    db_options->wal_filter = guard_.get();
    db_options->write_buffer_manager = memory_.write_buffers;
    handles_.clear();
    rocksdb::DB* db = nullptr;
    rocksdb::Status status = rocksdb::DB::Open(*db_options, options_.directory, spaces_, &handles_, &db);
    db_.reset(db);
    return status;
  }

  const RocksDbOptions& options_;
  const base::Log& log_;
  const SharedMemory memory_;
  std::shared_ptr<LogFileSystem> file_system_;
  std::unique_ptr<rocksdb::Env> env_;
  std::vector<rocksdb::ColumnFamilyDescriptor> spaces_;
  std::unique_ptr<SequenceGuard> guard_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

Result<std::unique_ptr<Kv>> OpenRocksDbKv(const RocksDbOptions& options, const base::Log& log) {
  return Opening(options, log).Run();
}

}  // namespace holdfast::storage
