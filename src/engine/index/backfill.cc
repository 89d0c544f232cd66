#include "engine/index/backfill.h"

#include <algorithm>

#include "engine/commit/commit.h"
#include "engine/engine.h"
#include "engine/index/recount.h"
#include "value/key_codec.h"

namespace holdfast::engine {
namespace {

// Items per step: long enough to share the cost of a batch, short enough that a writer who wants one of the
// locked keys does not notice.
constexpr size_t kStepItems = 128;

}  // namespace

void Backfiller::Add(TablePtr table, ObjectId target) {
  {
    base::MutexLock lock(&mu_);
    progress_[target] = 0;
  }
  thread_.Add([this, job = Job{std::move(table), target}] { Run(job); });
}

double Backfiller::Progress(ObjectId target) const {
  base::MutexLock lock(&mu_);
  auto found = progress_.find(target);
  return found == progress_.end() ? 1 : found->second;
}

void Backfiller::Run(const Job& job) {
  if (Status filled = Fill(job); !filled && !thread_.stopping()) {
    // The cursor is saved: the next start of the store tries again.
    HF_LOG(engine_->log(), kError, "backfill failed", {"table", job.table->schema()->name},
           {"error", filled.error().ToString()});
    return;
  }
  base::MutexLock lock(&mu_);
  progress_.erase(job.target);
}

Status Backfiller::Fill(const Job& job) {
  std::string cursor;
  HF_CHECK_OK(engine_->kv()
                  .Get(storage::Space::kCatalog, BackfillCursorKey(job.target), nullptr,
                       storage::Wait::kMayBlock, &cursor)
                  .transform([](bool) { return Ok{}; }));
  bool done = false;
  while (!done) {
    if (thread_.stopping()) return Ok{};
    HF_CHECK_OK(Step(job, &cursor, &done));
    if (cursor.size() >= 6) {
      base::MutexLock lock(&mu_);
      progress_[job.target] = static_cast<double>(base::ReadBigEndian(ByteView(cursor).substr(4), 2)) / 65536;
    }
  }
  return Finish(job);
}

Status Backfiller::Step(const Job& job, std::string* cursor, bool* done) {
  storage::KvReader& kv = engine_->kv();
  base::ReaderLock gate(&job.table->gate);
  if (job.table->dropped) return *done = true, OkStatus();
  std::shared_ptr<const ActiveSchema> active = job.table->active();
  const IndexMaintainer* maintainer = nullptr;
  if (job.target == active->schema->id) maintainer = active->ttl.get();
  for (size_t i = 0; i < active->indexes.size(); ++i) {
    if (active->schema->indexes[i].id == job.target) maintainer = active->indexes[i].get();
  }
  if (maintainer == nullptr) return *done = true, OkStatus();  // dropped, or switched off again

  // Which keys come next; then, with those locked, what is under them now.
  storage::Range range = ObjectRange(active->schema->id);
  if (!cursor->empty()) range.lower = *cursor + '\0';
  std::vector<std::string> keys;
  auto names = kv.Iterate(storage::Space::kItems, range, nullptr, storage::Wait::kMayBlock);
  for (names->SeekToFirst(); names->Valid() && keys.size() < kStepItems; names->Next()) {
    keys.emplace_back(names->key());
  }
  HF_CHECK_OK(names->status());
  if (keys.empty()) return *done = true, OkStatus();
  std::vector<ByteView> lock_keys(keys.begin(), keys.end());
  KeyLocks::Held held;
  while (engine_->locks_.Acquire(lock_keys, std::chrono::steady_clock::now() + std::chrono::seconds(1),
                                 &held) != KeyLocks::kAll) {
    held.Release();
    if (thread_.stopping()) return Ok{};
  }

  Commit commit(&engine_->committer());
  std::vector<std::pair<std::string, std::string>> filled;  // to be told once they are written
  auto items = kv.Iterate(storage::Space::kItems, {keys.front(), keys.back() + '\0'}, nullptr,
                          storage::Wait::kMayBlock);
  auto next = keys.begin();
  for (items->SeekToFirst(); items->Valid(); items->Next()) {
    while (next != keys.end() && *next < items->key()) ++next;
    if (next == keys.end() || *next != items->key()) continue;  // written since, with the new schema
    StoredItem stored = DecodeStored(items->value());
    ItemChange change{active->schema.get(), items->key(), nullptr, &stored, {}, false, 0};
    MaintainerEffect effect = maintainer->Update(change, commit.batch());
    if (effect.touched && active->has_vectors()) filled.emplace_back(items->key(), items->value());
    HF_ASSERT(!effect.logs);  // nothing is snapshot before it is filled
  }
  HF_CHECK_OK(items->status());
  commit.batch()->Put(storage::Space::kCatalog, BackfillCursorKey(job.target), keys.back());
  HF_TRY(Stamp stamp, commit.Begin());
  HF_CHECK_OK(commit.Write(storage::Wait::kMayBlock, [&] {
    for (const auto& [key, value] : filled) {
      StoredItem stored = DecodeStored(value);
      maintainer->Written({active->schema.get(), key, nullptr, &stored, stamp, false, 0});
    }
  }));
  *cursor = std::move(keys.back());
  return Ok{};
}

Status Backfiller::Finish(const Job& job) {
  // Every entry must be durable and published before readers are sent to them.
  HF_CHECK_OK(engine_->committer().WaitDurable());
  // Writes that met half-filled entries could not keep the figures.
  if (job.target != job.table->schema()->id)
    HF_CHECK_OK(Recount(&engine_->kv(), job.table.get(), job.target, [this] { return thread_.stopping(); }));
  HF_CHECK_OK(engine_->ChangeSchema(job.table, [&](TableSchema* schema) -> Status {
    for (IndexSchema& index : schema->indexes) {
      if (index.id == job.target) index.status = IndexStatus::kActive;
    }
    if (job.target == schema->id && schema->ttl_status == TimeToLiveStatus::kEnabling) {
      schema->ttl_status = TimeToLiveStatus::kEnabled;
    }
    return Ok{};
  }));
  Commit commit(&engine_->committer(), Commit::Kind::kUpkeep);
  commit.batch()->Delete(storage::Space::kCatalog, BackfillCursorKey(job.target));
  return commit.WriteDurably();
}

}  // namespace holdfast::engine
