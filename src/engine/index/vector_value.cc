#include "engine/index/vector_value.h"

#include <cmath>

#include "value/number.h"

namespace holdfast::engine {

using value::Type;
using value::ValueView;

VectorFault CheckVector(ValueView value, int64_t dimensions) {
  using Kind = VectorFault::Kind;
  if (value.type() != Type::kList) return {.kind = Kind::kNotAList};
  value::ContainerView elements = value.entries();
  if (elements.size() != static_cast<uint64_t>(dimensions)) {
    return {.kind = Kind::kWrongSize, .size = elements.size()};
  }
  for (uint32_t i = 0; i < elements.size(); ++i) {
    ValueView element(elements.Entry(i));
    if (element.type() == Type::kNumber && value::FitsFloat(element.payload())) continue;
    return {.kind = Kind::kNotANumber, .position = i, .type = element.type()};
  }
  return {};
}

std::vector<float> ReadVector(ValueView value) {
  value::ContainerView elements = value.entries();
  std::vector<float> vector(elements.size());
  for (uint32_t i = 0; i < elements.size(); ++i)
    vector[i] = value::NearestFloat(ValueView(elements.Entry(i)).payload());
  return vector;
}

std::optional<ValueView> VectorOf(const VectorSchema& vector, value::MapView item) {
  auto value = item.Find(vector.attribute);
  if (!value || CheckVector(*value, vector.dimensions).kind != VectorFault::Kind::kNone) return std::nullopt;
  return value;
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
      size = size - value::ValueSize(*value) + static_cast<size_t>(4 * vector->dimensions);
  }
  return size;
}

}  // namespace holdfast::engine
