#include "engine/index/vector_value.h"

#include <cmath>

#include "base/limits.h"
#include "value/number.h"

namespace holdfast::engine {

using value::Type;
using value::ValueView;

namespace {

// What ValueSize gives for a list of numbers, whose elements' bytes, tags included, are all there is to add.
size_t SizeOfVector(ValueView value) {
  value::ContainerView elements = value.entries();
  if (elements.empty()) return 3;
  ByteView last = elements.Entry(elements.size() - 1);
  return 3 + static_cast<size_t>(last.data() + last.size() - elements.Entry(0).data());
}

// The sound vector that `item` has for an index. Empty: none, or a malformed one.
std::optional<ValueView> VectorOf(const VectorSchema& vector, value::MapView item) {
  auto value = item.Find(vector.attribute);
  if (!value || CheckVector(*value, vector.dimensions).kind != VectorFault::Kind::kNone) return std::nullopt;
  return value;
}

}  // namespace

VectorFault CheckVector(ValueView value, int64_t dimensions) {
  using Kind = VectorFault::Kind;
  if (value.type() != Type::kList) return {.kind = Kind::kNotAList};
  value::ContainerView elements = value.entries();
  if (elements.size() != static_cast<uint64_t>(dimensions)) {
    return {.kind = Kind::kWrongSize, .size = elements.size()};
  }
  VectorFault fault;
  elements.VisitAll([&](uint32_t i, ByteView entry) {
    ValueView element(entry);
    if (element.type() == Type::kNumber && value::FitsFloat(element.payload())) return true;
    fault = {.kind = Kind::kNotANumber, .position = i, .type = element.type()};
    return false;
  });
  return fault;
}

std::vector<float> ReadVector(ValueView value) {
  value::ContainerView elements = value.entries();
  std::vector<float> vector(elements.size());
  elements.VisitAll([&](uint32_t i, ByteView entry) {
    vector[i] = value::NearestFloat(ValueView(entry).payload());
    return true;
  });
  return vector;
}

std::optional<IndexedVector> IndexedVectorOf(const IndexSchema& index, value::MapView item) {
  auto vector = VectorOf(*index.vector, item);
  if (!vector) return std::nullopt;
  if (index.partition.empty()) return IndexedVector{*vector, {}};
  const KeyAttribute& hash = index.partition[0];
  auto value = item.Find(hash.name);
  if (!value || CheckKeyValue(hash, *value, limits::kPartitionKeyBytesMax) != KeyFault::kNone)
    return std::nullopt;
  return IndexedVector{*vector, value->bytes()};
}

size_t BilledSize(const TableSchema& table, value::MapView item, size_t size) {
  for (size_t i = 0; i < table.indexes.size(); ++i) {
    const auto& vector = table.indexes[i].vector;
    if (!vector) continue;
    // Several indexes may share an attribute, which counts once.
    bool counted = false;
    for (size_t k = 0; k < i; ++k)
      counted |= table.indexes[k].vector && table.indexes[k].vector->attribute == vector->attribute;
    if (counted) continue;
    if (auto value = VectorOf(*vector, item))
      size = size - SizeOfVector(*value) + static_cast<size_t>(4 * vector->dimensions);
  }
  return size;
}

}  // namespace holdfast::engine
