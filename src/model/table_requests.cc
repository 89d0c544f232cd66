#include "model/table_requests.h"

namespace holdfast::model {
namespace {

std::vector<KeySchemaElement> KeySchemaOf(const std::vector<KeyAttribute>& hash,
                                          const std::vector<KeyAttribute>& range) {
  std::vector<KeySchemaElement> schema;
  for (const KeyAttribute& attribute : hash) schema.push_back({attribute.name, KeyType::kHash});
  for (const KeyAttribute& attribute : range) schema.push_back({attribute.name, KeyType::kRange});
  return schema;
}

ScalarAttributeType TypeOf(char type) {
  return type == 'N'   ? ScalarAttributeType::kNumber
         : type == 'B' ? ScalarAttributeType::kBinary
                       : ScalarAttributeType::kString;
}

Projection ProjectionOf(const Index& index) {
  Projection projection;
  projection.projection_type = index.projection == "ALL"         ? ProjectionType::kAll
                               : index.projection == "KEYS_ONLY" ? ProjectionType::kKeysOnly
                                                                 : ProjectionType::kInclude;
  if (!index.include.empty()) projection.non_key_attributes = index.include;
  return projection;
}

// The settings that only this database has, by tag; other stores ignore it.
std::optional<Tag> SettingsOf(const VectorIndex& index) {
  std::string text;
  if (index.m) text += "m=" + std::to_string(*index.m);
  if (index.ef_construction)
    text +=
        (text.empty() ? "" : " ") + std::string("ef_construction=") + std::to_string(*index.ef_construction);
  if (text.empty()) return std::nullopt;
  return Tag{"holdfast:vector:" + index.name, text};
}

}  // namespace

std::string KeysText(const std::vector<KeyAttribute>& hash, const std::vector<KeyAttribute>& range) {
  std::string text;
  for (const KeyAttribute& attribute : hash)
    text += (text.empty() ? "" : " + ") + attribute.name + ":" + attribute.type;
  for (const KeyAttribute& attribute : range) text += " / " + attribute.name + ":" + attribute.type;
  return text;
}

std::string SchemaText(const std::vector<KeySchemaElement>& schema,
                       const std::vector<AttributeDefinition>& definitions) {
  std::vector<KeyAttribute> hash;
  std::vector<KeyAttribute> range;
  for (const KeySchemaElement& element : schema) {
    char type = 'S';
    for (const AttributeDefinition& definition : definitions) {
      if (definition.attribute_name == element.attribute_name) type = NameOf(definition.attribute_type)[0];
    }
    (element.key_type == KeyType::kHash ? hash : range).push_back({element.attribute_name, type});
  }
  return KeysText(hash, range);
}

std::vector<KeyAttribute> HashOf(const Table& table) {
  return {table.key[0]};
}
std::vector<KeyAttribute> RangeOf(const Table& table) {
  return {table.key.begin() + 1, table.key.end()};
}

void Definitions::Add(const std::vector<KeyAttribute>& attributes) {
  for (const KeyAttribute& attribute : attributes) {
    if (seen_.insert(attribute.name).second) list.push_back({attribute.name, TypeOf(attribute.type)});
  }
}

GlobalSecondaryIndex IndexRequest(const Index& index) {
  GlobalSecondaryIndex request;
  request.index_name = index.name;
  request.key_schema = KeySchemaOf(index.hash, index.range);
  request.projection = ProjectionOf(index);
  return request;
}

holdfast::VectorIndex VectorIndexRequest(const VectorIndex& index) {
  holdfast::VectorIndex request;
  request.index_name = index.name;
  request.vector_attribute.attribute_name = index.attribute;
  request.dimensions = index.dimensions;
  request.distance_function = index.distance == "EUCLIDEAN"     ? DistanceFunction::kEuclidean
                              : index.distance == "DOT_PRODUCT" ? DistanceFunction::kDotProduct
                                                                : DistanceFunction::kCosine;
  request.projection.projection_type = ProjectionType::kAll;
  std::vector<SearchSchemaElement> schema;
  for (const KeyAttribute& filter : index.filters)
    schema.push_back({filter.name, SearchSchemaElementType::kInlineFilter});
  if (!schema.empty()) request.search_schema = std::move(schema);
  return request;
}

CreateTableRequest CreateRequest(const Table& table) {
  CreateTableRequest request;
  request.table_name = table.name;
  request.billing_mode = BillingMode::kPayPerRequest;
  request.key_schema = KeySchemaOf(HashOf(table), RangeOf(table));
  Definitions definitions;
  definitions.Add(table.key);
  std::vector<Tag> tags;
  for (const auto& [name, value] : table.tags) tags.push_back({name, value});
  for (const Index& index : table.indexes) {
    definitions.Add(index.hash);
    definitions.Add(index.range);
    if (!request.global_secondary_indexes) request.global_secondary_indexes.emplace();
    request.global_secondary_indexes->push_back(IndexRequest(index));
  }
  for (const VectorIndex& index : table.vector_indexes) {
    definitions.Add(index.filters);
    if (!request.vector_indexes) request.vector_indexes.emplace();
    request.vector_indexes->push_back(VectorIndexRequest(index));
    if (auto settings = SettingsOf(index)) tags.push_back(*settings);
  }
  request.attribute_definitions = std::move(definitions.list);
  if (!tags.empty()) request.tags = std::move(tags);
  return request;
}

}  // namespace holdfast::model
