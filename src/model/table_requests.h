// The tables of a model as requests to a store.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "holdfast/ops/create_table.h"
#include "model/model.h"

namespace holdfast::model {

std::vector<KeyAttribute> HashOf(const Table& table);
std::vector<KeyAttribute> RangeOf(const Table& table);

// For people: "PK:S / SK:S".
std::string KeysText(const std::vector<KeyAttribute>& hash, const std::vector<KeyAttribute>& range);
std::string SchemaText(const std::vector<KeySchemaElement>& schema,
                       const std::vector<AttributeDefinition>& definitions);

// One definition per attribute that any key names.
class Definitions {
 public:
  void Add(const std::vector<KeyAttribute>& attributes);
  std::vector<AttributeDefinition> list;

 private:
  std::set<std::string> seen_;
};

GlobalSecondaryIndex IndexRequest(const Index& index);
holdfast::VectorIndex VectorIndexRequest(const VectorIndex& index);
// With its tags, among which are the settings of vector indexes; TTL has a request of its own.
CreateTableRequest CreateRequest(const Table& table);

}  // namespace holdfast::model
