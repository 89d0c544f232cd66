// From the definitions in CreateTable and UpdateTable to a schema, with everything DynamoDB refuses on the
// way.
#pragma once

#include <vector>

#include "engine/catalog/schema.h"
#include "holdfast/ops/create_table.h"
#include "holdfast/ops/table.h"
#include "holdfast/result.h"

namespace holdfast::ops {

Result<engine::TableSchema> SchemaFrom(const CreateTableRequest& request);

// A global index for a table that exists. `definitions` are those of the request, which must name the index's
// keys.
Result<engine::IndexSchema> IndexFrom(const GlobalSecondaryIndex& index,
                                      const std::vector<AttributeDefinition>& definitions,
                                      const engine::TableSchema& table);

// Refused until streams and encryption at rest are there, unless they say that there shall be none.
Status CheckUnsupported(const std::optional<StreamSpecification>& stream,
                        const std::optional<SseSpecification>& encryption);

Status CheckThroughput(const ProvisionedThroughput& throughput);

Status CheckTags(const std::vector<Tag>& tags);

}  // namespace holdfast::ops
