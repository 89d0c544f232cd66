// A Kv on RocksDB: one column family per space, one write-ahead log, synced only by Sync().
//
// The log is buffered in the process until Sync() unless told otherwise: a commit group costs one write and
// one fdatasync. Recovery takes the longest intact prefix of the log, so that what survives a power cut is
// always a state the store has been in. RocksDB's own warnings go to `log`.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "storage/kv.h"

namespace rocksdb {
class FileSystem;
}

namespace holdfast::storage {

class Vault;

struct RocksDbOptions {
  std::string directory;
  // Refuse to open where there is no store yet: an empty answer must never stand in for lost data.
  bool must_exist = false;
  size_t cache_bytes = 128 << 20;
  // Of each of the large spaces; the small ones take an eighth.
  size_t write_buffer_bytes = 16 << 20;
  // Where tables are cut, and when a new manifest is begun.
  size_t table_bytes = 32 << 20;
  size_t manifest_bytes = 16 << 20;
  // Hold the log in the process until Sync(). Off: each Write() hands it to the operating system, where it
  // outlives the process.
  bool buffer_log = true;
  // For Follow(): the time of every batch goes into the log, and the log stays until a follower releases it.
  // Null: nobody will follow.
  const base::Clock* followed_by_clock = nullptr;
  // Beneath every file RocksDB touches; null for the operating system's.
  std::shared_ptr<rocksdb::FileSystem> file_system;
  // Has the file system, and may encrypt; null for a store that never does.
  std::shared_ptr<Vault> vault;
};

Result<std::unique_ptr<Kv>> OpenRocksDbKv(const RocksDbOptions& options, const base::Log& log);

}  // namespace holdfast::storage
