// How RocksDB's write-ahead log meets the disk. Two things stand here because each needs the other:
//
// LogFileSystem writes zeros ahead of the log. A sync after a write over blocks that are already there moves
// data only; a sync after an append moves the file system's metadata too and costs about half as much again
// (docs/adr/0014).
//
// SequenceGuard makes that safe. RocksDB's log reader takes zeros for padding and reads on behind them, so a
// page that a power cut took out of the middle would go unnoticed and later writes would come back without
// earlier ones. The guard lets a record pass only if its sequence number is the next one.
//
// And when the log cannot be written or synced, nothing else may be: RocksDB would go on to flush what the
// log has lost and so keep half of a batch. From the first failure on every file refuses to change. RocksDB
// itself is not told by the log's files, since it asserts that nobody touches a log again that has reported
// an error, while writers and flushes race to do just that; it meets the refusal at its tables and manifest.
// log_error() tells us.
#pragma once

#include <rocksdb/file_system.h>
#include <rocksdb/wal_filter.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/mutex.h"

namespace holdfast::storage {

// Thread-safe. The files it hands out must not outlive it.
class LogFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit LogFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target) : FileSystemWrapper(target) {}

  const char* Name() const override { return "holdfast.LogFileSystem"; }

  // The first failure to write or sync a log; stays until the store is opened anew. Costs one load while
  // there is none.
  rocksdb::IOStatus log_error() const;

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  // Refuses to delete the manifest that CURRENT names (docs/rocksdb.md, 4).
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

  // Nothing may be changed from now on. Keeps the first reason.
  void Refuse(const rocksdb::IOStatus& reason) { Note(reason); }

 private:
  class LogFile;
  class OtherFile;

  // Returns OK always, having noted what `status` says.
  rocksdb::IOStatus Note(const rocksdb::IOStatus& status);

  mutable base::Mutex mu_;
  std::atomic<bool> log_failed_ = false;
  rocksdb::IOStatus log_error_ HF_GUARDED_BY(mu_);
};

// One recovery of one store; not thread-safe, as recovery is not concurrent.
//
// Requires: the logs that are read were all written since the last recovery (avoid_flush_during_recovery is
// off): a recovery may leave a gap between the numbers before it and after it.
class SequenceGuard final : public rocksdb::WalFilter {
 public:
  // What a record that does not follow its predecessor means: the end of what a power cut left, or, where a
  // log is known to be missing, damage. From damage on the file system refuses every change.
  enum class Gaps { kEndRecovery, kRefuse };

  explicit SequenceGuard(std::shared_ptr<LogFileSystem> file_system, Gaps gaps = Gaps::kEndRecovery)
      : file_system_(std::move(file_system)), gaps_(gaps) {}

  const char* Name() const override { return "holdfast.SequenceGuard"; }
  WalProcessingOption LogRecordFound(unsigned long long log_number, const std::string& log_file_name,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch* new_batch,
                                     bool* batch_changed) override;

  // Behind the last record that was let pass; 0 when there was none.
  uint64_t next_sequence() const { return next_sequence_; }

 private:
  // Whether the first record of the log is where it was written: behind a lost first page nothing can be
  // trusted.
  bool BeginsIntact(const std::string& log_file_name) const;

  const std::shared_ptr<LogFileSystem> file_system_;
  const Gaps gaps_;
  uint64_t next_sequence_ = 0;  // 0: no record has been seen yet
};

}  // namespace holdfast::storage
