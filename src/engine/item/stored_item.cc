#include "engine/item/stored_item.h"

#include "base/limits.h"
#include "value/key_codec.h"

namespace holdfast::engine {
namespace {

using value::MapView;
using value::Type;
using value::ValueView;

void AppendObjectId(ObjectId id, std::string* out) {
  base::AppendBigEndian(out, id, 4);
}

}  // namespace

StoredItem DecodeStored(ByteView bytes) {
  uint64_t size = 0;
  bool read = base::ReadVarint(&bytes, &size);
  HF_ASSERT(read);
  return {static_cast<size_t>(size), bytes};
}

void EncodeStored(size_t size, ByteView flat, std::string* out) {
  out->reserve(out->size() + 4 + flat.size());
  base::AppendVarint(out, size);
  out->append(flat);
}

std::string ItemKey(const TableSchema& table, ByteView partition, std::optional<ByteView> sort) {
  std::string key;
  key.reserve(4 + 2 + partition.size() + 2 + (sort ? sort->size() + 2 : 0) + 4);
  AppendObjectId(table.id, &key);
  base::AppendBigEndian(&key, value::PartitionHash(partition), 2);
  value::AppendKeyField(partition, &key);
  if (sort) value::AppendKeyField(*sort, &key);
  return key;
}

std::string ItemKeyOf(const TableSchema& table, MapView item) {
  auto partition = item.Find(table.partition.name);
  HF_ASSERT(partition.has_value());
  if (!table.sort) return ItemKey(table, partition->payload(), std::nullopt);
  auto sort = item.Find(table.sort->name);
  HF_ASSERT(sort.has_value());
  return ItemKey(table, partition->payload(), sort->payload());
}

std::string BaseKeySuffix(const TableSchema& table, MapView item) {
  auto partition = item.Find(table.partition.name);
  HF_ASSERT(partition.has_value());
  std::string payloads(partition->payload()), fields;
  value::AppendKeyField(partition->payload(), &fields);
  if (table.sort) {
    auto sort = item.Find(table.sort->name);
    HF_ASSERT(sort.has_value());
    payloads.append(sort->payload());
    value::AppendKeyField(sort->payload(), &fields);
  }
  std::string suffix;
  base::AppendBigEndian(&suffix, value::PartitionHash(payloads), 2);
  return suffix + fields;
}

std::string IndexPartitionPrefix(const IndexSchema& index, const std::vector<ByteView>& partition) {
  std::string key, fields;
  AppendObjectId(index.id, &key);
  for (ByteView payload : partition) value::AppendKeyField(payload, &fields);
  uint16_t hash = partition.size() == 1 ? value::PartitionHash(partition[0]) : value::PartitionHash(fields);
  base::AppendBigEndian(&key, hash, 2);
  return key + fields;
}

std::optional<std::string> IndexEntryKey(const TableSchema& table, const IndexSchema& index, MapView item) {
  std::vector<ByteView> partition;
  partition.reserve(index.partition.size());
  for (const KeyAttribute& attribute : index.partition) {
    auto value = item.Find(attribute.name);
    if (!value || CheckKeyValue(attribute, *value, limits::kPartitionKeyBytesMax) != KeyFault::kNone) {
      return std::nullopt;
    }
    partition.push_back(value->payload());
  }
  std::string sort;
  for (const KeyAttribute& attribute : index.sort) {
    auto value = item.Find(attribute.name);
    if (!value || CheckKeyValue(attribute, *value, limits::kSortKeyBytesMax) != KeyFault::kNone)
      return std::nullopt;
    value::AppendKeyField(value->payload(), &sort);
  }
  return IndexPartitionPrefix(index, partition) + sort + BaseKeySuffix(table, item);
}

std::string ProjectForIndex(const IndexSchema& index, MapView item) {
  if (index.projection == ProjectionType::kAll) return std::string(item.bytes());
  value::FlatWriter writer;
  writer.BeginMap();
  auto name = index.projected.begin();
  for (uint32_t i = 0; i < item.size() && name != index.projected.end();) {  // both are sorted
    value::Attribute attribute = item.At(i);
    int order = attribute.name.compare(*name);
    bool kept = !index.vector || attribute.name != index.vector->attribute;
    if (order == 0 && kept) {
      writer.Name(attribute.name);
      writer.Copy(attribute.value);
    }
    if (order <= 0) ++i;
    if (order >= 0) ++name;
  }
  writer.EndMap();
  return writer.TakeMap();
}

std::string KeyAttributes(const TableSchema& table, MapView item) {
  value::FlatWriter writer;
  writer.BeginMap();
  auto copy = [&](const KeyAttribute& key) {
    std::optional<value::ValueView> value = item.Find(key.name);
    if (!value) return;
    writer.Name(key.name);
    writer.Copy(*value);
  };
  copy(table.partition);
  if (table.sort) copy(*table.sort);
  writer.EndMap();
  return writer.TakeMap();
}

storage::Range ObjectRange(ObjectId id) {
  storage::Range range;
  AppendObjectId(id, &range.lower);
  AppendObjectId(id + 1, &range.upper);
  return range;
}

storage::Range SegmentRange(ObjectId id, int64_t segment, int64_t total) {
  storage::Range range = ObjectRange(id);
  auto first_hash = [total](int64_t s) { return (65536 * s + total - 1) / total; };
  int64_t lower = first_hash(segment), upper = first_hash(segment + 1);
  if (lower == upper) return {range.lower, range.lower};  // more segments than hashes
  base::AppendBigEndian(&range.lower, static_cast<uint64_t>(lower), 2);
  if (upper < 65536) {
    range.upper.clear();
    AppendObjectId(id, &range.upper);
    base::AppendBigEndian(&range.upper, static_cast<uint64_t>(upper), 2);
  }
  return range;
}

KeyFault CheckKeyValue(const KeyAttribute& attribute, ValueView value, size_t bytes_max) {
  if (value.type() != attribute.type) return KeyFault::kWrongType;
  if (attribute.type == Type::kNumber) return KeyFault::kNone;
  if (value.payload().empty()) return KeyFault::kEmpty;
  return value.payload().size() > bytes_max ? KeyFault::kTooLong : KeyFault::kNone;
}

}  // namespace holdfast::engine
