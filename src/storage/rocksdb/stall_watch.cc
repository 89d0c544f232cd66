#include "storage/rocksdb/stall_watch.h"

#include <chrono>

#include "base/thread.h"

namespace holdfast::storage {
namespace {

constexpr std::chrono::milliseconds kInterval{500};

uint64_t Property(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* handle, const std::string& name) {
  uint64_t value = 0;
  return db->GetIntProperty(handle, name, &value) ? value : 0;
}

}  // namespace

StallWatch::StallWatch(rocksdb::DB* db, std::vector<rocksdb::ColumnFamilyHandle*> handles,
                       const base::Log& log)
    : db_(db), handles_(std::move(handles)), log_(log), thread_([this] { Run(); }) {}

StallWatch::~StallWatch() {
  {
    base::MutexLock lock(&mu_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
}

void StallWatch::Run() {
  base::NameThread("stall-watch");
  auto next = std::chrono::steady_clock::now();
  while (true) {
    next += kInterval;
    {
      base::MutexLock lock(&mu_);
      while (!stopping_ && wake_.WaitUntil(&mu_, next)) {
      }
      if (stopping_) return;
    }
    base::RunContained(log_, "stall watch", [this] { Look(); });
  }
}

// Twice in a row, since a compaction may be about to start.
void StallWatch::Look() {
  bool stuck = IsStuck(db_, handles_);
  if (stuck && was_stuck_) {
    HF_LOG(log_, kWarning, "writes are stopped and no compaction runs; looking for compactions again");
    Kick(db_, handles_).PermitUncheckedError();
    stuck = false;
  }
  was_stuck_ = stuck;
}

bool StallWatch::IsStuck(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
  using Properties = rocksdb::DB::Properties;
  if (Property(db, handles[0], Properties::kIsWriteStopped) == 0) return false;
  return Property(db, handles[0], Properties::kNumRunningCompactions) == 0 &&
         Property(db, handles[0], Properties::kNumRunningFlushes) == 0;
}

rocksdb::Status StallWatch::Kick(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
  return db->EnableAutoCompaction(handles);
}

}  // namespace holdfast::storage
