// Backups of tables on demand: a segment each, and a record in the catalog that names it.
//
// The segment is written in the background from one state of the store, so that it is consistent however much
// is written meanwhile. The record is written when the segment is safe: after a crash a backup is there
// whole, or not at all. Segments that no record names are thrown away at the next start.
//
// Thread-safe. One thread makes the backups, in order.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/backup/segment.h"
#include "engine/backup/table_jobs.h"
#include "engine/catalog/catalog.h"
#include "engine/commit/view.h"
#include "engine/job_thread.h"
#include "holdfast/ops/backup.h"

namespace holdfast::engine {

class Engine;

struct Backup {
  std::string id;  // "01489602797149-73d8d5bc": later ones are greater
  std::string name;
  BackupType type = BackupType::kUser;
  BackupStatus status = BackupStatus::kCreating;
  int64_t created_millis = 0;
  int64_t expires_millis = 0;  // 0: never
  SchemaPtr table;             // as it was
  SegmentCounts counts;        // while it is being made: as far as known
  std::string file;
};

class Backups {
 public:
  explicit Backups(Engine* engine) : engine_(engine), thread_("backups") {}

  // Of the state that is published now. Returns when the making has begun; once that is durable there will be
  // a backup. One that a stop or a crash cuts short is begun anew at the next start, of the state then.
  Result<Backup> Create(const TablePtr& table, std::string name);
  // Takes up what the last run began.
  Status Resume();
  // Whether backups of the table have to be made before it may be dropped: its last one, or some under way.
  bool ComeFirst(const TableSchema& table) const;
  // Drops a table that is DELETING behind those backups. Without them it stays: to be called again now and
  // then, which does nothing while it is under way. Returns at once.
  void DropBehind(const TablePtr& table);
  Result<Backup> Find(const std::string& id) const;
  // Up to `limit` of those that `wanted` accepts, oldest first, from after the id `after`.
  Result<std::vector<Backup>> List(const std::string& after, size_t limit,
                                   const std::function<bool(const Backup&)>& wanted) const;
  // Returns when it is gone for good. kBackupInUse: it is being made, or held.
  Result<Backup> Delete(const std::string& id);
  // Deletes what has expired: backups that the database made itself are kept for 35 days. Tries again what
  // has failed.
  Status Maintain();

  // Whoever restores from a backup holds it, so that nobody deletes it meanwhile.
  Result<Backup> Hold(const std::string& id);
  void Release(const std::string& id);

  // Deletes segments that are neither of a backup nor among `others`. Nothing may be in the making.
  Status DeleteStrayFiles(const std::set<std::string>& others);

  // Where segments are written, one at a time.
  JobThread& thread() { return thread_; }

 private:
  struct Making {
    Backup backup;
    View view;
    std::optional<int64_t> failed_millis;  // when; it will be tried again
  };

  Backup NewBackup(const TablePtr& table, std::string name, BackupType type) const;
  bool IsMaking(ObjectId table) const;
  void Queue(const std::string& id);
  void Run(const std::string& id);
  Status Make(Backup backup, const View& view);
  Status BackUpAndDrop(const TablePtr& table);
  Status Save(const Backup& backup);
  void RetryFailed();
  Status DeleteExpired();
  // Returns when the next one expires.
  Result<int64_t> DeleteExpiredBy(int64_t now_millis);
  Result<Backup> Read(const std::string& id) const;
  Status ForEach(const std::string& after, const std::function<bool(Backup)>& visit) const;

  Engine* const engine_;
  mutable base::Mutex mu_;
  std::map<std::string, Making> making_ HF_GUARDED_BY(mu_);
  std::map<std::string, int> held_ HF_GUARDED_BY(mu_);  // by how many
  TableJobs dropping_ HF_GUARDED_BY(mu_);
  int64_t next_expiry_millis_ HF_GUARDED_BY(mu_) = 0;  // none expires before; 0: nobody has looked
  JobThread thread_;                                   // goes first
};

}  // namespace holdfast::engine
