#include "engine/backup/recovery.h"

#include <algorithm>

#include "engine/backup/backups.h"
#include "engine/catalog/record.h"
#include "engine/commit/commit.h"
#include "engine/engine.h"

namespace holdfast::engine {
namespace {

constexpr int64_t kDaySeconds = 24 * 3600;
constexpr int64_t kBaseDaysMax = 7;

}  // namespace

std::string Recovery::Encode(const Bases& bases) {
  std::vector<AttributeValue> list;
  for (const Base& base : bases) {
    list.push_back(AttributeValue::Map(
        {{"file", base.file}, {"number", base.number}, {"time", base.time_millis}, {"items", base.items}}));
  }
  return std::move(Item{{"bases", AttributeValue::List(std::move(list))}}).TakeFlat();
}

Result<Recovery::Bases> Recovery::Decode(std::string bytes) {
  HF_TRY(CatalogRecord record, CatalogRecord::Read(std::move(bytes), "a record of point-in-time recovery"));
  Bases bases;
  for (const AttributeValue& element : record.Elements("bases")) {
    CatalogRecord base(element);
    bases.push_back(
        {base.Text("file"), base.Unsigned("number"), base.Integer("time"), base.Unsigned("items")});
  }
  return bases;
}

Result<std::set<std::string>> Recovery::Load() {
  HF_TRY(std::vector<std::string> names, engine_->kv().files(storage::FileKind::kSegments)->List());
  std::set<std::string> there(names.begin(), names.end()), files;
  for (const TablePtr& table : engine_->catalog().All()) {
    SchemaPtr schema = table->schema();
    if (schema->recovery_days == 0) continue;
    std::string bytes;
    HF_TRY(bool found, engine_->kv().Get(storage::Space::kCatalog, RecoveryRecordKey(schema->id), nullptr,
                                         storage::Wait::kMayBlock, &bytes));
    Bases bases;
    if (found) {
      HF_TRY(bases, Decode(std::move(bytes)));
    }
    // An archive from which the store was restored may not have had them yet.
    std::erase_if(bases, [&](const Base& base) {
      if (there.contains(base.file)) return false;
      HF_LOG(engine_->log(), kError, "point-in-time recovery: a base segment is missing",
             {"table", schema->name}, {"file", base.file});
      return true;
    });
    for (const Base& base : bases) files.insert(base.file);
    // Without a base what is logged from now on counts: the first one is made by the next Maintain.
    uint64_t after = bases.empty() ? engine_->committer().begun_number() : bases.front().number;
    engine_->change_log().Keep(schema->id, Consumer::kRecovery, after);
    base::MutexLock lock(&mu_);
    bases_[schema->id] = std::move(bases);
  }
  return files;
}

Recovery::Bases Recovery::BasesOf(ObjectId table) const {
  base::MutexLock lock(&mu_);
  auto found = bases_.find(table);
  return found == bases_.end() ? Bases() : found->second;
}

Status Recovery::Enable(const TablePtr& table, int64_t days) {
  base::MutexLock control(&control_mu_);
  // With the gate closed the log begins: every write is either in the first base, or in the log.
  HF_CHECK_OK(engine_->ChangeSchema(table, [&](TableSchema* schema) -> Status {
    schema->recovery_days = days;
    return Ok{};
  }));
  if (BasesOf(table->schema()->id).empty()) MakeBaseSoon(table);
  return Ok{};
}

Status Recovery::Disable(const TablePtr& table) {
  base::MutexLock control(&control_mu_);
  ObjectId id = table->schema()->id;
  if (engine_->restorer().ReadsLogOf(id)) {
    return Error(
        ErrorCode::kContinuousBackupsUnavailable,
        "A table is being restored from the table: " + table->schema()->name + ". Please retry later");
  }
  HF_CHECK_OK(engine_->ChangeSchema(table, [&](TableSchema* schema) -> Status {
    schema->recovery_days = 0;
    return Ok{};
  }));
  Forget(id);
  return Ok{};
}

void Recovery::Forget(ObjectId table) {
  std::vector<std::string> files;
  {
    base::MutexLock lock(&mu_);
    for (const Base& base : bases_[table]) files.push_back(base.file);
    bases_.erase(table);
    making_.Forget(table);
  }
  DeleteLater(std::move(files));
}

void Recovery::DeleteLater(std::vector<std::string> files) {
  if (files.empty()) return;
  engine_->backups().thread().Add([this, files = std::move(files)] {
    // What is left over the next start removes.
    if (!engine_->committer().WaitDurable()) return;
    for (const std::string& file : files)
      static_cast<void>(engine_->kv().files(storage::FileKind::kSegments)->Delete(file));
  });
}

std::optional<Recovery::Window> Recovery::WindowOf(const TableSchema& table) const {
  Bases bases = BasesOf(table.id);
  if (table.recovery_days == 0 || bases.empty()) return std::nullopt;
  int64_t now = engine_->clock().NowSeconds();
  int64_t first = bases.front().time_millis / 1000;
  return Window{std::max(first, now - table.recovery_days * kDaySeconds), std::max(first, now)};
}

std::optional<Recovery::Window> Recovery::WaitForWindow(const TablePtr& table,
                                                        std::chrono::milliseconds patience) {
  auto deadline = std::chrono::steady_clock::now() + patience;
  ObjectId id = table->schema()->id;
  {
    base::MutexLock lock(&mu_);
    while (making_.IsUnderWay(id) && bases_[id].empty() && made_.WaitUntil(&mu_, deadline)) {
    }
  }
  return WindowOf(*table->schema());
}

// --- bases ---

void Recovery::MakeBaseSoon(const TablePtr& table) {
  ObjectId id = table->schema()->id;
  {
    base::MutexLock lock(&mu_);
    if (!making_.Begin(id, engine_->clock().NowMillis())) return;
  }
  engine_->backups().thread().Add([this, table, id] {
    Status made = MakeBase(table);
    bool failed = !made && !engine_->backups().thread().stopping();
    if (failed) {
      HF_LOG(engine_->log(), kError, "point-in-time recovery: no base segment",
             {"table", table->schema()->name}, {"error", made.error().ToString()});
    }
    base::MutexLock lock(&mu_);
    if (failed)
      making_.Failed(id, engine_->clock().NowMillis());
    else
      making_.Succeeded(id);
    made_.NotifyAll();
  });
}

Status Recovery::MakeBase(const TablePtr& table) {
  JobThread& thread = engine_->backups().thread();
  ObjectId id = table->schema()->id;
  // A commit that was under way when the log began may hold the number back.
  std::optional<View> view;
  while (!view) {
    std::optional<uint64_t> logged_after = engine_->change_log().KeptAfter(id, Consumer::kRecovery);
    if (!logged_after || thread.stopping()) return Ok{};  // switched off again, or closing
    HF_CHECK_OK(engine_->committer().WaitDurable());
    view = engine_->NewView(Engine::Reads::kMany);
    if (view->commits().number >= *logged_after) break;
    view.reset();
    thread.Sleep(std::chrono::milliseconds(1));
  }
  // No commit in the view is later than one that begins now.
  HF_TRY(Stamp stamp, TakeStamp());
  Base base{.number = view->commits().number, .time_millis = stamp.time_millis};
  base.file =
      "base-" + std::to_string(id) + "-" + NewSegmentId(stamp.time_millis, &engine_->random()) + ".segment";
  storage::Files* files = engine_->kv().files(storage::FileKind::kSegments);
  Result<SegmentCounts> counts =
      WriteSegment(files, base.file, {base.number, base.time_millis, table->schema()}, &engine_->kv(),
                   view->snapshot(), [&] { return thread.stopping(); });
  if (!counts) {
    static_cast<void>(files->Delete(base.file));
    return counts.error();
  }
  base.items = counts->items;
  Result<bool> added = AddBase(table, base);
  // Not after a sync that failed: then nobody knows whether the next start finds a record of it.
  if (!added && engine_->committer().CheckSound()) static_cast<void>(files->Delete(base.file));
  if (!added) return added.error();
  return *added ? engine_->committer().WaitDurable() : files->Delete(base.file);
}

// The number and time of a commit that writes nothing.
Result<Stamp> Recovery::TakeStamp() {
  Commit commit(&engine_->committer());
  HF_TRY(Stamp stamp, commit.Begin());
  HF_CHECK_OK(commit.Write(storage::Wait::kMayBlock));
  return stamp;
}

Result<bool> Recovery::AddBase(const TablePtr& table, const Base& base) {
  base::MutexLock control(&control_mu_);
  // Whoever drops the table, or switches recovery off, deletes the record: this must not come after that.
  // Nor may it come after a log that has been begun anew since.
  base::ReaderLock gate(&table->gate);
  ObjectId id = table->schema()->id;
  std::optional<uint64_t> logged_after = engine_->change_log().KeptAfter(id, Consumer::kRecovery);
  bool wanted = !table->dropped && table->schema()->recovery_days > 0 &&
                logged_after.value_or(UINT64_MAX) <= base.number;
  if (!wanted) return false;
  Bases bases = BasesOf(id);
  bases.push_back(base);
  HF_CHECK_OK(Save(id, bases));
  return true;
}

Status Recovery::Save(ObjectId table, const Bases& bases) {
  Commit commit(&engine_->committer());
  commit.batch()->Put(storage::Space::kCatalog, RecoveryRecordKey(table), Encode(bases));
  HF_CHECK_OK(commit.Write(storage::Wait::kMayBlock));
  base::MutexLock lock(&mu_);
  bases_[table] = bases;
  made_.NotifyAll();
  return Ok{};
}

Status Recovery::Maintain() {
  base::MutexLock control(&control_mu_);
  for (const TablePtr& table : engine_->catalog().All()) {
    SchemaPtr schema = table->schema();
    if (schema->recovery_days == 0 || schema->status == TableStatus::kDeleting) continue;
    Bases bases = BasesOf(schema->id);
    int64_t interval = std::min(kBaseDaysMax, schema->recovery_days) * kDaySeconds * 1000;
    if (bases.empty() || bases.back().time_millis + interval <= engine_->clock().NowMillis())
      MakeBaseSoon(table);
    // A restore may be reading what would go.
    if (bases.size() > 1 && !engine_->restorer().ReadsLogOf(schema->id)) HF_CHECK_OK(DropOld(table));
  }
  return Ok{};
}

Status Recovery::DropOld(const TablePtr& table) {
  std::vector<std::string> needless;
  ObjectId id = table->schema()->id;
  uint64_t first = 0;  // the log is needed after this commit
  {
    base::ReaderLock gate(&table->gate);
    SchemaPtr schema = table->schema();
    if (table->dropped || schema->recovery_days == 0) return Ok{};
    int64_t start = engine_->clock().NowSeconds() - schema->recovery_days * kDaySeconds;
    Bases bases = BasesOf(id);
    while (bases.size() > 1 && bases[1].Serves(start)) {
      needless.push_back(bases[0].file);
      bases.erase(bases.begin());
    }
    if (needless.empty()) return Ok{};
    first = bases.front().number;
    HF_CHECK_OK(Save(id, bases));
  }
  HF_CHECK_OK(engine_->committer().WaitDurable());
  {
    // The table may be gone by now: then its log must not be kept again.
    base::ReaderLock gate(&table->gate);
    if (!table->dropped && table->schema()->recovery_days > 0)
      engine_->change_log().Keep(id, Consumer::kRecovery, first);
  }
  DeleteLater(std::move(needless));
  return Ok{};
}

// --- restores ---

Result<TablePtr> Recovery::Restore(const TablePtr& source, std::optional<int64_t> second, TableSchema target,
                                   RestoredFrom from) {
  base::MutexLock control(&control_mu_);
  SchemaPtr schema = source->schema();
  if (schema->recovery_days == 0) {
    return Error(ErrorCode::kPointInTimeRecoveryUnavailable,
                 "Point in time recovery is not enabled for table '" + schema->name + "'");
  }
  std::optional<Window> window = WindowOf(*schema);
  if (!window) {
    return Error(
        ErrorCode::kPointInTimeRecoveryUnavailable,
        "Point in time recovery is being enabled for table '" + schema->name + "'. Please retry later");
  }
  if (second && (*second < window->earliest_seconds || *second > window->latest_seconds)) {
    return Error(ErrorCode::kInvalidRestoreTime,
                 "An invalid restore time was specified. RestoreDateTime must be between "
                 "EarliestRestorableDateTime and LatestRestorableDateTime.");
  }
  // Whatever was answered by now began before this.
  HF_TRY(Stamp now, TakeStamp());
  Bases bases = BasesOf(schema->id);
  // Somebody may have dropped the table since.
  if (bases.empty()) return Error(ErrorCode::kTableNotFound, "Table not found: " + schema->name);
  auto base = bases.rbegin();
  while (second && !base->Serves(*second)) ++base;
  RestorePlan plan{.file = base->file,
                   .items = base->items,
                   .log_of = schema->id,
                   .after = base->number,
                   .until = now.number,
                   .before_millis = second ? (*second + 1) * 1000 : INT64_MAX};
  from.time_millis = second ? *second * 1000 : now.time_millis;
  from.in_progress = true;
  target.restored_from = std::move(from);
  return engine_->restorer().Start(std::move(target), plan, source.get());
}

}  // namespace holdfast::engine
