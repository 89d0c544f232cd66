#include <algorithm>
#include <set>

#include "ops/backup_access.h"
#include "ops/describe.h"
#include "ops/encryption.h"
#include "ops/table_schema.h"
#include "ops/throughput_settings.h"
#include "ops/vector_schema.h"

namespace holdfast::ops {
namespace {

using engine::IndexSchema;
using engine::TableSchema;
using Kind = engine::IndexSchema::Kind;

bool SameProjection(const Projection& a, const Projection& b) {
  auto names = [](const Projection& projection) {
    auto list = projection.non_key_attributes.value_or(std::vector<std::string>());
    return std::set<std::string>(list.begin(), list.end());
  };
  return a.projection_type == b.projection_type && names(a) == names(b);
}

// Whether what was asked for is the index that the source has.
template <class Index>
bool Matches(const Index& wanted, const IndexSchema& index) {
  return wanted.key_schema == KeysOf(index) && SameProjection(wanted.projection, ProjectionOf(index));
}

bool Matches(const VectorIndex& wanted, const IndexSchema& index) {
  return wanted.vector_attribute.attribute_name == index.vector->attribute &&
         wanted.dimensions == index.vector->dimensions &&
         wanted.distance_function == index.vector->distance &&
         wanted.search_schema.value_or(std::vector<SearchSchemaElement>()) == index.vector->search_schema &&
         SameProjection(wanted.projection, ProjectionOf(index));
}

// What a restored index of `billing` is to have otherwise than the source's.
Status SetThroughput(const GlobalSecondaryIndex& wanted, BillingMode billing, IndexSchema* index) {
  if (wanted.provisioned_throughput) {
    if (billing == BillingMode::kPayPerRequest) {
      return Invalid("ProvisionedThroughput should not be specified for index: " + wanted.index_name +
                     " when BillingMode is PAY_PER_REQUEST");
    }
    HF_CHECK_OK(CheckThroughput(*wanted.provisioned_throughput));
    index->throughput = wanted.provisioned_throughput;
  }
  SettingsOf settings{SettingsOf::When::kCreate, billing, &wanted.index_name};
  HF_CHECK_OK(SetOnDemand(settings, wanted.on_demand_throughput, &index->on_demand));
  index->warm = {};
  return SetWarm(settings, wanted.warm_throughput, index->throughput.value_or(ProvisionedThroughput{}),
                 &index->warm);
}

// The source's indexes of one kind, or those of them that were asked for.
template <class Index>
Status AddIndexes(const TableSchema& source, Kind kind, const std::optional<std::vector<Index>>& wanted,
                  std::string_view parameter, TableSchema* target) {
  std::vector<IndexSchema> chosen;
  if (!wanted) {
    for (const IndexSchema& index : source.indexes) {
      if (index.kind != kind) continue;
      chosen.push_back(index);
      chosen.back().warm = {};
    }
  } else {
    std::set<std::string_view> names;
    for (const Index& definition : *wanted) {
      const IndexSchema* index = source.FindIndex(definition.index_name);
      if (!names.insert(definition.index_name).second)
        return Invalid("Duplicate index name: " + definition.index_name);
      if (index == nullptr || index->kind != kind || !Matches(definition, *index)) {
        return Invalid(std::string(parameter) +
                       ": the source table has no such index: " + definition.index_name);
      }
      chosen.push_back(*index);
      if constexpr (std::is_same_v<Index, GlobalSecondaryIndex>)
        HF_CHECK_OK(SetThroughput(definition, target->billing, &chosen.back()));
    }
  }
  for (IndexSchema& index : chosen) {
    HF_CHECK_OK(CheckNameLength(target->name, index.name));
    index.id = 0;
    index.status = IndexStatus::kActive;  // it is filled with the table
    index.allocating = false;
    index.throughput_changes = {};
    if (target->billing == BillingMode::kPayPerRequest)
      index.throughput.reset();
    else
      index.on_demand = {};
    if (target->billing == BillingMode::kProvisioned && kind == Kind::kGlobal && !index.throughput)
      return Invalid("ProvisionedThroughput must be specified for index: " + index.name);
    target->indexes.push_back(std::move(index));
  }
  return Ok{};
}

Status SetBilling(const TableSchema& source, const RestoreOverrides& overrides, TableSchema* target) {
  target->billing = overrides.billing_mode_override.value_or(source.billing);
  bool says_so = overrides.billing_mode_override.has_value() || source.billing_mode_given;
  target->billing_mode_given = says_so && target->billing == BillingMode::kPayPerRequest;
  SettingsOf settings{SettingsOf::When::kCreate, target->billing};
  if (target->billing == BillingMode::kPayPerRequest) target->on_demand = source.on_demand;
  HF_CHECK_OK(SetOnDemand(settings, overrides.on_demand_throughput_override, &target->on_demand));
  if (target->billing == BillingMode::kPayPerRequest) {
    if (!overrides.provisioned_throughput_override) return Ok{};
    return Invalid(
        "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
        "PAY_PER_REQUEST");
  }
  if (source.billing != BillingMode::kProvisioned && !overrides.provisioned_throughput_override) {
    return Invalid(
        "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED");
  }
  target->throughput = overrides.provisioned_throughput_override.value_or(source.throughput);
  return CheckThroughput(target->throughput);
}

}  // namespace

Result<TableSchema> RestoredSchema(Context& context, const TableSchema& source, const std::string& name,
                                   const RestoreOverrides& overrides) {
  TableSchema target;
  target.name = name;
  target.sse_key_arn = source.sse_key_arn;
  if (const auto& encryption = overrides.sse_specification_override) {
    HF_CHECK_OK(CheckEncryption(*encryption));
    SetEncryption(context, *encryption, &target);
  }
  target.partition = source.partition;
  target.sort = source.sort;
  HF_CHECK_OK(SetBilling(source, overrides, &target));
  HF_CHECK_OK(AddIndexes(source, Kind::kLocal, overrides.local_secondary_index_override,
                         "LocalSecondaryIndexOverride", &target));
  HF_CHECK_OK(AddIndexes(source, Kind::kGlobal, overrides.global_secondary_index_override,
                         "GlobalSecondaryIndexOverride", &target));
  HF_CHECK_OK(
      AddIndexes(source, Kind::kVector, overrides.vector_index_override, "VectorIndexOverride", &target));
  if (target.has_vector_indexes()) HF_CHECK_OK(CheckOnDemand(target));
  std::set<std::string_view> used = NamesInKeys(target);
  for (const AttributeDefinition& definition : source.attributes) {
    if (used.contains(definition.attribute_name)) target.attributes.push_back(definition);
  }
  HF_CHECK_OK(CheckMaxima(context, target, source));
  target.table_class = source.table_class;
  // Tags are not restored, but these are how a vector index was set up.
  for (const Tag& tag : source.tags) {
    if (!tag.key.starts_with(engine::kVectorTagPrefix)) continue;
    if (target.FindIndex(tag.key.substr(engine::kVectorTagPrefix.size())) != nullptr)
      target.tags.push_back(tag);
  }
  return target;
}

}  // namespace holdfast::ops
