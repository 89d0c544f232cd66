// How items lie in storage: the keys they stand under and the bytes beneath. docs/format.md is the reference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/catalog/schema.h"
#include "storage/kv.h"
#include "value/flat.h"

namespace holdfast::engine {

// A stored value: what the item adds to sizes and capacity, then the item.
struct StoredItem {
  size_t size = 0;
  ByteView flat;

  value::MapView view() const { return value::MapView(flat); }
};
// Requires: bytes written by EncodeStored.
StoredItem DecodeStored(ByteView bytes);
void EncodeStored(size_t size, ByteView flat, std::string* out);
inline std::string EncodeStored(size_t size, ByteView flat) {
  std::string bytes;
  EncodeStored(size, flat, &bytes);
  return bytes;
}

// table id ‖ partition hash ‖ partition key field [‖ sort key field]
std::string ItemKey(const TableSchema& table, ByteView partition, std::optional<ByteView> sort);
// The same, of an item that has valid key attributes.
std::string ItemKeyOf(const TableSchema& table, value::MapView item);

// The item's key attributes alone: an item again.
std::string KeyAttributes(const TableSchema& table, value::MapView item);

// The base table's key as it closes an index entry's key: a hash of it, then its fields. Entries with equal
// index keys come in the order of that hash, as they do from DynamoDB.
std::string BaseKeySuffix(const TableSchema& table, value::MapView item);

// index id ‖ partition hash ‖ partition fields ‖ sort fields ‖ base key suffix. Empty when the item is not in
// the index: an index key attribute is missing, of another type, empty or too long.
std::optional<std::string> IndexEntryKey(const TableSchema& table, const IndexSchema& index,
                                         value::MapView item);
// Up to and including the partition fields.
std::string IndexPartitionPrefix(const IndexSchema& index, const std::vector<ByteView>& partition);

// The part of an item that an index stores.
std::string ProjectForIndex(const IndexSchema& index, value::MapView item);

// Everything of one table or index.
storage::Range ObjectRange(ObjectId id);
// Segment `segment` of `total` of it, by partition hash.
storage::Range SegmentRange(ObjectId id, int64_t segment, int64_t total);

// How a key attribute can be unfit.
enum class KeyFault : uint8_t { kNone, kWrongType, kEmpty, kTooLong };
KeyFault CheckKeyValue(const KeyAttribute& attribute, value::ValueView value, size_t bytes_max);

}  // namespace holdfast::engine
