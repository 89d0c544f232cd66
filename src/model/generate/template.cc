#include <algorithm>

#include "model/generate/generate.h"
#include "model/generate/shape.h"
#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

Node KeySchema(const std::vector<KeyAttribute>& hash, const std::vector<KeyAttribute>& range) {
  Node schema = Node::List();
  auto add = [&](const KeyAttribute& key, const char* type) {
    schema.Add(Node::Map().Set("AttributeName", key.name).Set("KeyType", type));
  };
  for (const KeyAttribute& key : hash) add(key, "HASH");
  for (const KeyAttribute& key : range) add(key, "RANGE");
  return schema;
}

// What all keys, indexes and filters of the table name, each once.
Node AttributeDefinitions(const Table& table) {
  std::vector<KeyAttribute> named = table.key;
  auto add = [&](const std::vector<KeyAttribute>& more) {
    named.insert(named.end(), more.begin(), more.end());
  };
  for (const Index& index : table.indexes) {
    add(index.hash);
    add(index.range);
  }
  for (const VectorIndex& index : table.vector_indexes) add(index.filters);
  Node definitions = Node::List();
  for (auto at = named.begin(); at != named.end(); ++at) {
    bool known =
        std::any_of(named.begin(), at, [&](const KeyAttribute& earlier) { return earlier.name == at->name; });
    if (!known)
      definitions.Add(
          Node::Map().Set("AttributeName", at->name).Set("AttributeType", std::string(1, at->type)));
  }
  return definitions;
}

Node Indexes(const Table& table) {
  Node indexes = Node::List();
  for (const Index& index : table.indexes) {
    Node projection = Node::Map().Set("ProjectionType", index.projection);
    if (!index.include.empty()) projection.Set("NonKeyAttributes", Node::List(index.include));
    indexes.Add(Node::Map()
                    .Set("IndexName", index.name)
                    .Set("KeySchema", KeySchema(index.hash, index.range))
                    .Set("Projection", std::move(projection)));
  }
  return indexes;
}

Node VectorIndexes(const Table& table) {
  Node indexes = Node::List();
  for (const VectorIndex& index : table.vector_indexes) {
    Node node = Node::Map()
                    .Set("IndexName", index.name)
                    .Set("VectorAttribute", Node::Map().Set("AttributeName", index.attribute))
                    .Set("Dimensions", index.dimensions)
                    .Set("DistanceFunction", index.distance)
                    .Set("Projection", Node::Map().Set("ProjectionType", "ALL"));
    Node schema = Node::List();
    for (const KeyAttribute& filter : index.filters) {
      schema.Add(
          Node::Map().Set("AttributeName", filter.name).Set("SearchSchemaElementType", "INLINE_FILTER"));
    }
    if (!schema.empty()) node.Set("SearchSchema", std::move(schema));
    indexes.Add(std::move(node));
  }
  return indexes;
}

Node Properties(const Table& table) {
  Node properties = Node::Map()
                        .Set("TableName", table.name)
                        .Set("BillingMode", "PAY_PER_REQUEST")
                        .Set("AttributeDefinitions", AttributeDefinitions(table))
                        .Set("KeySchema", KeySchema({table.key.begin(), table.key.begin() + 1},
                                                    {table.key.begin() + 1, table.key.end()}));
  if (!table.indexes.empty()) properties.Set("GlobalSecondaryIndexes", Indexes(table));
  if (!table.vector_indexes.empty()) properties.Set("VectorIndexes", VectorIndexes(table));
  if (!table.ttl.empty()) {
    properties.Set("TimeToLiveSpecification",
                   Node::Map().Set("AttributeName", table.ttl).Set("Enabled", true));
  }
  if (table.point_in_time_recovery) {
    properties.Set("PointInTimeRecoverySpecification", Node::Map().Set("PointInTimeRecoveryEnabled", true));
  }
  if (table.encryption) properties.Set("SSESpecification", Node::Map().Set("SSEEnabled", true));
  Node tags = Node::List();
  for (const auto& [key, value] : table.tags) tags.Add(Node::Map().Set("Key", key).Set("Value", value));
  if (!tags.empty()) properties.Set("Tags", std::move(tags));
  return properties;
}

// CloudFormation has no place for how a vector index is built, nor for the region of a stack.
std::string Remarks(const Table& table) {
  std::string remarks;
  if (!table.region.empty())
    remarks += Cat("# ", table.name, " is meant for the region ", table.region, ".\n");
  for (const VectorIndex& index : table.vector_indexes) {
    std::vector<std::string> settings;
    if (index.m) settings.push_back("m = " + std::to_string(*index.m));
    if (index.ef_construction)
      settings.push_back("ef_construction = " + std::to_string(*index.ef_construction));
    if (settings.empty()) continue;
    remarks +=
        Cat("# Not expressible here: ", Join(settings, ", "), " of the vector index ", index.name, ".\n");
  }
  return remarks;
}

}  // namespace

std::string CloudFormationTemplate(const Model& model) {
  Node resources = Node::Map();
  Node outputs = Node::Map();
  std::string remarks;
  std::string previous;  // the last table with indexes: DynamoDB makes only so many of them at a time
  for (const auto& table : model.tables) {
    std::string prefix = model.tables.size() == 1 ? "" : PascalName(table->id);
    std::string resource = PascalName(table->id) + "Table";
    Node node = Node::Map().Set("Type", "AWS::DynamoDB::Table");
    bool indexed = !table->indexes.empty() || !table->vector_indexes.empty();
    if (indexed && !previous.empty()) node.Set("DependsOn", previous);
    if (indexed) previous = resource;
    resources.Set(resource, std::move(node.Set("Properties", Properties(*table))));
    outputs.Set(prefix + "TableName", Node::Map().Set("Value", Node::Raw("!Ref " + resource)));
    outputs.Set(prefix + "TableArn", Node::Map().Set("Value", Node::Raw(Cat("!GetAtt ", resource, ".Arn"))));
    remarks += Remarks(*table);
  }
  return Cat("# ", Notice(model), "\n", remarks,
             Node::Map()
                 .Set("AWSTemplateFormatVersion", "2010-09-09")
                 .Set("Description", model.title.empty() ? model.name : model.title)
                 .Set("Resources", std::move(resources))
                 .Set("Outputs", std::move(outputs))
                 .ToYaml());
}

}  // namespace holdfast::model::generate
