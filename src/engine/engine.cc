#include "engine/engine.h"

#include <rocksdb/file_system.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/limits.h"
#include "engine/backup/backups.h"
#include "engine/backup/recovery.h"
#include "engine/backup/restorer.h"
#include "engine/commit/commit.h"
#include "engine/index/backfill.h"
#include "engine/index/recount.h"
#include "engine/index/vector_keeper.h"
#include "engine/sealer.h"
#include "engine/store_directory.h"
#include "engine/ttl/housekeeper.h"
#include "storage/archive/archiver.h"
#include "storage/archive/checkpoint.h"
#include "storage/encryption/vault.h"
#include "storage/memory/memory_kv.h"
#include "storage/rocksdb/rocksdb_kv.h"

namespace holdfast::engine {
namespace {

constexpr std::string_view kTableRecordPrefix = "table/";
constexpr std::string_view kDroppedRecordPrefix = "dropped/";
// Commit numbers set aside at each start and by housekeeping: numbers of one run can never meet those of
// another.
constexpr uint64_t kNumbersReserved = uint64_t{1} << 32;
// Larger stores keep the figures saved last after a crash; counting them would take too long.
constexpr uint64_t kRecountBytesMax = uint64_t{4} << 30;

std::string NumberedKey(std::string_view prefix, ObjectId id) {
  std::string key(prefix);
  base::AppendBigEndian(&key, id, 4);
  return key;
}

bool IsInside(const std::string& path, const std::string& directory) {
  std::error_code failed;
  std::string inner = std::filesystem::weakly_canonical(path, failed).string() + "/";
  return !failed && inner.starts_with(std::filesystem::weakly_canonical(directory, failed).string() + "/");
}

// The smallest record that is never lost: read with defaults, written whole.
struct Meta {
  ObjectId next_id = 1;
  uint64_t number_ceiling = 1;
  int64_t time_floor_millis = 0;
};

Result<Meta> ReadMeta(storage::KvReader* kv) {
  std::string bytes;
  HF_TRY(bool found, kv->Get(storage::Space::kCatalog, kMetaKey, nullptr, storage::Wait::kMayBlock, &bytes));
  Meta meta;
  if (!found) return meta;
  if (!value::IsWellFormedItem(bytes))
    return Error(ErrorCode::kCorruption, "the store's meta record is damaged");
  Item item = Item::FromFlat(std::move(bytes));
  auto integer = [&](std::string_view name, int64_t fallback) {
    auto value = item.Get(name);
    return value ? value->AsInt64().value_or(fallback) : fallback;
  };
  meta.next_id = static_cast<ObjectId>(integer("next_id", 1));
  meta.number_ceiling = static_cast<uint64_t>(integer("number_ceiling", 1));
  meta.time_floor_millis = integer("time_floor", 0);
  return meta;
}

Result<std::vector<TableSchema>> ReadSchemas(storage::KvReader* kv, std::string_view prefix) {
  std::vector<TableSchema> schemas;
  storage::Range records{std::string(prefix), std::string(prefix) + "\xff\xff\xff\xff\xff"};
  auto it = kv->Iterate(storage::Space::kCatalog, records, nullptr, storage::Wait::kMayBlock);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    HF_TRY(TableSchema schema, DecodeSchema(it->value()));
    schemas.push_back(std::move(schema));
  }
  HF_CHECK_OK(it->status());
  return schemas;
}

// Gives streams that begin or end here their first and last commit. Requires: no write to the table is under
// way, `begun` is the last number given out.
void BoundStreams(uint64_t begun, TableSchema* schema) {
  for (StreamSchema& stream : schema->streams) {
    if (stream.after == StreamSchema::kUnset) stream.after = begun;
    if (!stream.enabled() && stream.until == StreamSchema::kUnset) stream.until = begun;
  }
}

Result<std::shared_ptr<storage::Vault>> OpenVault(const EngineOptions& options) {
  storage::VaultOptions vault{options.options.directory, nullptr, options.options.encrypt,
                              options.file_system};
  HF_TRY(vault.keys, storage::LoadKeys(options.options.key_file));
  return storage::Vault::Open(vault);
}

}  // namespace

