#include "engine/dev/store_snapshots.h"

#include "engine/backup/backups.h"
#include "engine/backup/recovery.h"
#include "engine/commit/commit.h"
#include "engine/item/stored_item.h"

namespace holdfast::engine {
namespace {

constexpr size_t kActionsMax = 100;  // of one write

// The item is this one, or there is none.
class Becomes final : public ItemMutation {
 public:
  Becomes() = default;
  explicit Becomes(Item item) : item_(std::move(item)) {}
  Result<Change> Apply(const value::MapView* old) const override {
    if (item_) return Change{Change::Kind::kPut, *item_};
    if (old == nullptr) return Change{};
    return Change{Change::Kind::kDelete, {}};
  }

 private:
  const std::optional<Item> item_;
};

// A few changes at a time, each batch one write.
class Changes {
 public:
  Changes(Engine* engine, TablePtr table) : engine_(engine), table_(std::move(table)) {}

  Status Add(std::string item_key, std::unique_ptr<Becomes> mutation) {
    actions_.push_back({table_.get(), std::move(item_key), mutation.get()});
    mutations_.push_back(std::move(mutation));
    return actions_.size() < kActionsMax ? OkStatus() : Flush();
  }
  Status Flush() {
    if (actions_.empty()) return Ok{};
    HF_TRY([[maybe_unused]] auto written, engine_->writer().Write(actions_, {}));
    count_ += actions_.size();
    actions_.clear();
    mutations_.clear();
    return Ok{};
  }
  uint64_t count() const { return count_; }

 private:
  Engine* const engine_;
  const TablePtr table_;
  std::vector<WriteAction> actions_;
  std::vector<std::unique_ptr<Becomes>> mutations_;
  uint64_t count_ = 0;
};

// A definition, without what tells one table from another of the same definition.
TableSchema Definition(TableSchema schema) {
  schema.Settle();
  schema.id = 0;
  schema.uuid.clear();
  schema.created_millis = 0;
  for (IndexSchema& index : schema.indexes) {
    index.id = 0;
    index.status = IndexStatus::kActive;
  }
  if (schema.ttl_status == TimeToLiveStatus::kEnabling) schema.ttl_status = TimeToLiveStatus::kEnabled;
  // Of its streams, whether there is one; a stream that is made anew is another one.
  const StreamSchema* stream = schema.enabled_stream();
  schema.streams = stream == nullptr ? std::vector<StreamSchema>()
                                     : std::vector<StreamSchema>{{.view_type = stream->view_type}};
  schema.restored_from.reset();
  return schema;
}

std::string KeyIn(ObjectId table, ByteView key) {
  std::string moved;
  base::AppendBigEndian(&moved, table, 4);
  return moved.append(key.substr(4));
}

}  // namespace

Status StoreSnapshots::Take(const std::string& name) {
  State state{engine_->kv().TakeSnapshot(), engine_->clock().NowMillis(),
              clock_ == nullptr ? 0 : clock_->offset_millis()};
  base::MutexLock lock(&mu_);
  if (states_.size() >= kSnapshotsMax && states_.count(name) == 0) {
    return Error(ErrorCode::kLimitExceeded,
                 "there are " + std::to_string(kSnapshotsMax) + " snapshots already: delete some");
  }
  states_[name] = std::move(state);
  return Ok{};
}

Result<StoreSnapshots::State> StoreSnapshots::Find(const std::string& name) const {
  base::MutexLock lock(&mu_);
  auto found = states_.find(name);
  if (found == states_.end()) return Error(ErrorCode::kResourceNotFound, "there is no snapshot " + name);
  return found->second;
}

Status StoreSnapshots::Delete(const std::string& name) {
  HF_TRY(State state, Find(name));  // its memory is freed without the lock
  base::MutexLock lock(&mu_);
  states_.erase(name);
  return Ok{};
}

std::vector<StoreSnapshots::Info> StoreSnapshots::List() const {
  base::MutexLock lock(&mu_);
  std::vector<Info> list;
  for (const auto& [name, state] : states_) list.push_back({name, state.taken_millis});
  return list;
}

Result<StoreSnapshots::Restored> StoreSnapshots::Restore(const std::string& name) {
  base::MutexLock lock(&restore_mu_);
  HF_TRY(State state, Find(name));
  if (clock_ != nullptr && clock_->offset_millis() != state.clock_offset_millis) {
    clock_->SetOffset(state.clock_offset_millis);
    // A sweep that is under way goes by the clock as it was: this comes after it.
    HF_CHECK_OK(engine_->RunHousekeeping());
  }
  return RestoreTo(state.snapshot.get());
}

Result<StoreSnapshots::Restored> StoreSnapshots::Reset() {
  base::MutexLock lock(&restore_mu_);
  return RestoreTo(nullptr);
}

Result<std::map<std::string, TableSchema>> StoreSnapshots::SchemasIn(
    const storage::Snapshot* snapshot) const {
  std::map<std::string, TableSchema> schemas;
  if (snapshot == nullptr) return schemas;
  auto it =
      engine_->kv().Iterate(storage::Space::kCatalog, {TableRecordKey(0), TableRecordKey(UINT32_MAX) + '\0'},
                            snapshot, storage::Wait::kMayBlock);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    HF_TRY(TableSchema schema, DecodeSchema(it->value()));
    // One that was being restored was not there yet: nothing would go on filling it.
    if (schema.status != TableStatus::kDeleting && !schema.restoring())
      schemas.emplace(schema.name, std::move(schema));
  }
  HF_CHECK_OK(it->status());
  return schemas;
}

