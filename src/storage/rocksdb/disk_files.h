// The disk beneath a store, with reads that never wait for it: they have what the operating system holds in
// memory (preadv2 with RWF_NOWAIT), or nothing.
//
//   DoNotWait scope(wait == Wait::kNever);
//   status = db->Get(...);     // Incomplete where a block would have to come from the disk
//
// A block that left RocksDB's cache is often still in the system's: reading it there costs a few
// microseconds, handing the request to a thread that may wait costs more. Layers between RocksDB and the disk
// need not know of it.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>

namespace holdfast::storage {

// The operating system's files. Thread-safe, shared by all.
std::shared_ptr<rocksdb::FileSystem> DiskFileSystem();

// While one with `on` is there, reads of this thread through DiskFileSystem() never wait. They nest.
class DoNotWait {
 public:
  explicit DoNotWait(bool on) : before_(active_) { active_ = active_ || on; }
  ~DoNotWait() { active_ = before_; }
  DoNotWait(const DoNotWait&) = delete;
  DoNotWait& operator=(const DoNotWait&) = delete;

  static bool active() { return active_; }

 private:
  static inline constinit thread_local bool active_ = false;
  const bool before_;
};

}  // namespace holdfast::storage
