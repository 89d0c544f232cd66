// An item told by what it shares with another: short where a change left most of an item as it was.
//
//   std::string difference;
//   AppendDifference(old, now, &difference);
//   std::optional<std::string> again = ApplyDifference(difference, now);   // old's bytes
//
// Layout (docs/format.md): for each attribute in order a varint: the position, counted from 1, of the
// attribute in the other item that is equal to it; or 0, and varint name length ‖ name ‖ varint value length
// ‖ value.
#pragma once

#include <optional>
#include <string>

#include "value/flat.h"

namespace holdfast::value {

// Appends what makes `item` of `other`.
void AppendDifference(MapView item, MapView other, std::string* bytes);

// Returns the bytes of the item, or nothing when `difference` is not one from `other`.
std::optional<std::string> ApplyDifference(ByteView difference, MapView other);

}  // namespace holdfast::value
