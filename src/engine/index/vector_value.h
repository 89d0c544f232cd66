// The vector in an item: an ordinary list of numbers, of which an index keeps 32-bit floats.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/catalog/schema.h"
#include "engine/item/stored_item.h"
#include "value/flat.h"

namespace holdfast::engine {

// How a value is unfit to be a vector.
struct VectorFault {
  enum class Kind : uint8_t { kNone, kNotAList, kWrongSize, kNotANumber };
  Kind kind = Kind::kNone;
  size_t size = 0;                        // kWrongSize: what it is
  size_t position = 0;                    // kNotANumber: of the element
  value::Type type = value::Type::kNull;  // kNotANumber: what it is; a number is too large for a float
};

// Checks without reading the digits. A vector without fault can be read.
VectorFault CheckVector(value::ValueView value, int64_t dimensions);

// Requires: CheckVector finds no fault.
std::vector<float> ReadVector(value::ValueView value);

// What puts an item into a vector index, in views of the item. Empty: the item is not in it.
struct IndexedVector {
  value::ValueView vector;
  ByteView partition;  // the HASH attribute's value; empty where the index has none
};
std::optional<IndexedVector> IndexedVectorOf(const IndexSchema& index, value::MapView item);

// What an item counts for in write units and table sizes: a vector that an index takes counts four bytes a
// dimension there, however many digits were written. `size` is the item's own.
size_t BilledSize(const TableSchema& table, value::MapView item, size_t size);

}  // namespace holdfast::engine