std::string TableRecordKey(ObjectId id) {
  return NumberedKey(kTableRecordPrefix, id);
}
std::string DroppedRecordKey(ObjectId id) {
  return NumberedKey(kDroppedRecordPrefix, id);
}
std::string BackfillCursorKey(ObjectId id) {
  return NumberedKey("backfill/", id);
}
std::string VectorSnapshotKey(ObjectId index) {
  return NumberedKey("vector/", index);
}
std::string TokenRecordKey(std::string_view token) {
  return "token/" + std::string(token);
}
std::string BackupRecordKey(std::string_view id) {
  return "backup/" + std::string(id);
}
std::string RestoreJobKey(ObjectId table) {
  return NumberedKey(kRestorePrefix, table);
}
std::string RecoveryRecordKey(ObjectId table) {
  return NumberedKey(kRecoveryPrefix, table);
}

Engine::Engine(const EngineOptions& options)
    : options_(options.options),
      vector_graph_min_(options.vector_graph_min),
      vector_snapshot_changes_(options.vector_snapshot_changes),
      guards_(options.guards),
      clock_(options.clock != nullptr ? options.clock : &system_clock_),
      log_(options.log != nullptr ? options.log : &silence_),
      random_(options.seed != 0 ? base::Random(options.seed).Next() : base::Random().Next()) {}

Result<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options) {
  std::unique_ptr<Engine> engine(new Engine(options));
  const std::string& directory = options.options.directory;
  const std::string& archive = options.options.archive_directory;
  if (directory.empty() && !archive.empty())
    return ValidationError("a store in memory has no log that an archive could follow; give it a directory");
  if (!archive.empty() && IsInside(archive, directory))
    return ValidationError("the archive " + archive + " is inside of the store it is to outlive");
  if (directory.empty()) {
    engine->kv_ = storage::OpenMemoryKv();
  } else {
    HF_TRY(StoreDirectory claimed, ClaimStoreDirectory(directory, options.options.create_if_missing));
    engine->lock_.emplace(std::move(claimed.lock));
    HF_TRY(engine->vault_, OpenVault(options));
    engine->file_system_ = engine->vault_->file_system();
    storage::RocksDbOptions rocksdb;
    rocksdb.directory = directory;
    rocksdb.vault = engine->vault_;
    rocksdb.must_exist = !claimed.is_new;
    rocksdb.cache_bytes = options.options.cache_bytes;
    if (!archive.empty()) rocksdb.followed_by_clock = engine->clock_;
    if (options.write_buffer_bytes != 0) rocksdb.write_buffer_bytes = options.write_buffer_bytes;
    if (options.table_bytes != 0) rocksdb.table_bytes = options.table_bytes;
    // Whoever is answered before the sync is promised at least that a crash of the process takes nothing.
    rocksdb.buffer_log = options.options.durability != Durability::kInterval;
    HF_TRY(engine->kv_, storage::OpenRocksDbKv(rocksdb, *engine->log_));
    if (claimed.is_new || claimed.is_old) HF_CHECK_OK(MarkStoreDirectory(directory));
    HF_CHECK_OK(storage::LetGo({engine->file_system_, directory}));
  }
  if (!archive.empty()) {
    storage::ArchiverOptions shipping;
    shipping.directory = archive;
    shipping.file_system = options.archive_file_system != nullptr ? options.archive_file_system
                                                                  : engine->vault_->file_system_elsewhere();
    shipping.store = {engine->file_system_, directory};
    shipping.keep_days = options.options.archive_days;
    shipping.was_there = WasArchivedIn(directory, archive);
    shipping.is_there = [directory, archive] { return NoteArchive(directory, archive); };
    if (options.archive_file_system == nullptr)
      shipping.key_version = [vault = engine->vault_] { return vault->key_version(); };
    shipping.syncs = options.options.durability == Durability::kNone;
    HF_TRY(engine->archiver_,
           storage::Archiver::Start(engine->kv_.get(), engine->clock_, engine->log_, std::move(shipping)));
  }
  HF_CHECK_OK(engine->Load());
  engine->backups_ = std::make_unique<Backups>(engine.get());
  engine->restorer_ = std::make_unique<Restorer>(engine.get());
  engine->recovery_ = std::make_unique<Recovery>(engine.get());
  HF_TRY(std::set<std::string> bases, engine->recovery_->Load());
  HF_CHECK_OK(engine->backups_->DeleteStrayFiles(bases));
  HF_CHECK_OK(engine->backups_->Resume());
  HF_CHECK_OK(engine->restorer_->Resume());  // before housekeeping drops what it needs
  engine->backfiller_ = std::make_unique<Backfiller>(engine.get());
  engine->housekeeper_ = std::make_unique<Housekeeper>(engine.get(), options.manual_housekeeping);
  engine->vector_keeper_->Start();
  if (engine->vault_ != nullptr && engine->vault_->has_keys()) {
    engine->sealer_ = std::make_unique<Sealer>(engine.get(), options.options.key_file);
    HF_CHECK_OK(engine->sealer_->Start());
  }
  engine->ResumeUnfinished();
  if (!options.load_behind) HF_CHECK_OK(engine->vector_keeper_->WaitLoaded());
  return engine;
}

