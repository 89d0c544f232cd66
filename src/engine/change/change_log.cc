#include "engine/change/change_log.h"

#include <algorithm>

namespace holdfast::engine {
namespace {

constexpr int kShards = 4;
constexpr uint8_t kByTtl = 0x10;

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

// kind and flags ‖ varint time ‖ varint length of the old item ‖ old item ‖ new item
std::string EncodeRecord(const ItemChange& change) {
  auto kind = change.old == nullptr   ? ChangeRecord::Kind::kInsert
              : change.now == nullptr ? ChangeRecord::Kind::kRemove
                                      : ChangeRecord::Kind::kModify;
  std::string bytes;
  bytes.push_back(static_cast<char>(static_cast<uint8_t>(kind) | (change.by_ttl ? kByTtl : 0)));
  base::AppendVarint(&bytes, static_cast<uint64_t>(change.stamp.time_millis));
  base::AppendVarint(&bytes, change.old == nullptr ? 0 : change.old->flat.size());
  if (change.old != nullptr) bytes.append(change.old->flat);
  if (change.now != nullptr) bytes.append(change.now->flat);
  return bytes;
}

// kKey ‖ varint time ‖ storage key of the item
bool IsKeyOnly(ByteView bytes) {
  return !bytes.empty() && bytes[0] == static_cast<char>(ChangeRecord::Kind::kKey);
}

Result<ByteView> KeyInRecord(ByteView bytes) {
  uint64_t time = 0;
  bytes.remove_prefix(1);
  if (!base::ReadVarint(&bytes, &time))
    return Error(ErrorCode::kCorruption, "a change log record is damaged");
  return bytes;
}

Result<ChangeRecord> DecodeRecord(ByteView key, ByteView bytes) {
  ChangeRecord record;
  record.commit_number = base::ReadBigEndian(key.substr(5), 8);
  record.ordinal = static_cast<uint32_t>(base::ReadBigEndian(key.substr(13), 4));
  uint64_t time = 0, old_size = 0;
  auto flags = bytes.empty() ? uint8_t{0} : static_cast<uint8_t>(bytes[0]);
  bytes.remove_prefix(std::min<size_t>(1, bytes.size()));
  if (!base::ReadVarint(&bytes, &time) || !base::ReadVarint(&bytes, &old_size) || old_size > bytes.size()) {
    return Error(ErrorCode::kCorruption, "a change log record is damaged");
  }
  record.kind = static_cast<ChangeRecord::Kind>(flags & 0x0f);
  record.by_ttl = (flags & kByTtl) != 0;
  record.time_millis = static_cast<int64_t>(time);
  if (record.kind != ChangeRecord::Kind::kInsert)
    record.old = Item::FromFlat(std::string(bytes.substr(0, old_size)));
  if (record.kind != ChangeRecord::Kind::kRemove)
    record.now = Item::FromFlat(std::string(bytes.substr(old_size)));
  return record;
}

}  // namespace

void ChangeLog::Append(const ItemChange& change, storage::Batch* batch) {
  batch->Put(storage::Space::kChanges,
             RecordKey(change.table->id, ShardOf(change.item_key), change.stamp.number, change.ordinal),
             EncodeRecord(change));
}

void ChangeLog::AppendKey(const ItemChange& change, storage::Batch* batch) {
  std::string bytes(1, static_cast<char>(ChangeRecord::Kind::kKey));
  base::AppendVarint(&bytes, static_cast<uint64_t>(change.stamp.time_millis));
  bytes.append(change.item_key);
  batch->Put(storage::Space::kChanges,
             RecordKey(change.table->id, ShardOf(change.item_key), change.stamp.number, change.ordinal),
             bytes);
}

void ChangeLog::KeepAfter(ObjectId table, uint64_t number) {
  base::MutexLock lock(&mu_);
  kept_[table].after = number;
}

void ChangeLog::Forget(ObjectId table) {
  base::MutexLock lock(&mu_);
  if (auto kept = kept_.find(table); kept != kept_.end()) kept->second.after = UINT64_MAX;
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
  auto [entry, is_new] = retained_.try_emplace(id, Retained{table, now, {}});
  if (is_new) table->log_consumers.fetch_add(1);
  ChangePosition start = from.value_or(now);
  if (start < entry->second.start) {
    if (is_new) {
      table->log_consumers.fetch_sub(1);
      retained_.erase(entry);
    }
    return Error(ErrorCode::kTrimmedDataAccess, "the changes after that position are no longer kept");
  }
  entry->second.readers.insert(start);
  return std::unique_ptr<Watch>(new Watch(this, id, start));
}

Result<std::vector<ChangeRecord>> Watch::Read(size_t limit) {
  ChangePosition next = position_;
  HF_TRY(std::vector<ChangeRecord> records, log_->Read(table_, position_, limit, &next));
  log_->Move(table_, position_, next);
  position_ = next;
  return records;
}

Result<std::vector<ChangeRecord>> ChangeLog::Read(ObjectId table, const ChangePosition& after, size_t limit,
                                                  ChangePosition* go_on) const {
  uint64_t published = committer_->published()->number;
  *go_on = after;
  if (published <= after.commit_number && after.ordinal == UINT32_MAX) return std::vector<ChangeRecord>();
  std::vector<std::unique_ptr<storage::Iterator>> shards;
  for (int shard = 0; shard < kShards; ++shard) {
    storage::Range range;
    range.lower = after.ordinal == UINT32_MAX
                      ? RecordKey(table, shard, after.commit_number + 1, 0)
                      : RecordKey(table, shard, after.commit_number, after.ordinal + 1);
    range.upper = RecordKey(table, shard, published + 1, 0);
    if (range.lower >= range.upper) continue;
    auto it = kv_->Iterate(storage::Space::kChanges, std::move(range), nullptr, storage::Wait::kMayBlock);
    it->SeekToFirst();
    shards.push_back(std::move(it));
  }
  std::vector<ChangeRecord> records;
  while (records.size() < limit) {
    storage::Iterator* next = nullptr;
    for (auto& shard : shards) {
      if (!shard->Valid()) {
        HF_CHECK_OK(shard->status());
        continue;
      }
      if (next == nullptr || shard->key().substr(5) < next->key().substr(5)) next = shard.get();
    }
    if (next == nullptr) {
      *go_on = std::max(after, ChangePosition{published, UINT32_MAX});
      break;
    }
    if (IsKeyOnly(next->value())) {  // from before anybody watched
      next->Next();
      continue;
    }
    HF_TRY(ChangeRecord record, DecodeRecord(next->key(), next->value()));
    *go_on = {record.commit_number, record.ordinal};
    records.push_back(std::move(record));
    next->Next();
  }
  return records;
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
  if (!retained_.empty()) published_.NotifyAll();
}

void ChangeLog::Move(ObjectId table, const ChangePosition& from, const ChangePosition& to) {
  base::MutexLock lock(&mu_);
  Retained& retained = retained_.at(table);
  retained.readers.erase(retained.readers.find(from));
  retained.readers.insert(to);
}

void ChangeLog::Close(ObjectId table, const ChangePosition& at) {
  base::MutexLock lock(&mu_);
  Retained& retained = retained_.at(table);
  retained.readers.erase(retained.readers.find(at));
}

void ChangeLog::DeleteUpTo(ObjectId table, uint64_t number, storage::Batch* batch) {
  for (int shard = 0; shard < kShards; ++shard) {
    batch->DeleteRange(storage::Space::kChanges,
                       {RecordKey(table, shard, 0, 0), RecordKey(table, shard, number, UINT32_MAX)});
  }
}

uint64_t ChangeLog::TrimLimit(ObjectId table, uint64_t number) const {
  auto kept = kept_.find(table);
  return kept == kept_.end() ? number : std::min(number, kept->second.after);
}

Status ChangeLog::Trim() {
  std::unique_ptr<storage::Batch> batch = kv_->NewBatch();
  {
    base::MutexLock lock(&mu_);
    for (auto at = retained_.begin(); at != retained_.end();) {
      auto& [id, retained] = *at;
      if (retained.readers.empty()) {
        retained.table->log_consumers.fetch_sub(1);
        DeleteUpTo(id, TrimLimit(id, UINT64_MAX), batch.get());
        at = retained_.erase(at);
        continue;
      }
      const ChangePosition& oldest = *retained.readers.begin();
      if (oldest.commit_number > retained.start.commit_number + 1) {
        DeleteUpTo(id, TrimLimit(id, oldest.commit_number - 1), batch.get());
        retained.start = {oldest.commit_number - 1, UINT32_MAX};
      }
      ++at;
    }
    for (auto& [id, kept] : kept_) {
      if (retained_.contains(id) || kept.after <= kept.trimmed) continue;
      DeleteUpTo(id, kept.after, batch.get());
      kept.trimmed = kept.after;
    }
    std::erase_if(kept_, [](const auto& entry) { return entry.second.trimmed == UINT64_MAX; });
  }
  if (batch->empty()) return Ok{};
  return kv_->Write(batch.get(), storage::Wait::kMayBlock);
}

}  // namespace holdfast::engine
