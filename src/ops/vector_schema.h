// Definitions of vector indexes, with everything that is refused about them.
#pragma once

#include <vector>

#include "engine/catalog/schema.h"
#include "holdfast/ops/table.h"
#include "holdfast/result.h"

namespace holdfast::ops {

// A vector index for `table`, which holds the indexes that are there already. `definitions` are those of the
// request, which must name the attributes of the search schema.
Result<engine::IndexSchema> VectorIndexFrom(const VectorIndex& definition,
                                            const std::vector<AttributeDefinition>& definitions,
                                            const engine::TableSchema& table);

// "Vector indexes are only supported for PAY_PER_REQUEST tables".
Status CheckOnDemand(const engine::TableSchema& table);

// The settings of vector indexes that tags give (docs/compatibility.md). With a table given, it must have the
// index.
Status CheckVectorTags(const std::vector<Tag>& tags, const engine::TableSchema* table);

}  // namespace holdfast::ops