Result<StoreSnapshots::Restored> StoreSnapshots::RestoreTo(const storage::Snapshot* snapshot) {
  Restored restored;
  HF_TRY(auto then, SchemasIn(snapshot));
  auto drop = [&](const TablePtr& table) -> Status {
    Status dropped = engine_->DropTable(table);
    if (!dropped && dropped.error().code() != ErrorCode::kResourceNotFound) return dropped;
    ++restored.tables_dropped;
    return Ok{};
  };
  // First, since a table that one is restored from is not dropped.
  for (const TablePtr& table : engine_->catalog().All()) {
    if (table->schema()->restoring()) HF_CHECK_OK(drop(table));
  }
  for (const TablePtr& table : engine_->catalog().All()) {
    SchemaPtr schema = table->schema();
    auto same = then.find(schema->name);
    // One that is DELETING is about to go whatever it is like.
    if (same != then.end() && schema->status != TableStatus::kDeleting &&
        EncodeSchema(Definition(same->second)) == EncodeSchema(Definition(*schema)))
      continue;
    HF_CHECK_OK(drop(table));
  }
  for (const auto& [name, schema] : then) {
    TablePtr table = engine_->catalog().Find(name);
    if (table == nullptr) {
      TableSchema made = Definition(schema);
      for (StreamSchema& stream : made.streams) stream.created_millis = engine_->clock().NowMillis();
      made.recovery_days = 0;
      HF_TRY(table, engine_->CreateTable(std::move(made)));
      ++restored.tables_made;
    }
    HF_CHECK_OK(Align(table, schema.id, snapshot, &restored));
    table->RefillBuckets();
    // Its window begins when it is whole.
    if (table->schema()->recovery_days != schema.recovery_days)
      HF_CHECK_OK(engine_->recovery().Enable(table, schema.recovery_days));
  }
  HF_CHECK_OK(DeleteTokensSince(snapshot));
  HF_CHECK_OK(ForgetDroppedSince(snapshot));
  HF_CHECK_OK(DeleteBackupsSince(snapshot));
  HF_CHECK_OK(engine_->committer().WaitDurable());
  return restored;
}

// Walks the table as it was and as it is side by side, and writes what differs.
Status StoreSnapshots::Align(const TablePtr& table, ObjectId then_id, const storage::Snapshot* snapshot,
                             Restored* restored) {
  ObjectId id = table->schema()->id;
  auto then =
      engine_->kv().Iterate(storage::Space::kItems, ObjectRange(then_id), snapshot, storage::Wait::kMayBlock);
  auto now =
      engine_->kv().Iterate(storage::Space::kItems, ObjectRange(id), nullptr, storage::Wait::kMayBlock);
  Changes changes(engine_, table);
  then->SeekToFirst();
  now->SeekToFirst();
  while (then->Valid() || now->Valid()) {
    int order = !then->Valid() ? 1 : !now->Valid() ? -1 : then->key().substr(4).compare(now->key().substr(4));
    if (order > 0) {
      HF_CHECK_OK(changes.Add(std::string(now->key()), std::make_unique<Becomes>()));
    } else if (order < 0 || then->value() != now->value()) {
      Item item = Item::FromFlat(std::string(DecodeStored(then->value()).flat));
      HF_CHECK_OK(changes.Add(KeyIn(id, then->key()), std::make_unique<Becomes>(std::move(item))));
    }
    if (order <= 0) then->Next();
    if (order >= 0) now->Next();
  }
  HF_CHECK_OK(then->status());
  HF_CHECK_OK(now->status());
  HF_CHECK_OK(changes.Flush());
  restored->items_written += changes.count();
  return Ok{};
}

// A transaction that has not happened may be sent again with its token.
Status StoreSnapshots::DeleteTokensSince(const storage::Snapshot* snapshot) {
  Commit commit(&engine_->committer());
  std::string prefix = TokenRecordKey("");
  storage::Range tokens{prefix, prefix};
  ++tokens.upper.back();
  auto it = engine_->kv().Iterate(storage::Space::kCatalog, tokens, nullptr, storage::Wait::kMayBlock);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    HF_TRY(bool there, WasThere(snapshot, std::string(it->key())));
    if (!there) commit.batch()->Delete(storage::Space::kCatalog, it->key());
  }
  HF_CHECK_OK(it->status());
  return commit.Write(storage::Wait::kMayBlock);
}

Status StoreSnapshots::ForgetDroppedSince(const storage::Snapshot* snapshot) {
  for (const SchemaPtr& gone : engine_->catalog().Dropped()) {
    HF_TRY(bool there, WasThere(snapshot, DroppedRecordKey(gone->id)));
    if (!there) HF_CHECK_OK(engine_->ForgetDropped(gone));
  }
  return Ok{};
}

Status StoreSnapshots::DeleteBackupsSince(const storage::Snapshot* snapshot) {
  auto all = [](const Backup&) { return true; };
  HF_TRY(std::vector<Backup> backups, engine_->backups().List("", SIZE_MAX, all));
  if (backups.empty()) return Ok{};
  engine_->backups().thread().WaitIdle();  // one in the making cannot be deleted
  for (const Backup& backup : backups) {
    HF_TRY(bool there, WasThere(snapshot, BackupRecordKey(backup.id)));
    if (there) continue;
    Result<Backup> deleted = engine_->backups().Delete(backup.id);
    bool may_stay = !deleted && (deleted.error().code() == ErrorCode::kBackupNotFound ||
                                 deleted.error().code() == ErrorCode::kBackupInUse);
    if (!deleted && !may_stay) return deleted.error();
  }
  return Ok{};
}

Result<bool> StoreSnapshots::WasThere(const storage::Snapshot* snapshot, const std::string& key) const {
  if (snapshot == nullptr) return false;
  std::string ignored;
  return engine_->kv().Get(storage::Space::kCatalog, key, snapshot, storage::Wait::kMayBlock, &ignored);
}

}  // namespace holdfast::engine
