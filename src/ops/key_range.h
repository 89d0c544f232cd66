// From key conditions to a range of storage keys.
#pragma once

#include <vector>

#include "expression/key_condition.h"
#include "ops/page.h"
#include "storage/kv.h"

namespace holdfast::ops {

// The key of a table or an index, whichever the target is.
struct TargetKeys {
  std::vector<engine::KeyAttribute> partition;
  std::vector<engine::KeyAttribute> sort;
};
TargetKeys KeysOf(const Target& target);

// Matches the conditions with the target's key: every partition attribute is fixed, sort attributes are taken
// from the left, and only the last one taken may be a range. The attributes of `start`, the ExclusiveStartKey
// or null, are checked along the way.
Result<storage::Range> KeyRange(const Target& target, const std::vector<expression::KeyCondition>& conditions,
                                const Item* start);

}  // namespace holdfast::ops
