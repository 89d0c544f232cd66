#include "ops/table_schema.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "ops/constraints.h"
#include "ops/encryption.h"
#include "ops/throughput_settings.h"
#include "ops/vector_schema.h"

namespace holdfast::ops {
namespace {

using engine::IndexSchema;
using engine::KeyAttribute;
using engine::TableSchema;

using Definitions = std::vector<AttributeDefinition>;
using Keys = std::vector<KeySchemaElement>;

std::string NamesOf(const Keys& keys) {
  std::string names;
  for (const KeySchemaElement& key : keys) names.append(names.empty() ? "" : ", ").append(key.attribute_name);
  return names;
}

std::string NamesOf(const Definitions& definitions) {
  std::string names;
  for (const AttributeDefinition& d : definitions)
    names.append(names.empty() ? "" : ", ").append(d.attribute_name);
  return names;
}

Status CheckDefined(const Keys& keys, const Definitions& definitions) {
  std::set<std::string_view> defined;
  for (const AttributeDefinition& definition : definitions) defined.insert(definition.attribute_name);
  for (const KeySchemaElement& key : keys) {
    if (!defined.contains(key.attribute_name)) {
      return Invalid("Some index key attributes are not defined in AttributeDefinitions. Keys: [" +
                     NamesOf(keys) + "], AttributeDefinitions: [" + NamesOf(definitions) + "]");
    }
  }
  return Ok{};
}

KeyAttribute ToKeyAttribute(const KeySchemaElement& key, const Definitions& definitions) {
  return {key.attribute_name,
          engine::ToType(FindDefinition(definitions, key.attribute_name)->attribute_type)};
}

// HASH, or HASH and RANGE: what tables and local indexes have.
Status CheckSimpleKeys(const Keys& keys, const Definitions& definitions) {
  HF_CHECK_OK(CheckDefined(keys, definitions));
  if (keys.size() == 2 && keys[0].attribute_name == keys[1].attribute_name) {
    return ValidationError("Both the Hash Key and the Range Key element in the KeySchema have the same name");
  }
  if (keys[0].key_type != KeyType::kHash) {
    return ValidationError("Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  }
  if (keys.size() == 2 && keys[1].key_type != KeyType::kRange) {
    return ValidationError("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
  }
  return Ok{};
}

// Up to four HASH, then up to four RANGE: what global indexes may have.
Status CheckCompositeKeys(const Keys& keys, const Definitions& definitions) {
  HF_CHECK_OK(CheckDefined(keys, definitions));
  std::set<std::string_view> names;
  size_t hashes = 0, ranges = 0;
  for (const KeySchemaElement& key : keys) {
    if (!names.insert(key.attribute_name).second) {
      return ValidationError(
          "Both the Hash Key and the Range Key element in the KeySchema have the same name");
    }
    if (key.key_type == KeyType::kHash) {
      if (ranges > 0) {
        return ValidationError(
            "Invalid KeySchema: All HASH key elements must precede all RANGE key elements");
      }
      ++hashes;
    } else {
      ++ranges;
    }
  }
  if (keys[0].key_type != KeyType::kHash) {
    return ValidationError("Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  }
  if (hashes > limits::kIndexHashAttributesMax) {
    return ValidationError("Invalid KeySchema: The KeySchema has " + std::to_string(hashes) +
                           " HASH key elements; at most 4 are allowed");
  }
  if (ranges > limits::kIndexRangeAttributesMax) {
    return ValidationError("Invalid KeySchema: The KeySchema has " + std::to_string(ranges) +
                           " RANGE key elements; at most 4 are allowed");
  }
  return Ok{};
}

Status CheckProjection(const Projection& projection) {
  if (!projection.projection_type) return Invalid("Unknown ProjectionType: null");
  bool includes = *projection.projection_type == ProjectionType::kInclude;
  if (projection.non_key_attributes && !includes) {
    return Invalid("ProjectionType is " + std::string(NameOf(*projection.projection_type)) +
                   ", but NonKeyAttributes is specified");
  }
  if (!projection.non_key_attributes && includes) {
    return Invalid("ProjectionType is INCLUDE, but NonKeyAttributes is not specified");
  }
  if (includes) {
    std::set<std::string_view> names;
    for (const std::string& name : *projection.non_key_attributes) {
      if (name.empty() || CharacterCount(name) > limits::kKeyAttributeNameBytesMax) {
        return Invalid("NonKeyAttributes: attribute names must be 1 to 255 characters long");
      }
      if (!names.insert(name).second) return Invalid("Duplicate attribute name in NonKeyAttributes: " + name);
    }
  }
  return Ok{};
}

Result<IndexSchema> LocalIndex(const LocalSecondaryIndex& definition, const CreateTableRequest& request) {
  const Keys& keys = definition.key_schema;
  HF_CHECK_OK(CheckSimpleKeys(keys, request.attribute_definitions));
  if (keys.size() != 2) {
    return Invalid("Index KeySchema does not have a range key for index: " + definition.index_name);
  }
  const std::string& table_hash = request.key_schema[0].attribute_name;
  if (keys[0].attribute_name != table_hash) {
    return Invalid("Index KeySchema does not have the same leading hash key as table KeySchema for index: " +
                   definition.index_name + ". index hash key: " + keys[0].attribute_name +
                   ", table hash key: " + table_hash);
  }
  IndexSchema index;
  index.name = definition.index_name;
  index.kind = IndexSchema::Kind::kLocal;
  index.partition = {ToKeyAttribute(keys[0], request.attribute_definitions)};
  index.sort = {ToKeyAttribute(keys[1], request.attribute_definitions)};
  HF_CHECK_OK(SetProjection(definition.projection, &index));
  return index;
}

Result<IndexSchema> GlobalIndex(const GlobalSecondaryIndex& definition, const Definitions& definitions,
                                BillingMode billing) {
  HF_CHECK_OK(CheckCompositeKeys(definition.key_schema, definitions));
  IndexSchema index;
  HF_CHECK_OK(SetProjection(definition.projection, &index));
  if (billing == BillingMode::kPayPerRequest && definition.provisioned_throughput) {
    return Invalid("ProvisionedThroughput should not be specified for index: " + definition.index_name +
                   " when BillingMode is PAY_PER_REQUEST");
  }
  if (billing == BillingMode::kProvisioned) {
    if (!definition.provisioned_throughput) {
      return Invalid("ProvisionedThroughput must be specified for index: " + definition.index_name);
    }
    HF_CHECK_OK(CheckThroughput(*definition.provisioned_throughput));
  }
  index.name = definition.index_name;
  index.kind = IndexSchema::Kind::kGlobal;
  for (const KeySchemaElement& key : definition.key_schema) {
    (key.key_type == KeyType::kHash ? index.partition : index.sort)
        .push_back(ToKeyAttribute(key, definitions));
  }
  index.throughput = definition.provisioned_throughput;
  SettingsOf settings{SettingsOf::When::kCreate, billing, &definition.index_name};
  HF_CHECK_OK(SetOnDemand(settings, definition.on_demand_throughput, &index.on_demand));
  HF_CHECK_OK(SetWarm(settings, definition.warm_throughput,
                      index.throughput.value_or(ProvisionedThroughput{}), &index.warm));
  return index;
}

Status CheckBilling(const CreateTableRequest& request) {
  if (request.billing_mode == BillingMode::kPayPerRequest) {
    if (request.provisioned_throughput) {
      return Invalid(
          "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
          "PAY_PER_REQUEST");
    }
    return Ok{};
  }
  if (!request.provisioned_throughput) {
    return Invalid(
        "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED");
  }
  return CheckThroughput(*request.provisioned_throughput);
}

Status CheckDefinitions(const CreateTableRequest& request) {
  std::set<std::string_view> names;
  for (const AttributeDefinition& definition : request.attribute_definitions) {
    if (!names.insert(definition.attribute_name).second) {
      return Invalid("Duplicate AttributeName in AttributeDefinitions: " + definition.attribute_name);
    }
  }
  if (request.key_schema.size() > request.attribute_definitions.size()) {
    return ValidationError("Invalid KeySchema: Some index key attribute have no definition");
  }
  return Ok{};
}

// Every definition must be the key of something.
Status CheckAllUsed(const CreateTableRequest& request, const TableSchema& schema) {
  std::set<std::string_view> used = NamesInKeys(schema);
  for (const AttributeDefinition& definition : request.attribute_definitions) {
    if (used.contains(definition.attribute_name)) continue;
    if (schema.indexes.empty()) {
      return Invalid(
          "Number of attributes in KeySchema does not exactly match number of attributes defined in "
          "AttributeDefinitions");
    }
    return Invalid("Some AttributeDefinitions are not used. AttributeDefinitions: [" +
                   NamesOf(request.attribute_definitions) + "], keys used: [" +
                   [&] {
                     std::string names;
                     for (std::string_view name : used) names.append(names.empty() ? "" : ", ").append(name);
                     return names;
                   }() +
                   "]");
  }
  return Ok{};
}

Status AddIndexes(const CreateTableRequest& request, TableSchema* schema) {
  std::set<std::string_view> names;
  auto add = [&](IndexSchema index, std::string_view name) -> Status {
    HF_CHECK_OK(CheckNameLength(request.table_name, index.name));
    if (!names.insert(name).second) return Invalid("Duplicate index name: " + index.name);
    schema->indexes.push_back(std::move(index));
    return Ok{};
  };
  if (request.local_secondary_indexes) {
    if (request.local_secondary_indexes->empty()) return Invalid("List of LocalSecondaryIndexes is empty");
    if (!schema->sort) {
      return Invalid(
          "Table KeySchema does not have a range key, which is required when specifying a "
          "LocalSecondaryIndex");
    }
    for (const LocalSecondaryIndex& definition : *request.local_secondary_indexes) {
      if (schema->indexes.size() > limits::kLsiMax) break;  // refused below
      HF_TRY(IndexSchema index, LocalIndex(definition, request));
      HF_CHECK_OK(add(std::move(index), definition.index_name));
    }
    if (request.local_secondary_indexes->size() > limits::kLsiMax) {
      return Invalid("Number of LocalSecondaryIndexes exceeds per-table limit of 5");
    }
  }
  if (request.global_secondary_indexes) {
    if (request.global_secondary_indexes->empty()) return Invalid("List of GlobalSecondaryIndexes is empty");
    for (const GlobalSecondaryIndex& definition : *request.global_secondary_indexes) {
      if (schema->indexes.size() > limits::kLsiMax + limits::kGsiMax) break;  // refused below
      HF_TRY(IndexSchema index, GlobalIndex(definition, request.attribute_definitions, schema->billing));
      HF_CHECK_OK(add(std::move(index), definition.index_name));
    }
    if (request.global_secondary_indexes->size() > limits::kGsiMax) {
      return Invalid("GlobalSecondaryIndex count exceeds the per-table limit of 20");
    }
  }
  if (request.vector_indexes) {
    if (request.vector_indexes->empty()) return Invalid("List of VectorIndexes is empty");
    for (const VectorIndex& definition : *request.vector_indexes) {
      HF_TRY(IndexSchema index, VectorIndexFrom(definition, request.attribute_definitions, *schema));
      HF_CHECK_OK(add(std::move(index), definition.index_name));
    }
  }
  size_t included = 0;
  for (const IndexSchema& index : schema->indexes) included += index.included.size();
  if (included > limits::kProjectedAttributesMax) {
    return Invalid("Number of projected attributes over all indexes exceeds the per-table limit of 100");
  }
  return Ok{};
}

}  // namespace

Error Invalid(const std::string& why) {
  return ValidationError("One or more parameter values were invalid: " + why);
}

const AttributeDefinition* FindDefinition(const Definitions& definitions, const std::string& name) {
  for (const AttributeDefinition& definition : definitions) {
    if (definition.attribute_name == name) return &definition;
  }
  return nullptr;
}

Status CheckNameLength(const std::string& table, const std::string& index) {
  // An index must be addressable as "<table>:<index>" within the store that DynamoDB keeps names in.
  if (table.size() + index.size() > 380) {
    return Invalid("The total length of the table name and the index name is too long: " + table + ", " +
                   index);
  }
  return Ok{};
}

Status SetProjection(const Projection& projection, IndexSchema* index) {
  HF_CHECK_OK(CheckProjection(projection));
  index->projection = *projection.projection_type;
  if (projection.non_key_attributes) index->included = *projection.non_key_attributes;
  return Ok{};
}

std::set<std::string_view> NamesInKeys(const TableSchema& table) {
  std::set<std::string_view> names{table.partition.name};
  if (table.sort) names.insert(table.sort->name);
  for (const IndexSchema& index : table.indexes) AddNamesInKeys(index, &names);
  return names;
}

void AddNamesInKeys(const IndexSchema& index, std::set<std::string_view>* names) {
  for (const auto* keys : {&index.partition, &index.sort}) {
    for (const KeyAttribute& key : *keys) names->insert(key.name);
  }
  if (!index.vector) return;
  for (const SearchSchemaElement& element : index.vector->search_schema)
    names->insert(element.attribute_name);
}

Status CheckThroughput(const ProvisionedThroughput& throughput) {
  constexpr int64_t kMax = 1'000'000'000'000;
  if (throughput.read_capacity_units > kMax) {
    return ValidationError("Given value " + std::to_string(throughput.read_capacity_units) +
                           " for ReadCapacityUnits is out of bounds");
  }
  if (throughput.write_capacity_units > kMax) {
    return ValidationError("Given value " + std::to_string(throughput.write_capacity_units) +
                           " for WriteCapacityUnits is out of bounds");
  }
  return Ok{};
}

Status CheckTags(const std::vector<Tag>& tags) {
  std::set<std::string_view> keys;
  for (const Tag& tag : tags) {
    if (!keys.insert(tag.key).second) return Invalid("Duplicate tag key: " + tag.key);
    if (tag.key.starts_with("aws:"))
      return ValidationError("aws: prefixed tag key names are not allowed for external use.");
    for (const std::string* text : {&tag.key, &tag.value}) {
      bool allowed = std::all_of(text->begin(), text->end(), [](char c) {
        auto byte = static_cast<unsigned char>(c);
        bool letter_or_digit = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                               (byte >= 'A' && byte <= 'Z') || byte >= 0x80;
        return letter_or_digit || std::string_view("+-=._:/@ ").find(c) != std::string_view::npos;
      });
      if (!allowed) {
        return Invalid("Tag keys and values may contain letters, digits, blanks and +-=._:/@ only: " + *text);
      }
    }
  }
  // Each of a vector index is compared with all.
  if (tags.size() > limits::kTagsMax) return Invalid("Too many tags: at most 50 are allowed");
  return CheckVectorTags(tags, nullptr);
}

Result<TableSchema> SchemaFrom(const CreateTableRequest& request) {
  HF_CHECK_OK(CheckBilling(request));
  if (request.sse_specification) HF_CHECK_OK(CheckEncryption(*request.sse_specification));
  HF_CHECK_OK(CheckDefinitions(request));
  HF_CHECK_OK(CheckSimpleKeys(request.key_schema, request.attribute_definitions));
  TableSchema schema;
  schema.name = request.table_name;
  schema.attributes = request.attribute_definitions;
  schema.partition = ToKeyAttribute(request.key_schema[0], request.attribute_definitions);
  if (request.key_schema.size() == 2) {
    schema.sort = ToKeyAttribute(request.key_schema[1], request.attribute_definitions);
  }
  schema.billing = request.billing_mode.value_or(BillingMode::kProvisioned);
  schema.billing_mode_given = schema.billing == BillingMode::kPayPerRequest;
  schema.throughput = request.provisioned_throughput.value_or(ProvisionedThroughput{});
  SettingsOf settings{SettingsOf::When::kCreate, schema.billing};
  HF_CHECK_OK(SetOnDemand(settings, request.on_demand_throughput, &schema.on_demand));
  HF_CHECK_OK(SetWarm(settings, request.warm_throughput, schema.throughput, &schema.warm));
  HF_CHECK_OK(AddIndexes(request, &schema));
  HF_CHECK_OK(CheckAllUsed(request, schema));
  schema.table_class = request.table_class;
  schema.deletion_protection = request.deletion_protection_enabled.value_or(false);
  if (request.tags) {
    HF_CHECK_OK(CheckTags(*request.tags));
    HF_CHECK_OK(CheckVectorTags(*request.tags, &schema));
    schema.tags = *request.tags;
  }
  return schema;
}

Status CheckNotRedefined(const std::string& name, std::string_view role, const Definitions& definitions,
                         const TableSchema& table) {
  const AttributeDefinition* now = FindDefinition(definitions, name);
  const AttributeDefinition* before = FindDefinition(table.attributes, name);
  if (now == nullptr || before == nullptr || now->attribute_type == before->attribute_type) return Ok{};
  auto schema_text = [&](const AttributeDefinition& d) {
    return "Schema:[SchemaElement: key{" + d.attribute_name + ":" + std::string(NameOf(d.attribute_type)) +
           ":" + std::string(role) + "}]";
  };
  return Invalid(
      "Attributes cannot be redefined. Please check that your attribute has the same type as "
      "previously defined. Existing schema: " +
      schema_text(*before) + " New schema: " + schema_text(*now));
}

Result<IndexSchema> IndexFrom(const GlobalSecondaryIndex& definition, const Definitions& definitions,
                              const TableSchema& table) {
  HF_CHECK_OK(CheckNameLength(table.name, definition.index_name));
  for (const KeySchemaElement& key : definition.key_schema) {
    HF_CHECK_OK(CheckNotRedefined(key.attribute_name, NameOf(key.key_type), definitions, table));
  }
  HF_TRY(IndexSchema index, GlobalIndex(definition, definitions, table.billing));
  index.status = IndexStatus::kCreating;
  return index;
}

}  // namespace holdfast::ops
