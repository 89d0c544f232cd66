// ProjectionExpressions in requests, and stored bytes into the items that responses carry.
#pragma once

#include <optional>
#include <string>

#include "engine/catalog/schema.h"
#include "expression/projection.h"
#include "holdfast/value.h"

namespace holdfast::ops {

Result<std::optional<expression::Projection>> ParseProjection(const std::optional<std::string>& text,
                                                              expression::Scope* scope);
Status CheckProjectionPaths(const engine::TableSchema& schema, const expression::Projection* projection);

// The item in `stored`, projected when `projection` is given. `*size` is that of the whole item. Spends what
// it takes; whoever takes many asks `work`.
Item TakeItem(std::string stored, const expression::Projection* projection, size_t* size,
              base::WorkMeter* work);

}  // namespace holdfast::ops
