// Follows RocksDB's write-ahead log while it is being written.
//
// RocksDB can do this itself (GetUpdatesSince), but its reader takes our zeros ahead of the log for the end
// of the file, starts from the file's beginning each time, and reports records that are only half written yet
// as damage. This one keeps its place, reads nothing behind the last sync, and waits where the zeros begin.
//
// A log file is a row of blocks of 32 KiB. A physical record is u32 masked CRC-32C of what follows the length
// ‖ u16 length ‖ type ‖ payload (little-endian; types 1 whole, 2 first, 3 middle, 4 last part) and never
// crosses a block; fewer than seven bytes at the end of a block are zeros. The payload is a WriteBatch: u64
// sequence ‖ u32 count ‖ entries.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "storage/kv.h"

namespace holdfast::storage {

// The stamp that Kv::Write puts at the end of each batch when the log is to be followed, in an entry that the
// log alone keeps: the milliseconds since 1970, big-endian. Stored on disk: never change.
inline constexpr size_t kLogStampBytes = 8;

// What a recovery left of the log, by which one life of a store is told from the next: numbers may be given
// again that a power cut took, and numbers may be skipped.
struct LogLife {
  uint64_t first_log = 0;       // file number; those below it were written before
  uint64_t first_sequence = 0;  // of what is written in this life
  uint64_t recovered_end = 0;   // the first sequence that the lives before do not have
};

struct LogPlace {
  std::shared_ptr<rocksdb::FileSystem> file_system;
  std::string directory;
  LogLife life;
  const std::atomic<uint64_t>* synced = nullptr;  // the newest sequence that may be read
};

// Old logs stand here until they are released.
std::string OldLogDirectory(const std::string& directory);

std::unique_ptr<LogFollower> FollowLog(LogPlace place, uint64_t after);

}  // namespace holdfast::storage
