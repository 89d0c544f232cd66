#include "engine/change/change_log.h"

#include <algorithm>

namespace holdfast::engine {
namespace {

constexpr uint8_t kByTtl = 0x10;
constexpr uint8_t kOldIsPartial = 0x20;
// Stands where a shard would, of the entry that says how far a table's log was trimmed.
constexpr uint64_t kTrimmedEntry = 0xff;

// table id ‖ shard (top 2 bits of the partition hash) ‖ commit number ‖ ordinal
std::string RecordKey(ObjectId table, int shard, uint64_t commit_number, uint32_t ordinal) {
  std::string key;
  base::AppendBigEndian(&key, table, 4);
  base::AppendBigEndian(&key, static_cast<uint64_t>(shard), 1);
  base::AppendBigEndian(&key, commit_number, 8);
  base::AppendBigEndian(&key, ordinal, 4);
  return key;
}

int ShardOf(ByteView item_key) {
  return static_cast<uint8_t>(item_key[4]) >> 6;
}

std::string TrimmedKey(ObjectId table) {
  std::string key;
  base::AppendBigEndian(&key, table, 4);
  base::AppendBigEndian(&key, kTrimmedEntry, 1);
  return key;
}

ChangeRecord::Kind KindOf(const ItemChange& change) {
  if (change.old == nullptr) return ChangeRecord::Kind::kInsert;
  return change.now == nullptr ? ChangeRecord::Kind::kRemove : ChangeRecord::Kind::kModify;
}

// kind and flags ‖ varint time ‖ varint length of the old item ‖ old item ‖ new item
std::string EncodeRecord(const ItemChange& change, Images images) {
  ChangeRecord::Kind kind = KindOf(change);
  uint8_t flags = static_cast<uint8_t>(kind) | (change.by_ttl ? kByTtl : 0);
  ByteView old, now;
  std::string key_attributes;
  if (change.now != nullptr) now = change.now->flat;
  if (change.old != nullptr && images == Images::kBoth) {
    old = change.old->flat;
  } else if (change.old != nullptr) {
    flags |= kOldIsPartial;
    if (kind == ChangeRecord::Kind::kRemove)
      old = key_attributes = KeyAttributes(*change.table, change.old->view());
  }
  std::string bytes;
  bytes.reserve(16 + old.size() + now.size());
  bytes.push_back(static_cast<char>(flags));
  base::AppendVarint(&bytes, static_cast<uint64_t>(change.stamp.time_millis));
  base::AppendVarint(&bytes, old.size());
  bytes.append(old).append(now);
  return bytes;
}

std::string EncodeKeyRecord(const ItemChange& change) {
  std::string bytes(1, static_cast<char>(ChangeRecord::Kind::kKey));
  base::AppendVarint(&bytes, static_cast<uint64_t>(change.stamp.time_millis));
  bytes.append(change.item_key);
  return bytes;
}

Error Damaged() {
  return Error(ErrorCode::kCorruption, "a change log record is damaged");
}

uint64_t CommitNumberIn(ByteView key) {
  return base::ReadBigEndian(key.substr(5), 8);
}

Result<int64_t> TimeIn(ByteView bytes) {
  uint64_t time = 0;
  bytes.remove_prefix(std::min<size_t>(1, bytes.size()));
  if (!base::ReadVarint(&bytes, &time)) return Damaged();
  return static_cast<int64_t>(time);
}

// kKey ‖ varint time ‖ storage key of the item
bool IsKeyOnly(ByteView bytes) {
  return !bytes.empty() && bytes[0] == static_cast<char>(ChangeRecord::Kind::kKey);
}

Result<ByteView> KeyInRecord(ByteView bytes) {
  uint64_t time = 0;
  bytes.remove_prefix(1);
  if (!base::ReadVarint(&bytes, &time)) return Damaged();
  return bytes;
}

Result<ChangeRecord> DecodeRecord(ByteView key, ByteView bytes) {
  ChangeRecord record;
  record.commit_number = CommitNumberIn(key);
  record.ordinal = static_cast<uint32_t>(base::ReadBigEndian(key.substr(13), 4));
  uint64_t time = 0, old_size = 0;
  auto flags = bytes.empty() ? uint8_t{0} : static_cast<uint8_t>(bytes[0]);
  bytes.remove_prefix(std::min<size_t>(1, bytes.size()));
  if (!base::ReadVarint(&bytes, &time) || !base::ReadVarint(&bytes, &old_size) || old_size > bytes.size()) {
    return Damaged();
  }
  record.kind = static_cast<ChangeRecord::Kind>(flags & 0x0f);
  record.by_ttl = (flags & kByTtl) != 0;
  record.time_millis = static_cast<int64_t>(time);
  record.old_is_whole = (flags & kOldIsPartial) == 0;
  if (old_size > 0) record.old = Item::FromFlat(std::string(bytes.substr(0, old_size)));
  if (record.kind != ChangeRecord::Kind::kRemove)
    record.now = Item::FromFlat(std::string(bytes.substr(old_size)));
  return record;
}

}  // namespace

void ChangeLog::Append(const ItemChange& change, Images images, storage::Batch* batch) {
  batch->Put(storage::Space::kChanges,
             RecordKey(change.table->id, ShardOf(change.item_key), change.stamp.number, change.ordinal),
             images == Images::kKey ? EncodeKeyRecord(change) : EncodeRecord(change, images));
}

void ChangeLog::Keep(ObjectId table, Consumer consumer, uint64_t after) {
  base::MutexLock lock(&mu_);
  uint64_t& kept_after = followed_[table].kept_after[consumer];
  kept_after = std::max(kept_after, after);
}

void ChangeLog::Forget(ObjectId table, Consumer consumer) {
  base::MutexLock lock(&mu_);
  if (auto found = followed_.find(table); found != followed_.end()) found->second.kept_after.erase(consumer);
}

void ChangeLog::ForgetAll(ObjectId table) {
  base::MutexLock lock(&mu_);
  if (auto found = followed_.find(table); found != followed_.end()) found->second.kept_after.clear();
}

std::optional<uint64_t> ChangeLog::KeptAfter(ObjectId table, Consumer consumer) const {
  base::MutexLock lock(&mu_);
  auto followed = followed_.find(table);
  if (followed == followed_.end()) return std::nullopt;
  auto kept = followed->second.kept_after.find(consumer);
  if (kept == followed->second.kept_after.end()) return std::nullopt;
  return kept->second;
}

Result<std::vector<std::string>> ChangeLog::ChangedSince(const TableSchema& table, uint64_t number) const {
  std::vector<std::string> keys;
  for (int shard = 0; shard < kShards; ++shard) {
    auto it =
        kv_->Iterate(storage::Space::kChanges,
                     {RecordKey(table.id, shard, number + 1, 0), RecordKey(table.id, shard, UINT64_MAX, 0)},
                     nullptr, storage::Wait::kMayBlock);
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      if (IsKeyOnly(it->value())) {
        HF_TRY(ByteView key, KeyInRecord(it->value()));
        keys.emplace_back(key);
      } else {
        HF_TRY(ChangeRecord record, DecodeRecord(it->key(), it->value()));
        keys.push_back(ItemKeyOf(table, value::MapView(record.now ? *record.now : *record.old)));
      }
    }
    HF_CHECK_OK(it->status());
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

Result<std::unique_ptr<Watch>> ChangeLog::Open(const TablePtr& table, std::optional<ChangePosition> from) {
  // With the gate closed no write to the table is under way: each either ended before, or will be logged.
  base::WriterLock gate(&table->gate);
  if (table->dropped) return Error(ErrorCode::kResourceNotFound, "the table is gone");
  ObjectId id = table->schema()->id;
  base::MutexLock lock(&mu_);
  ChangePosition now{committer_->begun_number(), UINT32_MAX};
  auto found = followed_.find(id);
  bool is_watched = found != followed_.end() && found->second.watched != nullptr;
  ChangePosition start = from.value_or(now);
  if (start < (is_watched ? found->second.watched_from : now))
    return Error(ErrorCode::kTrimmedDataAccess, "the changes after that position are no longer kept");
  Followed& followed = followed_[id];
  if (!is_watched) {
    followed.watched = table;
    followed.watched_from = now;
    table->watches.fetch_add(1);
  }
  followed.readers.insert(start);
  ++watches_;
  return std::unique_ptr<Watch>(new Watch(this, id, start));
}

Result<std::vector<ChangeRecord>> Watch::Read(size_t limit) {
  std::vector<ChangeRecord> records;
  if (limit == 0) return records;
  HF_TRY(ChangePosition next, log_->Visit(table_, {.after = position_}, [&](ChangeRecord record) {
    records.push_back(std::move(record));
    return records.size() < limit;
  }));
  log_->Move(table_, position_, next);
  position_ = next;
  return records;
}

Result<ChangePosition> ChangeLog::Visit(ObjectId table, const ChangeRange& range,
                                        const std::function<bool(ChangeRecord)>& visit) const {
  const ChangePosition& after = range.after;
  ChangePosition end{std::min(range.up_to, committer_->published()->number), UINT32_MAX};
  if (end <= after) return after;
  std::vector<std::unique_ptr<storage::Iterator>> shards;
  for (int shard = 0; shard < kShards; ++shard) {
    if (range.shard != ChangeRange::kAllShards && range.shard != shard) continue;
    storage::Range keys;
    keys.lower = after.ordinal == UINT32_MAX
                     ? RecordKey(table, shard, after.commit_number + 1, 0)
                     : RecordKey(table, shard, after.commit_number, after.ordinal + 1);
    keys.upper = RecordKey(table, shard, end.commit_number + 1, 0);
    if (keys.lower >= keys.upper) continue;
    auto it = kv_->Iterate(storage::Space::kChanges, std::move(keys), nullptr, storage::Wait::kMayBlock);
    it->SeekToFirst();
    shards.push_back(std::move(it));
  }
  while (true) {
    storage::Iterator* next = nullptr;
    for (auto& shard : shards) {
      if (!shard->Valid()) {
        HF_CHECK_OK(shard->status());
        continue;
      }
      if (next == nullptr || shard->key().substr(5) < next->key().substr(5)) next = shard.get();
    }
    if (next == nullptr) return end;
    if (!IsKeyOnly(next->value())) {  // those are from before anybody wanted images
      HF_TRY(ChangeRecord record, DecodeRecord(next->key(), next->value()));
      ChangePosition at{record.commit_number, record.ordinal};
      if (!visit(std::move(record))) return at;
    }
    next->Next();
  }
}

Result<uint64_t> ChangeLog::LastBefore(ObjectId table, uint64_t after, int64_t time_millis) const {
  uint64_t last = after;
  uint64_t published = committer_->published()->number;
  for (int shard = 0; shard < kShards; ++shard) {
    auto it = kv_->Iterate(storage::Space::kChanges,
                           {RecordKey(table, shard, after + 1, 0), RecordKey(table, shard, published + 1, 0)},
                           nullptr, storage::Wait::kMayBlock);
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      HF_TRY(int64_t time, TimeIn(it->value()));
      if (time >= time_millis) break;  // times never decrease from commit to commit
      last = std::max(last, CommitNumberIn(it->key()));
    }
    HF_CHECK_OK(it->status());
  }
  return last;
}

Result<uint64_t> ChangeLog::TrimmedUpTo(ObjectId table) const {
  std::string bytes;
  HF_TRY(bool found,
         kv_->Get(storage::Space::kChanges, TrimmedKey(table), nullptr, storage::Wait::kMayBlock, &bytes));
  if (!found) return uint64_t{0};
  if (bytes.size() != 8) return Damaged();
  return base::ReadBigEndian(bytes, 8);
}

bool ChangeLog::WaitUntil(const ChangePosition& after, std::chrono::steady_clock::time_point deadline) {
  // In the middle of a commit its other records are there.
  if (after.ordinal != UINT32_MAX) return true;
  base::MutexLock lock(&mu_);
  while (committer_->published()->number <= after.commit_number) {
    if (!published_.WaitUntil(&mu_, deadline)) return committer_->published()->number > after.commit_number;
  }
  return true;
}

void ChangeLog::Published() {
  base::MutexLock lock(&mu_);
  if (watches_ > 0) published_.NotifyAll();
}

void ChangeLog::Move(ObjectId table, const ChangePosition& from, const ChangePosition& to) {
  base::MutexLock lock(&mu_);
  Followed& followed = followed_.at(table);
  followed.readers.erase(followed.readers.find(from));
  followed.readers.insert(to);
}

void ChangeLog::Close(ObjectId table, const ChangePosition& at) {
  base::MutexLock lock(&mu_);
  Followed& followed = followed_.at(table);
  followed.readers.erase(followed.readers.find(at));
  --watches_;
}

void ChangeLog::DeleteUpTo(ObjectId table, uint64_t number, storage::Batch* batch) {
  for (int shard = 0; shard < kShards; ++shard) {
    batch->DeleteRange(storage::Space::kChanges,
                       {RecordKey(table, shard, 0, 0), RecordKey(table, shard, number, UINT32_MAX)});
  }
  std::string trimmed;
  base::AppendBigEndian(&trimmed, number, 8);
  batch->Put(storage::Space::kChanges, TrimmedKey(table), trimmed);
}

std::optional<uint64_t> ChangeLog::Needless(const Followed& followed) {
  std::optional<uint64_t> needless;
  auto need = [&](uint64_t after) { needless = std::min(needless.value_or(after), after); };
  for (const auto& [consumer, after] : followed.kept_after) need(after);
  if (!followed.readers.empty()) {
    uint64_t oldest = followed.readers.begin()->commit_number;
    need(oldest == 0 ? 0 : oldest - 1);  // the oldest reader may be in the middle of a commit
  }
  return needless;
}

Status ChangeLog::Trim() {
  std::unique_ptr<storage::Batch> batch = kv_->NewBatch();
  {
    base::MutexLock lock(&mu_);
    uint64_t published = committer_->published()->number;
    for (auto at = followed_.begin(); at != followed_.end();) {
      auto& [id, followed] = *at;
      if (followed.watched != nullptr && followed.readers.empty()) {
        followed.watched->watches.fetch_sub(1);
        followed.watched = nullptr;
      }
      std::optional<uint64_t> needless = Needless(followed);
      if (!needless) {
        // A write that began while somebody followed may be about to add its record, a later one adds none.
        if (!followed.last) followed.last = committer_->begun_number();
        bool settled = *followed.last <= published;
        if (settled) {
          DeleteUpTo(id, *followed.last, batch.get());
          batch->Delete(storage::Space::kChanges, TrimmedKey(id));  // whoever comes begins later
        }
        at = settled ? followed_.erase(at) : std::next(at);
        continue;
      }
      followed.last.reset();
      if (*needless > followed.trimmed) {
        DeleteUpTo(id, *needless, batch.get());
        followed.trimmed = *needless;
        followed.watched_from = std::max(followed.watched_from, ChangePosition{*needless, UINT32_MAX});
      }
      ++at;
    }
  }
  if (batch->empty()) return Ok{};
  return kv_->Write(batch.get(), storage::Wait::kMayBlock);
}

}  // namespace holdfast::engine
