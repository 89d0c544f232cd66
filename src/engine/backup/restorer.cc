#include "engine/backup/restorer.h"

#include <algorithm>

#include "base/limits.h"
#include "engine/backup/backups.h"
#include "engine/catalog/record.h"
#include "engine/commit/commit.h"
#include "engine/engine.h"
#include "engine/index/vector_value.h"

namespace holdfast::engine {
namespace {

// Steps between two syncs: what a power cut makes to be done again.
constexpr uint64_t kStepsPerSync = 64;
// Of the log, in one step.
constexpr size_t kStepRecords = 1024;
constexpr size_t kStepBytes = 1 << 20;
constexpr auto kTellInterval = std::chrono::seconds(10);

}  // namespace

std::string Restorer::Encode(const Job& job) {
  return std::move(Item{{"file", job.plan.file},
                        {"file_items", job.plan.items},
                        {"backup", job.plan.backup_id},
                        {"log_of", job.plan.log_of},
                        {"after", job.plan.after},
                        {"until", job.plan.until},
                        {"before", job.plan.before_millis},
                        {"key", AttributeValue::Binary(job.key)},
                        {"in_log", job.in_log},
                        {"number", job.at.commit_number},
                        {"ordinal", job.at.ordinal},
                        {"items", job.items},
                        {"filled", job.filled}})
      .TakeFlat();
}

Result<Restorer::Job> Restorer::Decode(std::string bytes) {
  HF_TRY(CatalogRecord record, CatalogRecord::Read(std::move(bytes), "the record of a restore"));
  Job job;
  job.plan.file = record.Text("file");
  job.plan.items = record.Unsigned("file_items");
  job.plan.backup_id = record.Text("backup");
  job.plan.log_of = static_cast<ObjectId>(record.Integer("log_of"));
  job.plan.after = record.Unsigned("after");
  job.plan.until = record.Unsigned("until");
  job.plan.before_millis = record.Integer("before");
  job.key = record.Text("key");
  job.in_log = record.Flag("in_log");
  job.at = {record.Unsigned("number"), static_cast<uint32_t>(record.Integer("ordinal"))};
  if (record.Find("in_log") == nullptr && record.Integer("shard") >= 0) {
    // Of format 1, which took one shard after the other: all of the log once more ends in the same state.
    job.in_log = true;
    job.at = {job.plan.after, UINT32_MAX};
  }
  job.items = record.Unsigned("items");
  job.filled = record.Flag("filled");
  return job;
}

Result<TablePtr> Restorer::Start(TableSchema schema, const RestorePlan& plan, const Table* source) {
  HF_ASSERT(schema.restoring());
  schema.status = TableStatus::kCreating;
  {
    base::MutexLock lock(&mu_);
    if (states_.size() >= limits::kRestoresAtOnceMax) {
      return Error(ErrorCode::kLimitExceeded, "Subscriber limit exceeded: at most " +
                                                  std::to_string(limits::kRestoresAtOnceMax) +
                                                  " tables can be restored at the same time");
    }
  }
  Job job;
  job.plan = plan;
  // Table and job come about together: neither is ever there without the other. And from here on nobody drops
  // the source.
  ObjectId id = 0;
  Result<TablePtr> table = engine_->CreateTable(
      std::move(schema), [&](const TableSchema& created, storage::Batch* batch) -> Status {
        // One that is DELETING waits for nothing but to be dropped.
        if (source != nullptr && (source->dropped || source->schema()->status == TableStatus::kDeleting))
          return Error(ErrorCode::kTableNotFound, "Table not found: " + source->schema()->name);
        batch->Put(storage::Space::kCatalog, RestoreJobKey(created.id), Encode(job));
        id = created.id;
        base::MutexLock lock(&mu_);
        states_[id] = {{created.name, 0, ""}, plan};
        return Ok{};
      });
  if (!table) {
    base::MutexLock lock(&mu_);
    states_.erase(id);
    return table.error();
  }
  Queue(*table, std::move(job));
  return table;
}

Status Restorer::Resume() {
  for (const TablePtr& table : engine_->catalog().All()) {
    SchemaPtr schema = table->schema();
    if (!schema->restoring()) continue;
    std::string bytes;
    HF_TRY(bool found, engine_->kv().Get(storage::Space::kCatalog, RestoreJobKey(schema->id), nullptr,
                                         storage::Wait::kMayBlock, &bytes));
    if (!found)
      return Error(ErrorCode::kCorruption, "the record of the restore of " + schema->name + " is missing");
    HF_TRY(Job job, Decode(std::move(bytes)));
    if (!job.filled) {
      base::MutexLock lock(&mu_);
      states_[schema->id] = {{schema->name, 0, ""}, job.plan};
    }
    if (!job.filled && !job.plan.backup_id.empty()) {
      Result<Backup> held = engine_->backups().Hold(job.plan.backup_id);
      if (!held) {
        HF_LOG(engine_->log(), kError, "the backup of a restore is missing", {"table", schema->name},
               {"error", held.error().ToString()});
      }
    }
    Queue(table, std::move(job));
  }
  return Ok{};
}

void Restorer::Queue(const TablePtr& table, Job job) {
  thread_.Add([this, table, job = std::move(job)] { Run(table, job); });
}

std::vector<Restorer::Progress> Restorer::progress() const {
  base::MutexLock lock(&mu_);
  std::vector<Progress> all;
  for (const auto& [id, state] : states_) all.push_back(state.progress);
  return all;
}

bool Restorer::HasFailed(ObjectId table) const {
  base::MutexLock lock(&mu_);
  auto found = states_.find(table);
  return found != states_.end() && !found->second.progress.fault.empty();
}

bool Restorer::ReadsLogOf(ObjectId table) const {
  base::MutexLock lock(&mu_);
  return std::any_of(states_.begin(), states_.end(),
                     [&](const auto& state) { return state.second.plan.log_of == table; });
}

void Restorer::Forget(ObjectId table) {
  std::string backup;
  {
    base::MutexLock lock(&mu_);
    auto found = states_.find(table);
    if (found == states_.end()) return;
    backup = found->second.plan.backup_id;
    states_.erase(found);
  }
  if (!backup.empty()) engine_->backups().Release(backup);
}

void Restorer::Note(ObjectId table, const Job& job) {
  // The segment counts for nine tenths where there is a log.
  double share =
      job.plan.items == 0 ? 0 : static_cast<double>(job.items) / static_cast<double>(job.plan.items);
  share = std::min(share, 1.0) * (job.plan.log_of == 0 ? 1 : 0.9);
  if (job.in_log && job.plan.until > job.plan.after) {
    share = 0.9 + 0.1 * static_cast<double>(job.at.commit_number - job.plan.after) /
                      static_cast<double>(job.plan.until - job.plan.after);
  }
  std::string name;
  {
    base::MutexLock lock(&mu_);
    auto found = states_.find(table);
    if (found == states_.end()) return;
    found->second.progress.share = share;
    name = found->second.progress.table;
  }
  auto now = std::chrono::steady_clock::now();
  if (now - told_ < kTellInterval) return;
  told_ = now;
  HF_LOG(engine_->log(), kInfo, "restoring", {"table", name}, {"items", job.items},
         {"percent", static_cast<int>(share * 100)});
}

void Restorer::Run(const TablePtr& table, Job job) {
  SchemaPtr schema = table->schema();
  told_ = std::chrono::steady_clock::now();
  auto begun = told_;
  HF_LOG(engine_->log(), kInfo, job.items == 0 ? "restore begins" : "restore goes on",
         {"table", schema->name}, {"items", job.items});
  Status filled = Fill(table, &job);
  if (thread_.stopping()) return;
  if (table->dropped) return Forget(schema->id);
  if (!filled) {
    HF_LOG(engine_->log(), kError,
           "restore failed; the table is not usable: delete it, or mend the cause and restart",
           {"table", schema->name}, {"error", filled.error().ToString()});
    {
      // Of one that was filled the state was forgotten: a new one says that it failed, and holds nothing.
      base::MutexLock lock(&mu_);
      Progress& progress = states_[schema->id].progress;
      progress.table = schema->name;
      progress.fault = filled.error().ToString();
    }
    if (table->dropped) Forget(schema->id);
    return;
  }
  auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
  HF_LOG(engine_->log(), kInfo, "restored", {"table", schema->name}, {"items", job.items},
         {"millis", millis.count()});
  Forget(schema->id);
}

Status Restorer::Fill(const TablePtr& table, Job* job) {
  ObjectId id = table->schema()->id;
  if (!job->filled) {
    if (!job->in_log) HF_CHECK_OK(FillFromSegment(table, job));
    if (job->plan.log_of != 0 && !thread_.stopping()) HF_CHECK_OK(FillFromLog(table, job));
    if (thread_.stopping()) return Ok{};
    HF_CHECK_OK(MarkFilled(id, job));
  }
  // Whoever sees the table ACTIVE may delete what it came from.
  Forget(id);
  return Finish(table);
}

// From here on the job does not look at its source again, not even after a crash.
Status Restorer::MarkFilled(ObjectId table, Job* job) {
  job->filled = true;
  Commit commit(&engine_->committer());
  commit.batch()->Put(storage::Space::kCatalog, RestoreJobKey(table), Encode(*job));
  return commit.WriteDurably();
}

Status Restorer::FillFromSegment(const TablePtr& table, Job* job) {
  storage::Files* files = engine_->kv().files(storage::FileKind::kSegments);
  HF_TRY(std::unique_ptr<SegmentReader> reader, SegmentReader::Open(files, job->plan.file));
  ObjectId id = table->schema()->id;
  std::string prefix;
  base::AppendBigEndian(&prefix, id, 4);
  while (!thread_.stopping()) {
    HF_TRY(std::vector<SegmentReader::Record> records, reader->Next());
    if (records.empty()) return Ok{};
    if (records.back().key <= ByteView(job->key)) continue;  // written before the last restart
    std::vector<Entry> entries;
    for (const SegmentReader::Record& record : records) {
      if (record.key > ByteView(job->key))
        entries.push_back({prefix + std::string(record.key), record.stored});
    }
    job->key.assign(records.back().key);
    job->items += entries.size();
    HF_CHECK_OK(GiveWay(table));
    if (thread_.stopping()) return Ok{};
    HF_CHECK_OK(Write(table, *job, entries, Before::kNothing));
    Note(id, *job);
  }
  return Ok{};
}

Status Restorer::FillFromLog(const TablePtr& table, Job* job) {
  const RestorePlan& plan = job->plan;
  HF_TRY(uint64_t trimmed, engine_->change_log().TrimmedUpTo(plan.log_of));
  if (trimmed > plan.after) return Error(ErrorCode::kCorruption, "the change log has a gap");
  while (engine_->committer().published()->number < plan.until) {
    if (thread_.stopping()) return Ok{};
    HF_CHECK_OK(engine_->committer().WaitDurable());
    thread_.Sleep(std::chrono::milliseconds(1));
  }
  if (!job->in_log) {
    job->in_log = true;
    job->at = {plan.after, UINT32_MAX};
  }
  bool end = false;
  while (!end && !thread_.stopping()) {
    HF_CHECK_OK(StepInLog(table, job, &end));
    Note(table->schema()->id, *job);
  }
  return Ok{};
}

Status Restorer::StepInLog(const TablePtr& table, Job* job, bool* end) {
  const RestorePlan& plan = job->plan;
  SchemaPtr schema = table->schema();  // its keys are the source's
  // Of each item only the last record in this step counts.
  std::map<std::string, std::string> last;
  size_t records = 0, bytes = 0;
  ChangeRange range{.after = job->at, .up_to = plan.until};
  HF_CHECK_OK(engine_->change_log()
                  .Visit(plan.log_of, range,
                         [&](const ChangeRecord& record) {
                           // Times never decrease from commit to commit.
                           if (record.time_millis >= plan.before_millis) return false;
                           std::string key =
                               ItemKeyOf(*schema, value::MapView(record.now ? *record.now : *record.old));
                           std::string stored;
                           if (record.now) {
                             size_t size = value::ItemSize(value::MapView(*record.now));
                             EncodeStored(size, record.now->flat(), &stored);
                           }
                           bytes += key.size() + stored.size();
                           last.insert_or_assign(std::move(key), std::move(stored));
                           job->at = {record.commit_number, record.ordinal};
                           return ++records < kStepRecords && bytes < kStepBytes;
                         })
                  .transform([](const ChangePosition&) { return Ok{}; }));
  *end = records == 0;
  if (*end) return Ok{};
  std::vector<Entry> entries;
  for (const auto& [key, stored] : last) entries.push_back({key, stored});
  job->items += entries.size();
  HF_CHECK_OK(GiveWay(table));
  if (thread_.stopping()) return Ok{};
  return Write(table, *job, entries, Before::kMaybe);
}

Status Restorer::GiveWay(const TablePtr& table) {
  if (++steps_ % kStepsPerSync == 0) HF_CHECK_OK(engine_->committer().WaitDurable());
  while (!thread_.stopping()) {
    Status writable = engine_->committer().CheckWritable();
    bool throttled = !writable && writable.error().code() == ErrorCode::kThrottling;
    if (!writable && !throttled) return writable;
    if (!throttled && table->active()->VectorBacklog() <= limits::kVectorBacklogFree) break;
    thread_.Sleep(std::chrono::milliseconds(5));
  }
  return Ok{};
}

// Nobody else writes to the table, so no keys are locked; with its gate closed no backfill and no change of
// schema comes in between either.
Status Restorer::Write(const TablePtr& table, const Job& job, const std::vector<Entry>& entries,
                       Before before) {
  storage::KvReader& kv = engine_->kv();
  base::WriterLock gate(&table->gate);
  if (table->dropped) return Error(ErrorCode::kResourceNotFound, "the table is gone");
  std::shared_ptr<const ActiveSchema> active = table->active();
  const TableSchema& schema = *active->schema;

  std::vector<std::string> olds(before == Before::kMaybe ? entries.size() : 0);
  for (size_t i = 0; i < olds.size(); ++i) {
    HF_CHECK_OK(kv.Get(storage::Space::kItems, entries[i].key, nullptr, storage::Wait::kMayBlock, &olds[i])
                    .transform([&](bool found) { return found ? Ok{} : (olds[i].clear(), Ok{}); }));
  }
  struct BeforeAndAfter {
    StoredItem old, now;
  };
  std::vector<BeforeAndAfter> images(entries.size());
  std::vector<ItemChange> changes;
  changes.reserve(entries.size());
  auto billed = [&](const StoredItem& item) {
    return static_cast<int64_t>(active->has_vectors() ? BilledSize(schema, item.view(), item.size)
                                                      : item.size);
  };
  int64_t count = 0, bytes = 0;
  std::vector<MaintainerEffect> totals(active->indexes.size());

  Commit commit(&engine_->committer());
  storage::Batch* batch = commit.batch();
  HF_TRY(Stamp stamp, commit.Begin());
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    bool was = !olds.empty() && !olds[i].empty(), is = !entry.stored.empty();
    if (was) images[i].old = DecodeStored(olds[i]);
    if (is) images[i].now = DecodeStored(entry.stored);
    if (!was && !is) continue;
    if (is) {
      batch->Put(storage::Space::kItems, entry.key, entry.stored);
    } else {
      batch->Delete(storage::Space::kItems, entry.key);
    }
    changes.push_back({&schema, entry.key, was ? &images[i].old : nullptr, is ? &images[i].now : nullptr,
                       stamp, false, static_cast<uint32_t>(i)});
    const ItemChange& change = changes.back();
    bool logs = false;
    for (size_t k = 0; k < active->indexes.size(); ++k) {
      MaintainerEffect effect = active->indexes[k]->Update(change, batch);
      logs |= effect.logs;
      totals[k].count_delta += effect.count_delta;
      totals[k].bytes_delta += effect.bytes_delta;
    }
    if (active->ttl != nullptr) active->ttl->Update(change, batch);
    if (logs) ChangeLog::Append(change, Images::kKey, batch);  // for snapshots of vector indexes
    count += (is ? 1 : 0) - (was ? 1 : 0);
    bytes += (is ? billed(images[i].now) : 0) - (was ? billed(images[i].old) : 0);
  }
  batch->Put(storage::Space::kCatalog, RestoreJobKey(schema.id), Encode(job));
  HF_CHECK_OK(commit.Write(storage::Wait::kMayBlock, [&] {
    if (!active->has_vectors()) return;
    for (const ItemChange& change : changes) {
      for (const auto& maintainer : active->indexes) maintainer->Written(change);
    }
  }));
  table->tally.Add(count, bytes);
  for (size_t k = 0; k < totals.size(); ++k)
    active->index_tallies[k]->Add(totals[k].count_delta, totals[k].bytes_delta);
  return Ok{};
}

Status Restorer::Finish(const TablePtr& table) {
  // All of it must be durable and published before anybody is let in.
  HF_CHECK_OK(engine_->committer().WaitDurable());
  HF_CHECK_OK(GiveWay(table));
  if (thread_.stopping()) return Ok{};
  HF_CHECK_OK(engine_->ChangeSchema(table, [](TableSchema* schema) -> Status {
    schema->Settle();
    schema->restored_from->in_progress = false;
    return Ok{};
  }));
  Commit commit(&engine_->committer());
  commit.batch()->Delete(storage::Space::kCatalog, RestoreJobKey(table->schema()->id));
  return commit.WriteDurably();
}

}  // namespace holdfast::engine
