// Figures out of records that alarms and plans keep in the store, which another version may have written.
#pragma once

#include <cstdint>
#include <string_view>

#include "holdfast/value.h"

namespace holdfast::wire {

// 0 where there is no whole number.
inline int64_t IntegerOf(const AttributeMap& map, std::string_view name) {
  auto found = map.find(name);
  return found == map.end() ? 0 : found->second.AsInt64().value_or(0);
}

}  // namespace holdfast::wire
