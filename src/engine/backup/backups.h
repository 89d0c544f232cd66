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
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/backup/segment.h"
#include "engine/backup/table_jobs.h"
#include "engine/catalog/catalog.h"
#include "engine/job_thread.h"
#include "holdfast/ops/backup.h"

namespace holdfast::engine {

class Engine;
class View;

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

  // Of the state that is published now. Returns when the making has begun.
  Result<Backup> Create(const TablePtr& table, std::string name, BackupType type = BackupType::kUser);
  // Makes a last backup of a table that is DELETING, for good, and then drops it. Without the backup it
  // stays: to be called again now and then, which does nothing while it is under way. Returns at once.
  void DropBehindBackup(const TablePtr& table);
  Result<Backup> Find(const std::string& id) const;
  // Up to `limit` of those that `wanted` accepts, oldest first, from after the id `after`.
  Result<std::vector<Backup>> List(const std::string& after, size_t limit,
                                   const std::function<bool(const Backup&)>& wanted) const;
  // Returns when it is gone for good. kBackupInUse: it is being made, or held.
  Result<Backup> Delete(const std::string& id);
  // Deletes what has expired: backups that the database made itself are kept for 35 days.
  Status DeleteExpired();

  // Whoever restores from a backup holds it, so that nobody deletes it meanwhile.
  Result<Backup> Hold(const std::string& id);
  void Release(const std::string& id);

  // Deletes segments that are neither of a backup nor among `others`. Nothing may be in the making.
  Status DeleteStrayFiles(const std::set<std::string>& others);

  // Where segments are written, one at a time.
  JobThread& thread() { return thread_; }

 private:
  // From here on the backup is found, as one in the making. kLimitExceeded: users wait for too many.
  Result<Backup> Begin(const TablePtr& table, std::string name, BackupType type);
  Status BackUpAndDrop(const TablePtr& table);
  void Make(Backup backup, const View& view);
  Status Save(const Backup& backup);
  // Returns when the next one expires.
  Result<int64_t> DeleteExpiredBy(int64_t now_millis);
  Result<Backup> Read(const std::string& id) const;
  Status ForEach(const std::string& after, const std::function<bool(Backup)>& visit) const;

  Engine* const engine_;
  mutable base::Mutex mu_;
  std::map<std::string, Backup> making_ HF_GUARDED_BY(mu_);
  std::map<std::string, int> held_ HF_GUARDED_BY(mu_);  // by how many
  TableJobs dropping_ HF_GUARDED_BY(mu_);
  int64_t next_expiry_millis_ HF_GUARDED_BY(mu_) = 0;  // none expires before; 0: nobody has looked
  JobThread thread_;                                   // goes first
};

}  // namespace holdfast::engine
