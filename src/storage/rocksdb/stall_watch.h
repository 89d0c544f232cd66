// Frees writes that RocksDB has stopped and forgotten. RocksDB 7.8 may find nothing to compact while a
// finished compaction still holds its files, and looks again only when something is written; where writes are
// stopped until a compaction has made room, that is never (docs/rocksdb.md, 5).
//
// One thread of its own. Must be gone before its database is.
#pragma once

#include <rocksdb/db.h>

#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"

namespace holdfast::storage {

class StallWatch {
 public:
  StallWatch(rocksdb::DB* db, std::vector<rocksdb::ColumnFamilyHandle*> handles, const base::Log& log);
  ~StallWatch();

  // Whether writes are stopped while nothing runs that could free them.
  static bool IsStuck(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles);
  // Makes RocksDB look for compactions again.
  static rocksdb::Status Kick(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles);

 private:
  void Run();
  void Look();

  rocksdb::DB* const db_;
  const std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  const base::Log& log_;
  bool was_stuck_ = false;  // the thread's own

  base::Mutex mu_;
  base::CondVar wake_;
  bool stopping_ HF_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace holdfast::storage
