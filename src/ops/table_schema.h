// From the definitions in CreateTable and UpdateTable to a schema, with everything DynamoDB refuses on the
// way.
#pragma once

#include <set>
#include <string_view>
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

// What is common to definitions of all kinds of indexes.
Error Invalid(const std::string& why);
const AttributeDefinition* FindDefinition(const std::vector<AttributeDefinition>& definitions,
                                          const std::string& name);
// An attribute that is a key already keeps its type. `role` as the API calls it: "HASH".
Status CheckNotRedefined(const std::string& name, std::string_view role,
                         const std::vector<AttributeDefinition>& definitions,
                         const engine::TableSchema& table);
Status CheckNameLength(const std::string& table, const std::string& index);
Status SetProjection(const Projection& projection, engine::IndexSchema* index);

// The attributes that a table must define: its keys, those of its indexes, and what searches may name.
std::set<std::string_view> NamesInKeys(const engine::TableSchema& table);
void AddNamesInKeys(const engine::IndexSchema& index, std::set<std::string_view>* names);

Status CheckThroughput(const ProvisionedThroughput& throughput);

Status CheckTags(const std::vector<Tag>& tags);

}  // namespace holdfast::ops