Engine::~Engine() {
  // Threads first, for they use one another's owners.
  if (housekeeper_ != nullptr) housekeeper_->Stop();
  if (restorer_ != nullptr) restorer_->Stop();
  if (backups_ != nullptr) backups_->thread().Stop();
  sealer_.reset();
  housekeeper_.reset();
  backfiller_.reset();
  vector_keeper_.reset();
  restorer_.reset();
  backups_.reset();
  recovery_.reset();
  if (committer_ != nullptr) {
    base::MutexLock ddl(&ddl_mu_);
    Commit commit(committer_.get(), Commit::Kind::kUpkeep);
    SaveTallies(/*clean=*/figures_are_exact_, commit.batch());
    if (Status saved = commit.Write(storage::Wait::kMayBlock); !saved) {
      HF_LOG(*log_, kWarning, "figures not saved", {"error", saved.error().ToString()});
    }
  }
  committer_.reset();  // after a last sync
  archiver_.reset();   // which it ships
  kv_.reset();
}

TablePtr Engine::NewTable(TableSchema schema) const {
  auto guard = guards_.find(schema.name);
  return std::make_shared<Table>(std::make_shared<const TableSchema>(std::move(schema)), vector_graph_min_,
                                 guard == guards_.end() ? nullptr : guard->second);
}

