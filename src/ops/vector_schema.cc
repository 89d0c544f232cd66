#include "ops/vector_schema.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "ops/table_schema.h"

namespace holdfast::ops {
namespace {

using engine::IndexSchema;
using engine::TableSchema;
using Definitions = std::vector<AttributeDefinition>;

Status CheckSearchSchema(const std::vector<SearchSchemaElement>& elements, const Definitions& definitions,
                         const TableSchema& table) {
  std::set<std::string_view> names;
  size_t hashes = 0;
  for (const SearchSchemaElement& element : elements) {
    if (FindDefinition(definitions, element.attribute_name) == nullptr) {
      return Invalid("One element in SearchSchema is not defined in attribute definitions");
    }
    HF_CHECK_OK(CheckNotRedefined(element.attribute_name, NameOf(element.element_type), definitions, table));
    if (!names.insert(element.attribute_name).second) {
      return Invalid("Duplicate AttributeName in SearchSchema: " + element.attribute_name);
    }
    hashes += element.element_type == SearchSchemaElementType::kHash ? 1 : 0;
  }
  if (hashes > 1) return Invalid("SearchSchema can have at most one HASH element");
  if (elements.size() - hashes > limits::kVectorFiltersMax) {
    return Invalid("SearchSchema can have at most 18 INLINE_FILTER elements");
  }
  return Ok{};
}

// A vector is a list, and a key is a scalar.
Status CheckIsNoKey(const std::string& attribute, const TableSchema& table, const IndexSchema& index) {
  std::set<std::string_view> keys = NamesInKeys(table);
  AddNamesInKeys(index, &keys);
  if (!keys.contains(attribute)) return Ok{};
  return Invalid("VectorAttribute must not be a key attribute or an attribute of a SearchSchema: " +
                 attribute);
}

Status CheckAmong(const IndexSchema& index, const TableSchema& table) {
  size_t count = 1;
  for (const IndexSchema& other : table.indexes) {
    if (!other.is_vector()) continue;
    ++count;
    if (other.vector->attribute == index.vector->attribute &&
        other.vector->dimensions != index.vector->dimensions) {
      return Invalid("Conflicting attribute definition for '" + index.vector->attribute +
                     "'. All VectorIndexes on the same vector attribute must use the same dimensions.");
    }
  }
  if (count > limits::kVectorIndexesMax) {
    return Invalid("VectorIndex count exceeds the per-table limit of 5");
  }
  return Ok{};
}

}  // namespace

Status CheckOnDemand(const TableSchema& table) {
  if (table.billing == BillingMode::kPayPerRequest) return Ok{};
  return Invalid("Vector indexes are only supported for PAY_PER_REQUEST tables");
}

Result<IndexSchema> VectorIndexFrom(const VectorIndex& definition, const Definitions& definitions,
                                    const TableSchema& table) {
  HF_CHECK_OK(CheckOnDemand(table));
  if (definition.dimensions > limits::kVectorDimensionsMax) {
    return Invalid("Number of dimensions must be between 1 and 4096 inclusive.");
  }
  IndexSchema index;
  index.name = definition.index_name;
  index.kind = IndexSchema::Kind::kVector;
  index.vector.emplace();
  index.vector->attribute = definition.vector_attribute.attribute_name;
  index.vector->dimensions = definition.dimensions;
  index.vector->distance = definition.distance_function;
  index.vector->search_schema = definition.search_schema.value_or(std::vector<SearchSchemaElement>());
  HF_CHECK_OK(CheckSearchSchema(index.vector->search_schema, definitions, table));
  for (const SearchSchemaElement& element : index.vector->search_schema) {
    if (element.element_type != SearchSchemaElementType::kHash) continue;
    const AttributeDefinition* hash = FindDefinition(definitions, element.attribute_name);
    index.partition = {{hash->attribute_name, engine::ToType(hash->attribute_type)}};
  }
  HF_CHECK_OK(SetProjection(definition.projection, &index));
  HF_CHECK_OK(CheckIsNoKey(index.vector->attribute, table, index));
  HF_CHECK_OK(CheckAmong(index, table));
  return index;
}

Status CheckVectorTags(const std::vector<Tag>& tags, const TableSchema* table) {
  for (const Tag& tag : tags) {
    if (!tag.key.starts_with(engine::kVectorTagPrefix)) continue;
    std::string name = tag.key.substr(engine::kVectorTagPrefix.size());
    const IndexSchema* index = table != nullptr ? table->FindIndex(name) : nullptr;
    if (table != nullptr && (index == nullptr || !index->is_vector())) {
      return Invalid("Tag " + tag.key + ": the table has no vector index of that name");
    }
    HF_CHECK_OK(engine::SettingsFromTags(tags, name).transform([](const auto&) { return Ok{}; }));
  }
  return Ok{};
}

}  // namespace holdfast::ops
