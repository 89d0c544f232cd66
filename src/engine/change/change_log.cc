#include "engine/change/change_log.h"

#include <algorithm>

#include "engine/commit/commit.h"
#include "value/difference.h"

namespace holdfast::engine {
namespace {

constexpr uint8_t kByTtl = 0x10;
constexpr uint8_t kOldIsPartial = 0x20;
constexpr uint8_t kOldIsDifference = 0x40;

// What follows a table's id in a key. Stored on disk: never renumber. Below lie records in the order of
// format 1.
enum class Part : uint8_t { kRecords = 0x10, kTrimmed = 0xff };

std::string PartKey(ObjectId table, Part part) {
  std::string key;
  base::AppendBigEndian(&key, table, 4);
  base::AppendBigEndian(&key, static_cast<uint64_t>(part), 1);
  return key;
}

// table id ‖ part ‖ commit number ‖ ordinal; of a record also ‖ shard. In the order of commits, so that
// records are always added at the end: to the write buffer, and to files that are then never rewritten.
std::string RecordKey(ObjectId table, uint64_t commit_number, uint32_t ordinal) {
  std::string key = PartKey(table, Part::kRecords);
  base::AppendBigEndian(&key, commit_number, 8);
  base::AppendBigEndian(&key, ordinal, 4);
  return key;
}

// The top 2 bits of the partition hash.
char ShardOf(ByteView item_key) {
  return static_cast<char>(static_cast<uint8_t>(item_key[4]) >> 6);
}

std::string TrimmedKey(ObjectId table) {
  return PartKey(table, Part::kTrimmed);
}

ChangeRecord::Kind KindOf(const ItemChange& change) {
  if (change.old == nullptr) return ChangeRecord::Kind::kInsert;
  return change.now == nullptr ? ChangeRecord::Kind::kRemove : ChangeRecord::Kind::kModify;
}

// kind and flags ‖ varint time ‖ varint length of what is kept of the old item ‖ that ‖ new item
std::string EncodeRecord(const ItemChange& change, Images images) {
  ChangeRecord::Kind kind = KindOf(change);
  uint8_t flags = static_cast<uint8_t>(kind) | (change.by_ttl ? kByTtl : 0);
  ByteView old, now;
  std::string kept;
  if (change.now != nullptr) now = change.now->flat;
  if (kind == ChangeRecord::Kind::kModify && images == Images::kBoth) {
    flags |= kOldIsDifference;
    value::AppendDifference(change.old->view(), change.now->view(), &kept);
    old = kept;
  } else if (change.old != nullptr && images == Images::kBoth) {
    old = change.old->flat;
  } else if (change.old != nullptr) {
    flags |= kOldIsPartial;
    if (kind == ChangeRecord::Kind::kRemove) old = kept = KeyAttributes(*change.table, change.old->view());
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

ChangePosition PositionIn(ByteView key) {
  return {CommitNumberIn(key), static_cast<uint32_t>(base::ReadBigEndian(key.substr(13), 4))};
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
  ChangePosition position = PositionIn(key);
  record.commit_number = position.commit_number;
  record.ordinal = position.ordinal;
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
  ByteView old = bytes.substr(0, old_size), now = bytes.substr(old_size);
  if (record.kind != ChangeRecord::Kind::kRemove) record.now = Item::FromFlat(std::string(now));
  if ((flags & kOldIsDifference) != 0) {
    std::optional<std::string> whole = value::ApplyDifference(old, value::MapView(now));
    if (!whole) return Damaged();
    record.old = Item::FromFlat(*std::move(whole));
  } else if (!old.empty()) {
    record.old = Item::FromFlat(std::string(old));
  }
  return record;
}

}  // namespace

void ChangeLog::Append(const ItemChange& change, Images images, storage::Batch* batch) {
  std::string key = RecordKey(change.table->id, change.stamp.number, change.ordinal);
  key.push_back(ShardOf(change.item_key));
  batch->Put(storage::Space::kChanges, key,
             images == Images::kKey ? EncodeKeyRecord(change) : EncodeRecord(change, images));
}

Result<uint64_t> ChangeLog::BringForward(ObjectId table) {
  constexpr size_t kStepBytes = 1 << 20;
  storage::Range before{PartKey(table, Part{0}), PartKey(table, Part::kRecords)};
  auto it = kv_->Iterate(storage::Space::kChanges, before, nullptr, storage::Wait::kMayBlock);
  std::optional<Commit> step;
  step.emplace(committer_, Commit::Kind::kUpkeep);
  uint64_t records = 0;
  size_t bytes = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++records) {
    // table id ‖ shard ‖ commit number ‖ ordinal
    std::string key = PartKey(table, Part::kRecords);
    key.append(it->key().substr(5)).push_back(it->key()[4]);
    step->batch()->Put(storage::Space::kChanges, key, it->value());
    bytes += key.size() + it->value().size();
    if (bytes < kStepBytes) continue;
    HF_CHECK_OK(step->Write(storage::Wait::kMayBlock));
    step.emplace(committer_, Commit::Kind::kUpkeep);
    bytes = 0;
  }
  HF_CHECK_OK(it->status());
  if (records == 0) return records;
  step->batch()->DeleteRange(storage::Space::kChanges, before);
  HF_CHECK_OK(step->Write(storage::Wait::kMayBlock));
  return records;
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
  auto it = kv_->Iterate(storage::Space::kChanges, {RecordKey(table.id, number + 1, 0), TrimmedKey(table.id)},
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
  storage::Range keys;
  keys.lower = after.ordinal == UINT32_MAX ? RecordKey(table, after.commit_number + 1, 0)
                                           : RecordKey(table, after.commit_number, after.ordinal + 1);
  keys.upper = RecordKey(table, end.commit_number + 1, 0);
  auto it = kv_->Iterate(storage::Space::kChanges, std::move(keys), nullptr, storage::Wait::kMayBlock);
  size_t passed_bytes = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    if (range.shard != ChangeRange::kAllShards && it->key().back() != range.shard) {
      passed_bytes += it->key().size() + it->value().size();
      if (passed_bytes >= range.passed_bytes_max) return PositionIn(it->key());
      continue;
    }
    if (IsKeyOnly(it->value())) continue;  // from before anybody wanted images
    HF_TRY(ChangeRecord record, DecodeRecord(it->key(), it->value()));
    ChangePosition at{record.commit_number, record.ordinal};
    if (!visit(std::move(record))) return at;
  }
  HF_CHECK_OK(it->status());
  return end;
}

Result<uint64_t> ChangeLog::LastBefore(ObjectId table, uint64_t after, int64_t time_millis) const {
  uint64_t last = after;
  uint64_t published = committer_->published()->number;
  auto it = kv_->Iterate(storage::Space::kChanges,
                         {RecordKey(table, after + 1, 0), RecordKey(table, published + 1, 0)}, nullptr,
                         storage::Wait::kMayBlock);
  size_t looks = 0;
  for (it->SeekToFirst(); it->Valid() && looks < kLooksMax; it->Next(), ++looks) {
    HF_TRY(int64_t time, TimeIn(it->value()));
    if (time >= time_millis) break;  // times never decrease from commit to commit
    last = CommitNumberIn(it->key());
  }
  HF_CHECK_OK(it->status());
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
  batch->DeleteRange(storage::Space::kChanges, {RecordKey(table, 0, 0), RecordKey(table, number + 1, 0)});
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
  HF_CHECK_OK(committer_->CheckSound());
  Commit commit(committer_, Commit::Kind::kUpkeep);
  storage::Batch* batch = commit.batch();
  std::map<ObjectId, uint64_t> trimmed;   // up to where, once it is written
  std::map<ObjectId, uint64_t> finished;  // nobody follows them: up to where they are emptied
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
          DeleteUpTo(id, *followed.last, batch);
          batch->Delete(storage::Space::kChanges, TrimmedKey(id));  // whoever comes begins later
          finished[id] = *followed.last;
        }
        at = settled ? followed_.erase(at) : std::next(at);
        continue;
      }
      followed.last.reset();
      if (*needless > followed.trimmed) {
        DeleteUpTo(id, *needless, batch);
        trimmed[id] = *needless;
        // Before the records go: nobody may be let in behind it any more.
        followed.watched_from = std::max(followed.watched_from, ChangePosition{*needless, UINT32_MAX});
      }
      ++at;
    }
  }
  if (batch->empty()) return Ok{};
  Status written = commit.Write(storage::Wait::kMayBlock);
  base::MutexLock lock(&mu_);
  if (!written) {
    // The records are still there: the next round deletes them, unless somebody follows the table again by
    // then.
    for (const auto& [id, last] : finished) followed_.try_emplace(id).first->second.last = last;
    return written;
  }
  for (const auto& [id, number] : trimmed) {
    if (auto found = followed_.find(id); found != followed_.end())
      found->second.trimmed = std::max(found->second.trimmed, number);
  }
  return Ok{};
}

}  // namespace holdfast::engine