Status Engine::Load() {
  HF_TRY(Meta meta, ReadMeta(kv_.get()));
  base::MutexLock ddl(&ddl_mu_);
  next_id_ = meta.next_id;
  CommitterOptions commit{options_.durability, options_.sync_interval_millis};
  number_ceiling_ = meta.number_ceiling;

  HF_TRY(std::vector<TableSchema> schemas, ReadSchemas(kv_.get(), kTableRecordPrefix));
  for (TableSchema& schema : schemas) {
    bool added = catalog_.Add(NewTable(std::move(schema)));
    if (!added) return Error(ErrorCode::kCorruption, "two tables have one name");
  }
  HF_TRY(std::vector<TableSchema> dropped, ReadSchemas(kv_.get(), kDroppedRecordPrefix));
  for (TableSchema& schema : dropped)
    catalog_.AddDropped(std::make_shared<const TableSchema>(std::move(schema)));
  HF_TRY(bool clean, LoadTallies());

  // From here on the store is in use: the next start must not trust the figures of the last clean stop.
  uint64_t first_number = number_ceiling_;
  number_ceiling_ += kNumbersReserved;
  committer_ =
      std::make_unique<Committer>(kv_.get(), clock_, log_, commit, first_number, meta.time_floor_millis);
  writer_ = std::make_unique<ItemWriter>(kv_.get(), committer_.get(), &locks_, clock_);
  change_log_ = std::make_unique<ChangeLog>(kv_.get(), committer_.get());
  committer_->OnPublish([this](uint64_t) { change_log_->Published(); });
  Commit commit_start(committer_.get(), Commit::Kind::kUpkeep);
  HF_CHECK_OK(SaveMeta(commit_start.batch()));
  SaveTallies(/*clean=*/false, commit_start.batch());
  DeleteUnneededChanges(commit_start.batch());
  for (ObjectId id : TablesWithLogs()) {
    HF_TRY(uint64_t records, change_log_->BringForward(id));
    if (records > 0)
      HF_LOG(*log_, kInfo, "change log brought to the current format", {"table", id}, {"records", records});
  }
  for (const TablePtr& table : catalog_.All()) FollowStreams(*table->schema());
  for (const SchemaPtr& gone : catalog_.Dropped()) FollowStreams(*gone);
  HF_CHECK_OK(commit_start.Write(storage::Wait::kMayBlock));
  figures_are_exact_ = clean;
  vector_keeper_ = std::make_unique<VectorKeeper>(this);
  return vector_keeper_->Prepare();
}

