#include "engine/backup/backups.h"

#include <algorithm>

#include "base/limits.h"
#include "engine/catalog/record.h"
#include "engine/commit/commit.h"
#include "engine/engine.h"

namespace holdfast::engine {
namespace {

constexpr int64_t kSystemBackupMillis = int64_t{35} * 24 * 3600 * 1000;

std::string Encode(const Backup& backup) {
  return std::move(Item{{"name", backup.name},
                        {"type", NameOf(backup.type)},
                        {"status", NameOf(backup.status)},
                        {"created", backup.created_millis},
                        {"expires", backup.expires_millis},
                        {"table", AttributeValue::Binary(EncodeSchema(*backup.table))},
                        {"items", backup.counts.items},
                        {"bytes", backup.counts.bytes},
                        {"file", backup.file}})
      .TakeFlat();
}

Result<Backup> Decode(std::string id, std::string bytes) {
  HF_TRY(CatalogRecord record, CatalogRecord::Read(std::move(bytes), "the record of a backup"));
  HF_TRY(TableSchema table, DecodeSchema(record.Text("table")));
  Backup backup;
  backup.id = std::move(id);
  backup.name = record.Text("name");
  backup.type = record.Enum("type", BackupType::kUser);
  backup.status = record.Enum("status", BackupStatus::kAvailable);
  backup.created_millis = record.Integer("created");
  backup.expires_millis = record.Integer("expires");
  backup.table = std::make_shared<const TableSchema>(std::move(table));
  backup.counts = {record.Unsigned("items"), record.Unsigned("bytes")};
  backup.file = record.Text("file");
  return backup;
}

Error NotFound(const std::string& id) {
  return Error(ErrorCode::kBackupNotFound, "Backup not found: " + id);
}

Error InUse(const std::string& id, std::string_view how) {
  return Error(ErrorCode::kBackupInUse, "Backup is being " + std::string(how) + ": " + id);
}

}  // namespace

Result<Backup> Backups::Create(const TablePtr& table, std::string name) {
  HF_CHECK_OK(engine_->committer().CheckSound());
  // Nobody drops the table between the look at it and the record that makes the drop wait.
  base::ReaderLock gate(&table->gate);
  if (table->dropped || table->schema()->status == TableStatus::kDeleting)
    return Error(ErrorCode::kTableNotFound, "Table not found: " + table->schema()->name);
  View view = engine_->NewView(Engine::Reads::kMany);
  Backup backup = NewBackup(table, std::move(name), BackupType::kUser);
  {
    base::MutexLock lock(&mu_);
    if (making_.size() >= limits::kBackupsAtOnceMax) {
      return Error(ErrorCode::kLimitExceeded, "Subscriber limit exceeded: at most " +
                                                  std::to_string(limits::kBackupsAtOnceMax) +
                                                  " backups can be created at the same time");
    }
    making_.emplace(backup.id, Making{backup, view, {}});
  }
  if (Status saved = Save(backup); !saved) {
    base::MutexLock lock(&mu_);
    making_.erase(backup.id);
    return saved.error();
  }
  Queue(backup.id);
  return backup;
}

Backup Backups::NewBackup(const TablePtr& table, std::string name, BackupType type) const {
  Backup backup;
  backup.name = std::move(name);
  backup.type = type;
  backup.created_millis = engine_->clock().NowMillis();
  if (type == BackupType::kSystem) backup.expires_millis = backup.created_millis + kSystemBackupMillis;
  backup.id = NewSegmentId(backup.created_millis, &engine_->random());
  backup.table = table->schema();
  backup.counts = {static_cast<uint64_t>(std::max<int64_t>(0, table->tally.count)),
                   static_cast<uint64_t>(std::max<int64_t>(0, table->tally.bytes))};
  backup.file = "backup-" + backup.id + ".segment";
  return backup;
}

Status Backups::Resume() {
  std::vector<Backup> unfinished;
  HF_CHECK_OK(ForEach("", [&](Backup backup) {
    if (backup.status == BackupStatus::kCreating) unfinished.push_back(std::move(backup));
    return true;
  }));
  for (Backup& backup : unfinished) {
    TablePtr table = engine_->catalog().Find(backup.table->name);
    if (table == nullptr || table->schema()->id != backup.table->id) {
      return Error(ErrorCode::kCorruption,
                   "the table " + backup.table->name + ", of which a backup is being made, is missing");
    }
    HF_LOG(engine_->log(), kInfo, "backup begins anew", {"table", backup.table->name},
           {"backup", backup.name});
    std::string id = backup.id;
    {
      base::MutexLock lock(&mu_);
      making_.emplace(id, Making{std::move(backup), engine_->NewView(Engine::Reads::kMany), {}});
    }
    Queue(id);
  }
  return Ok{};
}

void Backups::Queue(const std::string& id) {
  thread_.Add([this, id] { Run(id); });
}

void Backups::Run(const std::string& id) {
  std::optional<Making> making;
  {
    base::MutexLock lock(&mu_);
    auto found = making_.find(id);
    if (found == making_.end()) return;  // it failed, and was deleted
    making.emplace(found->second);
  }
  Status made = Make(making->backup, making->view);
  if (!made && thread_.stopping()) return;  // the next start takes it up
  base::MutexLock lock(&mu_);
  if (made)
    making_.erase(id);
  else
    making_.at(id).failed_millis = engine_->clock().NowMillis();
}

void Backups::RetryFailed() {
  int64_t now = engine_->clock().NowMillis();
  base::MutexLock lock(&mu_);
  for (auto& [id, making] : making_) {
    if (!making.failed_millis || !TableJobs::HasRested(*making.failed_millis, now)) continue;
    making.failed_millis.reset();
    Queue(id);
  }
}

Status Backups::Make(Backup backup, const View& view) {
  storage::Files* files = engine_->kv().files(storage::FileKind::kSegments);
  SegmentHeader header{view.commits().number, engine_->committer().last_time_millis(), backup.table};
  auto make = [&]() -> Status {
    HF_TRY(backup.counts, WriteSegment(files, backup.file, header, &engine_->kv(), view.snapshot(),
                                       [this] { return thread_.stopping(); }));
    backup.status = BackupStatus::kAvailable;
    HF_CHECK_OK(Save(backup));
    return engine_->committer().WaitDurable();
  };
  Status made = make();
  if (made) {
    HF_LOG(engine_->log(), kInfo, "backup made", {"table", backup.table->name}, {"backup", backup.name},
           {"items", backup.counts.items});
    return made;
  }
  if (!thread_.stopping()) {
    HF_LOG(engine_->log(), kError, "backup failed; trying again", {"table", backup.table->name},
           {"backup", backup.name}, {"error", made.error().ToString()});
  }
  // Not after a sync that failed: then nobody knows what the next start finds in its record.
  if (engine_->committer().CheckSound()) static_cast<void>(files->Delete(backup.file));
  return made;
}

bool Backups::IsMaking(ObjectId table) const {
  base::MutexLock lock(&mu_);
  return std::any_of(making_.begin(), making_.end(),
                     [&](const auto& making) { return making.second.backup.table->id == table; });
}

bool Backups::ComeFirst(const TableSchema& table) const {
  return table.recovery_days > 0 || IsMaking(table.id);
}

void Backups::DropBehind(const TablePtr& table) {
  ObjectId id = table->schema()->id;
  {
    base::MutexLock lock(&mu_);
    if (!dropping_.Begin(id, engine_->clock().NowMillis())) return;
  }
  thread_.Add([this, table, id] {
    Status dropped = BackUpAndDrop(table);
    bool failed = !dropped && !thread_.stopping() && !table->dropped;
    if (failed) {
      HF_LOG(engine_->log(), kError, "table not dropped, since there is no backup of it; trying again",
             {"table", table->schema()->name}, {"error", dropped.error().ToString()});
    }
    base::MutexLock lock(&mu_);
    if (failed)
      dropping_.Failed(id, engine_->clock().NowMillis());
    else
      dropping_.Succeeded(id);
  });
}

Status Backups::BackUpAndDrop(const TablePtr& table) {
  if (table->dropped) return Ok{};
  SchemaPtr schema = table->schema();
  // Those that were under way when the table was marked have had their turn on this thread.
  if (IsMaking(schema->id)) return Error(ErrorCode::kBackupInUse, "a backup of it has failed");
  if (schema->recovery_days > 0) {
    // What was written before the table was marked is in the view when it is durable.
    HF_CHECK_OK(engine_->committer().WaitDurable());
    View view = engine_->NewView(Engine::Reads::kMany);
    HF_CHECK_OK(Make(NewBackup(table, schema->name + "$DeletedTableBackup", BackupType::kSystem), view));
  }
  return engine_->DropTable(table);
}

Status Backups::Save(const Backup& backup) {
  Commit commit(&engine_->committer());
  commit.batch()->Put(storage::Space::kCatalog, BackupRecordKey(backup.id), Encode(backup));
  HF_CHECK_OK(commit.Write(storage::Wait::kMayBlock));
  if (backup.expires_millis != 0) {
    base::MutexLock lock(&mu_);
    next_expiry_millis_ = std::min(next_expiry_millis_, backup.expires_millis);
  }
  return Ok{};
}

Result<Backup> Backups::Read(const std::string& id) const {
  std::string bytes;
  HF_TRY(bool found, engine_->kv().Get(storage::Space::kCatalog, BackupRecordKey(id), nullptr,
                                       storage::Wait::kMayBlock, &bytes));
  if (!found) return NotFound(id);
  return Decode(id, std::move(bytes));
}

Result<Backup> Backups::Find(const std::string& id) const {
  {
    base::MutexLock lock(&mu_);
    if (auto making = making_.find(id); making != making_.end()) return making->second.backup;
  }
  return Read(id);
}

Status Backups::ForEach(const std::string& after, const std::function<bool(Backup)>& visit) const {
  std::string prefix = BackupRecordKey("");
  storage::Range range{BackupRecordKey(after) + '\0', prefix};
  range.upper.back() = static_cast<char>(range.upper.back() + 1);
  auto it = engine_->kv().Iterate(storage::Space::kCatalog, range, nullptr, storage::Wait::kMayBlock);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    HF_TRY(Backup backup, Decode(std::string(it->key().substr(prefix.size())), std::string(it->value())));
    if (!visit(std::move(backup))) return Ok{};
  }
  return it->status();
}

