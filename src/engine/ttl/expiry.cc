#include "engine/ttl/expiry.h"

#include "base/limits.h"
#include "engine/index/maintainer.h"
#include "engine/item/stored_item.h"

namespace holdfast::engine {

std::optional<int64_t> ExpirySeconds(value::MapView item, std::string_view attribute) {
  auto found = item.Find(attribute);
  if (!found || found->type() != value::Type::kNumber) return std::nullopt;
  value::Number number = found->number();
  int64_t seconds = 0;
  if (!number.ToInt64(&seconds)) {
    double fractional = number.ToDouble();
    if (!(fractional > 0 && fractional < 1e15)) return std::nullopt;
    seconds = static_cast<int64_t>(fractional);
  }
  if (seconds <= 0) return std::nullopt;
  return seconds;
}

bool IsExpired(int64_t expiry_seconds, int64_t now_seconds) {
  return expiry_seconds <= now_seconds && expiry_seconds > now_seconds - limits::kTtlAgeSecondsMax;
}

std::string ExpiryKey(ObjectId table, int64_t expiry_seconds, ByteView item_key) {
  std::string key;
  base::AppendBigEndian(&key, table, 4);
  base::AppendBigEndian(&key, static_cast<uint64_t>(expiry_seconds), 8);
  key.append(item_key.substr(4));
  return key;
}

ExpiryEntry ReadExpiryKey(ByteView key) {
  ExpiryEntry entry;
  entry.expiry_seconds = static_cast<int64_t>(base::ReadBigEndian(key.substr(4), 8));
  entry.item_key.append(key.substr(0, 4)).append(key.substr(12));
  return entry;
}

storage::Range ExpiryRange(ObjectId table, int64_t after_seconds, int64_t until_seconds) {
  storage::Range range = ObjectRange(table);
  range.upper = range.lower;
  base::AppendBigEndian(&range.lower, static_cast<uint64_t>(after_seconds) + 1, 8);
  base::AppendBigEndian(&range.upper, static_cast<uint64_t>(until_seconds) + 1, 8);
  return range;
}

MaintainerEffect TtlMaintainer::Update(const ItemChange& change, storage::Batch* batch) const {
  const std::string& attribute = change.table->ttl_attribute;
  std::optional<int64_t> old, now;
  if (change.old != nullptr) old = ExpirySeconds(change.old->view(), attribute);
  if (change.now != nullptr) now = ExpirySeconds(change.now->view(), attribute);
  if (old == now && change.old != nullptr && change.now != nullptr) return {};
  if (old) batch->Delete(storage::Space::kTtl, ExpiryKey(change.table->id, *old, change.item_key));
  if (now) batch->Put(storage::Space::kTtl, ExpiryKey(change.table->id, *now, change.item_key), {});
  return {};
}

}  // namespace holdfast::engine