std::vector<ObjectId> Engine::TablesWithLogs() const {
  std::vector<ObjectId> ids;
  for (const TablePtr& table : catalog_.All()) {
    if (table->schema()->log_survives()) ids.push_back(table->schema()->id);
  }
  for (const SchemaPtr& schema : catalog_.Dropped()) ids.push_back(schema->id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

// Watches do not outlive a run; what the schemas ask for does.
void Engine::DeleteUnneededChanges(storage::Batch* batch) {
  std::string from(1, '\0');
  for (ObjectId id : TablesWithLogs()) {
    storage::Range kept = ObjectRange(id);
    if (from < kept.lower) batch->DeleteRange(storage::Space::kChanges, {from, kept.lower});
    from = kept.upper;
  }
  batch->DeleteRange(storage::Space::kChanges, {from, std::string(8, '\xff')});
}

void Engine::FollowStreams(const TableSchema& schema) {
  if (schema.streams.empty()) {
    change_log_->Forget(schema.id, Consumer::kStream);
  } else {
    change_log_->Keep(schema.id, Consumer::kStream, schema.streams.front().after);
  }
}

Status Engine::SaveMeta(storage::Batch* batch) {
  if (number_ceiling_ - committer_->begun_number() < kNumbersReserved / 2)
    number_ceiling_ += kNumbersReserved;
  // The clock may have been set back since the last commit.
  int64_t time_floor = std::max(clock_->NowMillis(), committer_->last_time_millis());
  Item meta{{"next_id", next_id_}, {"number_ceiling", number_ceiling_}, {"time_floor", time_floor}};
  batch->Put(storage::Space::kCatalog, kMetaKey, meta.flat());
  return Ok{};
}

void Engine::SaveTallies(bool clean, storage::Batch* batch) {
  AttributeMap figures;
  auto add = [&](ObjectId id, const Tally& tally) {
    figures.emplace(std::to_string(id), AttributeValue::List({tally.count.load(), tally.bytes.load()}));
  };
  for (const TablePtr& table : catalog_.All()) {
    SchemaPtr schema = table->schema();
    add(schema->id, table->tally);
    for (const IndexSchema& index : schema->indexes) add(index.id, *table->IndexTally(index.id));
  }
  Item record{{"clean", clean}, {"figures", AttributeValue::Map(std::move(figures))}};
  batch->Put(storage::Space::kCatalog, kTallyKey, record.flat());
}

Result<bool> Engine::LoadTallies() {
  std::string bytes;
  HF_TRY(bool found,
         kv_->Get(storage::Space::kCatalog, kTallyKey, nullptr, storage::Wait::kMayBlock, &bytes));
  if (!found) return catalog_.size() == 0;
  if (!value::IsWellFormedItem(bytes)) return false;
  AttributeMap record = Item::FromFlat(std::move(bytes)).ToMap();
  const AttributeMap figures = record["figures"].AsMap();
  auto load = [&](ObjectId id, Tally* tally) {
    auto figure = figures.find(std::to_string(id));
    if (figure == figures.end() || figure->second.AsList().size() != 2) return;
    tally->count = figure->second.AsList()[0].AsInt64().value_or(0);
    tally->bytes = figure->second.AsList()[1].AsInt64().value_or(0);
  };
  for (const TablePtr& table : catalog_.All()) {
    SchemaPtr schema = table->schema();
    load(schema->id, &table->tally);
    for (const IndexSchema& index : schema->indexes) load(index.id, table->IndexTally(index.id));
  }
  return record["clean"].AsBool();
}

// What the last run began and could not end.
void Engine::ResumeUnfinished() {
  for (const TablePtr& table : catalog_.All()) {
    SchemaPtr schema = table->schema();
    if (schema->status == TableStatus::kDeleting && backups_->ComeFirst(*schema)) {
      backups_->DropBehind(table);
      continue;
    }
    if (schema->status == TableStatus::kDeleting) {
      if (Status dropped = DropTable(table); !dropped) {
        HF_LOG(*log_, kError, "cannot drop table", {"table", schema->name},
               {"error", dropped.error().ToString()});
      }
      continue;
    }
    if (schema->status != TableStatus::kActive && !schema->restoring()) {
      Status settled = ChangeSchema(table, [](TableSchema* edited) -> Status {
        edited->Settle();
        return Ok{};
      });
      HF_ASSERT(settled.has_value() || settled.error().code() != ErrorCode::kValidation);
    }
    for (const IndexSchema& index : schema->indexes) {
      if (index.status == IndexStatus::kCreating) backfiller_->Add(table, index.id);
    }
    if (schema->ttl_status == TimeToLiveStatus::kEnabling) backfiller_->Add(table, schema->id);
  }
  if (!figures_are_exact_ && kv_->stats().disk_bytes <= kRecountBytesMax) {
    housekeeper_->After(0, [this] {
      auto stopping = [this] { return housekeeper_->stopping(); };
      bool exact = true;
      for (const TablePtr& table : catalog_.All()) {
        SchemaPtr schema = table->schema();
        Status counted = Recount(kv_.get(), table.get(), schema->id, stopping);
        for (const IndexSchema& index : schema->indexes) {
          if (counted && index.status == IndexStatus::kActive)
            counted = Recount(kv_.get(), table.get(), index.id, stopping);
        }
        if (stopping()) return;  // the next start counts again
        exact = exact && counted;
        if (!counted) HF_LOG(*log_, kWarning, "recount failed", {"error", counted.error().ToString()});
      }
      figures_are_exact_ = exact;
    });
  }
}

View Engine::NewView(Reads reads) const {
  std::shared_ptr<const Published> published = committer_->published();
  if (published->snapshot == nullptr && reads == Reads::kMany) {
    auto fixed = std::make_shared<Published>(committer_->Ended());
    fixed->snapshot = kv_->TakeSnapshot();
    return View(std::move(fixed));
  }
  return View(std::move(published));
}

Result<TablePtr> Engine::CreateTable(TableSchema schema, const AlsoWrite& also) {
  base::MutexLock ddl(&ddl_mu_);
  if (catalog_.Find(schema.name) != nullptr) {
    return Error(ErrorCode::kResourceInUse, "Table already exists: " + schema.name);
  }
  if (catalog_.size() >= limits::kTablesMax) {
    return Error(ErrorCode::kLimitExceeded, "Subscriber limit exceeded: the store already has " +
                                                std::to_string(limits::kTablesMax) + " tables");
  }
  HF_CHECK_OK(committer_->CheckWritable());  // before ids are taken
  HF_CHECK_OK(ProvideEncryption(schema));
  schema.id = next_id_++;
  for (IndexSchema& index : schema.indexes) index.id = next_id_++;
  schema.uuid = random_.Uuid();
  schema.created_millis = clock_->NowMillis();
  BoundStreams(committer_->begun_number(), &schema);
  schema.Derive();
  Commit commit(committer_.get());
  HF_CHECK_OK(SaveMeta(commit.batch()));
  commit.batch()->Put(storage::Space::kCatalog, TableRecordKey(schema.id), EncodeSchema(schema));
  if (also) HF_CHECK_OK(also(schema, commit.batch()));
  HF_CHECK_OK(commit.WriteDurably());
  FollowStreams(schema);
  TablePtr table = NewTable(std::move(schema));
  bool added = catalog_.Add(table);
  HF_ASSERT(added);
  if (table->has_vectors) vector_keeper_->Wake();
  return table;
}

Status Engine::DropTable(const TablePtr& table) {
  base::MutexLock ddl(&ddl_mu_);
  base::WriterLock gate(&table->gate);
  if (table->dropped) return Error(ErrorCode::kResourceNotFound, "the table is gone");
  SchemaPtr schema = table->schema();
  if (restorer_->ReadsLogOf(schema->id)) {
    return Error(ErrorCode::kResourceInUse, "a table is being restored from " + schema->name);
  }
  SchemaPtr left = LeftBehind(*schema);
  Commit commit(committer_.get());
  storage::Batch* batch = commit.batch();
  batch->Delete(storage::Space::kCatalog, TableRecordKey(schema->id));
  batch->Delete(storage::Space::kCatalog, BackfillCursorKey(schema->id));
  batch->Delete(storage::Space::kCatalog, RestoreJobKey(schema->id));
  batch->Delete(storage::Space::kCatalog, RecoveryRecordKey(schema->id));
  for (storage::Space space : {storage::Space::kItems, storage::Space::kTtl}) {
    batch->DeleteRange(space, ObjectRange(schema->id));
  }
  if (left == nullptr) {
    batch->DeleteRange(storage::Space::kChanges, ObjectRange(schema->id));
  } else {
    batch->Put(storage::Space::kCatalog, DroppedRecordKey(left->id), EncodeSchema(*left));
  }
  for (const IndexSchema& index : schema->indexes) {
    batch->DeleteRange(storage::Space::kIndexes, ObjectRange(index.id));
    batch->Delete(storage::Space::kCatalog, BackfillCursorKey(index.id));
    batch->Delete(storage::Space::kCatalog, VectorSnapshotKey(index.id));
  }
  // Until the drop is durable readers find the table, and its items in the state that was published last.
  HF_CHECK_OK(commit.WriteDurably());
  table->dropped = true;
  change_log_->Forget(schema->id, Consumer::kVectors);
  change_log_->Forget(schema->id, Consumer::kRecovery);
  if (left == nullptr) {
    change_log_->Forget(schema->id, Consumer::kStream);
  } else {
    catalog_.AddDropped(std::move(left));
  }
  catalog_.Remove(schema->name);
  restorer_->Forget(schema->id);
  recovery_->Forget(schema->id);
  return Ok{};
}

// Null when nothing is. Streams are bounded like tables: somebody may make and drop one after another.
SchemaPtr Engine::LeftBehind(const TableSchema& schema) const {
  if (schema.streams.empty() || catalog_.Dropped().size() >= limits::kTablesMax) return nullptr;
  TableSchema left{.id = schema.id,
                   .name = schema.name,
                   .uuid = schema.uuid,
                   .created_millis = schema.created_millis,
                   .partition = schema.partition,
                   .sort = schema.sort,
                   .attributes = schema.attributes,
                   .streams = schema.streams};
  if (left.streams.back().enabled()) left.streams.back().disabled_millis = clock_->NowMillis();
  BoundStreams(committer_->begun_number(), &left);
  return std::make_shared<const TableSchema>(std::move(left));
}

Status Engine::AgeStreams() {
  // By the minute, so that the log is not trimmed at every round.
  constexpr int64_t kStep = 60'000;
  int64_t horizon = (clock_->NowMillis() - limits::kStreamRetentionMillis) / kStep * kStep;
  auto is_over = [&](const StreamSchema& stream) {
    return !stream.enabled() && stream.disabled_millis < horizon;
  };
  auto age = [&](const TableSchema& schema) -> Status {
    uint64_t after = change_log_->KeptAfter(schema.id, Consumer::kStream).value_or(0);
    HF_TRY(uint64_t expired, change_log_->LastBefore(schema.id, after, horizon));
    change_log_->Keep(schema.id, Consumer::kStream, expired);
    return Ok{};
  };
  for (const TablePtr& table : catalog_.All()) {
    SchemaPtr schema = table->schema();
    if (schema->streams.empty()) continue;
    if (is_over(schema->streams.front())) {
      Status forgotten = ChangeSchema(table, [&](TableSchema* edited) -> Status {
        std::erase_if(edited->streams, is_over);
        return Ok{};
      });
      if (!forgotten && forgotten.error().code() != ErrorCode::kResourceNotFound) return forgotten;
    } else {
      HF_CHECK_OK(age(*schema));
    }
  }
  for (const SchemaPtr& gone : catalog_.Dropped()) {
    if (!is_over(gone->streams.back())) {
      HF_CHECK_OK(age(*gone));
      continue;
    }
    HF_CHECK_OK(ForgetDropped(gone));
  }
  return Ok{};
}

Status Engine::ForgetDropped(const SchemaPtr& gone) {
  Commit commit(committer_.get(), Commit::Kind::kUpkeep);
  commit.batch()->Delete(storage::Space::kCatalog, DroppedRecordKey(gone->id));
  commit.batch()->DeleteRange(storage::Space::kChanges, ObjectRange(gone->id));
  HF_CHECK_OK(commit.Write(storage::Wait::kMayBlock));
  change_log_->Forget(gone->id, Consumer::kStream);
  catalog_.RemoveDropped(gone->id);
  return Ok{};
}

Status Engine::ChangeSchema(const TablePtr& table, const std::function<Status(TableSchema*)>& edit) {
  base::MutexLock ddl(&ddl_mu_);
  HF_CHECK_OK(committer_->CheckSound());  // before ids are taken
  SchemaPtr old = table->schema();
  TableSchema edited = *old;
  HF_CHECK_OK(edit(&edited));
  // Only what is new is asked for: a store that was moved without its key can still be changed.
  if (edited.sse_key_arn != old->sse_key_arn) HF_CHECK_OK(ProvideEncryption(edited));
  std::vector<ObjectId> to_fill;
  for (IndexSchema& index : edited.indexes) {
    if (index.id != 0) continue;
    index.id = next_id_++;
    to_fill.push_back(index.id);
  }
  bool ttl_starts = edited.ttl_status == TimeToLiveStatus::kEnabling && old->ttl_status != edited.ttl_status;
  if (ttl_starts) to_fill.push_back(edited.id);
  edited.Derive();

  {
    base::WriterLock gate(&table->gate);
    if (table->dropped) return Error(ErrorCode::kResourceNotFound, "the table is gone");
    BoundStreams(committer_->begun_number(), &edited);
    Commit commit(committer_.get());
    storage::Batch* batch = commit.batch();
    HF_CHECK_OK(SaveMeta(batch));
    batch->Put(storage::Space::kCatalog, TableRecordKey(edited.id), EncodeSchema(edited));
    for (const IndexSchema& index : old->indexes) {
      if (edited.FindIndexById(index.id) != nullptr) continue;
      batch->DeleteRange(storage::Space::kIndexes, ObjectRange(index.id));
      batch->Delete(storage::Space::kCatalog, BackfillCursorKey(index.id));
      batch->Delete(storage::Space::kCatalog, VectorSnapshotKey(index.id));
    }
    if (old->ttl_enabled() && !edited.ttl_enabled()) {
      batch->DeleteRange(storage::Space::kTtl, ObjectRange(edited.id));
      batch->Delete(storage::Space::kCatalog, BackfillCursorKey(edited.id));
    }
    // What was kept goes with the setting: see Recovery.
    bool recovery_ends = old->recovery_days > 0 && edited.recovery_days == 0;
    if (recovery_ends) batch->Delete(storage::Space::kCatalog, RecoveryRecordKey(edited.id));
    HF_CHECK_OK(commit.WriteDurably());
    FollowStreams(edited);
    if (old->has_vector_indexes() && !edited.has_vector_indexes())
      change_log_->Forget(edited.id, Consumer::kVectors);
    if (recovery_ends) change_log_->Forget(edited.id, Consumer::kRecovery);
    if (old->recovery_days == 0 && edited.recovery_days > 0)
      change_log_->Keep(edited.id, Consumer::kRecovery, committer_->begun_number());
    table->Activate(std::make_shared<const TableSchema>(std::move(edited)), clock().NowMillis());
  }
  for (ObjectId target : to_fill) backfiller_->Add(table, target);
  if (table->has_vectors) vector_keeper_->Wake();
  return Ok{};
}

Status Engine::CheckCanEncrypt() const {
  if (vault_ == nullptr || sealer_ != nullptr) return Ok{};
  return ValidationError(
      "One or more parameter values were invalid: this store has no master key to encrypt with. Make one by "
      "`holdfast init-key FILE` and start the server with --key-file FILE");
}

Status Engine::ProvideEncryption(const TableSchema& schema) {
  if (schema.sse_key_arn.empty() || vault_ == nullptr) return Ok{};
  HF_CHECK_OK(CheckCanEncrypt());
  return sealer_->SwitchOn();
}

Encryption Engine::encryption() const {
  if (vault_ == nullptr) return Encryption::kOn;
  return sealer_ == nullptr ? Encryption::kOff : sealer_->state();
}
size_t Engine::files_to_encrypt() const {
  return sealer_ == nullptr ? 0 : sealer_->files_left();
}
std::string Engine::master_key_id() const {
  return sealer_ == nullptr ? "" : vault_->key_id();
}
Status Engine::WaitForEncryption() {
  return sealer_ == nullptr ? Ok{} : sealer_->Wait();
}

void Engine::Settle(std::function<void()> then) {
  if (options_.transient_status_millis == 0) {
    then();
  } else {
    housekeeper_->After(options_.transient_status_millis, std::move(then));
  }
}

Result<uint64_t> Engine::BackUp(const std::string& directory) {
  if (options_.directory.empty())
    return Error(ErrorCode::kNotSupported, "a store in memory has no files to back up");
  if (IsInside(directory, options_.directory))
    return ValidationError(directory + " is inside of the store; name a directory elsewhere");
  if (!backup_mu_.TryLock()) return Error(ErrorCode::kResourceInUse, "another backup is under way");
  auto bytes =
      storage::BackUp(kv_.get(), {file_system_, options_.directory}, file_system_, directory, *clock_);
  backup_mu_.Unlock();
  return bytes;
}

Status Engine::RunHousekeeping(uint64_t* expired) {
  return housekeeper_->RunOnce(expired);
}
void Engine::WaitForBackfills() {
  backfiller_->WaitIdle();
}
void Engine::WaitForVectors() {
  vector_keeper_->WaitIdle();
}
std::vector<std::string> Engine::Loading() const {
  return vector_keeper_->Loading();
}
double Engine::BackfillProgress(ObjectId id) const {
  return backfiller_->Progress(id);
}
uint64_t Engine::expired_items() const {
  return housekeeper_->expired_items();
}

}  // namespace holdfast::engine