Result<std::vector<Backup>> Backups::List(const std::string& after, size_t limit,
                                          const std::function<bool(const Backup&)>& wanted) const {
  // One that is finished in between is found in both: it counts once.
  std::map<std::string, Backup> found;
  {
    base::MutexLock lock(&mu_);
    for (auto at = making_.upper_bound(after); at != making_.end(); ++at) {
      if (wanted(at->second.backup)) found.emplace(at->first, at->second.backup);
    }
  }
  size_t made = 0;
  HF_CHECK_OK(ForEach(after, [&](Backup backup) {
    if (wanted(backup)) {
      std::string id = backup.id;
      found.insert_or_assign(std::move(id), std::move(backup));
      ++made;
    }
    return made < limit;
  }));
  std::vector<Backup> listed;
  for (auto& [id, backup] : found) {
    if (listed.size() < limit) listed.push_back(std::move(backup));
  }
  return listed;
}

Result<Backup> Backups::Delete(const std::string& id) {
  Backup backup;
  {
    base::MutexLock lock(&mu_);
    auto making = making_.find(id);
    if (making != making_.end() && !making->second.failed_millis) return InUse(id, "created");
    HF_TRY(backup, Read(id));
    if (held_.contains(id)) return InUse(id, "restored from");
    Commit commit(&engine_->committer());
    commit.batch()->Delete(storage::Space::kCatalog, BackupRecordKey(id));
    HF_CHECK_OK(commit.Write(storage::Wait::kMayBlock));
    if (making != making_.end()) making_.erase(making);
  }
  HF_CHECK_OK(engine_->committer().WaitDurable());
  if (Status gone = engine_->kv().files(storage::FileKind::kSegments)->Delete(backup.file); !gone) {
    // The next start removes it.
    HF_LOG(engine_->log(), kWarning, "the file of a deleted backup stays", {"file", backup.file},
           {"error", gone.error().ToString()});
  }
  backup.status = BackupStatus::kDeleted;
  return backup;
}

Status Backups::Maintain() {
  RetryFailed();
  for (const TablePtr& table : engine_->catalog().All()) {
    SchemaPtr schema = table->schema();
    if (schema->status == TableStatus::kDeleting && ComeFirst(*schema)) DropBehind(table);
  }
  return DeleteExpired();
}

Status Backups::DeleteExpired() {
  int64_t now = engine_->clock().NowMillis();
  {
    base::MutexLock lock(&mu_);
    if (now < next_expiry_millis_) return Ok{};
    next_expiry_millis_ = INT64_MAX;
  }
  Result<int64_t> next = DeleteExpiredBy(now);
  {
    base::MutexLock lock(&mu_);
    // One that is in use now, or was made meanwhile, is looked at again; after a failure all are.
    next_expiry_millis_ = std::min(next_expiry_millis_, next ? *next : 0);
  }
  return next ? Status(Ok{}) : next.error();
}

Result<int64_t> Backups::DeleteExpiredBy(int64_t now_millis) {
  std::vector<std::string> expired;
  int64_t next = INT64_MAX;
  HF_CHECK_OK(ForEach("", [&](const Backup& backup) {
    if (backup.expires_millis == 0) return true;
    if (backup.expires_millis <= now_millis) expired.push_back(backup.id);
    next = std::min(next, backup.expires_millis);
    return true;
  }));
  for (const std::string& id : expired) {
    Result<Backup> deleted = Delete(id);
    if (!deleted && deleted.error().code() != ErrorCode::kBackupInUse) return deleted.error();
  }
  return next;
}

Result<Backup> Backups::Hold(const std::string& id) {
  base::MutexLock lock(&mu_);
  if (making_.contains(id)) return InUse(id, "created");
  HF_TRY(Backup backup, Read(id));
  ++held_[id];
  return backup;
}

void Backups::Release(const std::string& id) {
  base::MutexLock lock(&mu_);
  auto held = held_.find(id);
  if (held != held_.end() && --held->second == 0) held_.erase(held);
}

Status Backups::DeleteStrayFiles(const std::set<std::string>& others) {
  std::set<std::string> named = others;
  HF_CHECK_OK(ForEach("", [&](const Backup& backup) {
    if (backup.status == BackupStatus::kAvailable) named.insert(backup.file);
    return true;
  }));
  storage::Files* files = engine_->kv().files(storage::FileKind::kSegments);
  HF_TRY(std::vector<std::string> names, files->List());
  for (const std::string& name : names) {
    if (!named.contains(name)) HF_CHECK_OK(files->Delete(name));
  }
  return Ok{};
}

}  // namespace holdfast::engine
