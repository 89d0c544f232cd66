#include <algorithm>
#include <set>

#include "base/limits.h"
#include "ops/describe.h"
#include "ops/operations.h"
#include "ops/table_access.h"
#include "ops/table_schema.h"

namespace holdfast::ops {
namespace {

using engine::IndexSchema;
using engine::TableSchema;

Error Invalid(const std::string& why) {
  return ValidationError("One or more parameter values were invalid: " + why);
}

// What is wrong whatever the table is.
Status Validate(const UpdateTableRequest& request) {
  const auto& updates = request.global_secondary_index_updates;
  bool any = request.billing_mode || request.provisioned_throughput || request.table_class ||
             request.deletion_protection_enabled || request.stream_specification ||
             request.sse_specification || (updates && !updates->empty());
  if (!any) {
    return ValidationError(
        "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
        "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required");
  }
  HF_CHECK_OK(CheckUnsupported(request.stream_specification, request.sse_specification));
  if (request.billing_mode == BillingMode::kProvisioned && !request.provisioned_throughput) {
    return Invalid("ProvisionedThroughput must be specified when BillingMode is PROVISIONED");
  }
  if (request.provisioned_throughput) HF_CHECK_OK(CheckThroughput(*request.provisioned_throughput));
  if (!updates) return Ok{};
  std::set<std::string_view> names;
  int structural = 0;
  for (const GlobalSecondaryIndexUpdate& update : *updates) {
    int actions = update.update.has_value() + update.create.has_value() + update.delete_action.has_value();
    if (actions == 0) {
      return Invalid(
          "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
          "GlobalSecondaryIndexUpdate.Delete must not be null");
    }
    if (actions > 1) {
      return Invalid(
          "Only one of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
          "GlobalSecondaryIndexUpdate.Delete may be specified");
    }
    if (update.create || update.delete_action) ++structural;
    const std::string& name = update.update   ? update.update->index_name
                              : update.create ? update.create->index_name
                                              : update.delete_action->index_name;
    if (!names.insert(name).second) {
      return Invalid("Only one global secondary index update per index is allowed simultaneously. Index: " +
                     name);
    }
  }
  if (structural > 1) {
    return Error(
        ErrorCode::kLimitExceeded,
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table");
  }
  return Ok{};
}

Status ChangeThroughput(const ProvisionedThroughput& wanted, int64_t now_millis, TableSchema* schema) {
  ProvisionedThroughput& current = schema->throughput;
  if (wanted == current && schema->billing == BillingMode::kProvisioned) {
    return ValidationError(
        "The provisioned throughput for the table will not change. The requested value equals the current "
        "value. "
        "Current ReadCapacityUnits provisioned for the table: " +
        std::to_string(current.read_capacity_units) +
        ". Requested ReadCapacityUnits: " + std::to_string(wanted.read_capacity_units) +
        ". Current WriteCapacityUnits provisioned for the table: " +
        std::to_string(current.write_capacity_units) +
        ". Requested WriteCapacityUnits: " + std::to_string(wanted.write_capacity_units) +
        ". Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher "
        "limits.");
  }
  if (wanted.read_capacity_units > current.read_capacity_units ||
      wanted.write_capacity_units > current.write_capacity_units) {
    schema->throughput_increased_millis = now_millis;
  }
  if (wanted.read_capacity_units < current.read_capacity_units ||
      wanted.write_capacity_units < current.write_capacity_units) {
    schema->throughput_decreased_millis = now_millis;
  }
  current = wanted;
  return Ok{};
}

Status ChangeBilling(const UpdateTableRequest& request, int64_t now_millis, TableSchema* schema) {
  BillingMode mode = request.billing_mode.value_or(schema->billing);
  if (mode == BillingMode::kPayPerRequest && request.provisioned_throughput) {
    return Invalid(
        "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
        "PAY_PER_REQUEST");
  }
  if (request.provisioned_throughput) {
    HF_CHECK_OK(ChangeThroughput(*request.provisioned_throughput, now_millis, schema));
  }
  if (!request.billing_mode || *request.billing_mode == schema->billing) return Ok{};
  schema->billing = *request.billing_mode;
  schema->billing_mode_given = true;
  if (schema->billing == BillingMode::kPayPerRequest) {
    schema->on_demand_since_millis = now_millis;
    schema->throughput = {};
    for (IndexSchema& index : schema->indexes) index.throughput.reset();
  }
  return Ok{};
}

// AttributeDefinitions are exactly the attributes that are keys of something.
void MergeDefinitions(const std::vector<AttributeDefinition>& given, TableSchema* schema) {
  auto known = [&](const std::string& name) {
    return std::any_of(schema->attributes.begin(), schema->attributes.end(),
                       [&](const AttributeDefinition& d) { return d.attribute_name == name; });
  };
  for (const AttributeDefinition& definition : given) {
    if (!known(definition.attribute_name)) schema->attributes.push_back(definition);
  }
  std::set<std::string_view> used{schema->partition.name};
  if (schema->sort) used.insert(schema->sort->name);
  for (const IndexSchema& index : schema->indexes) {
    for (const auto* keys : {&index.partition, &index.sort}) {
      for (const engine::KeyAttribute& key : *keys) used.insert(key.name);
    }
  }
  std::erase_if(schema->attributes,
                [&](const AttributeDefinition& d) { return !used.contains(d.attribute_name); });
}

Status ChangeIndex(const GlobalSecondaryIndexUpdate& update, const UpdateTableRequest& request,
                   TableSchema* schema) {
  auto find = [&](const std::string& name) {
    return std::find_if(schema->indexes.begin(), schema->indexes.end(),
                        [&](const IndexSchema& index) { return index.name == name; });
  };
  if (update.create) {
    if (find(update.create->index_name) != schema->indexes.end()) {
      return ValidationError("Attempting to create an index which already exists: " +
                             update.create->index_name);
    }
    auto globals = std::count_if(schema->indexes.begin(), schema->indexes.end(),
                                 [](const IndexSchema& index) { return index.is_global(); });
    if (static_cast<size_t>(globals) >= limits::kGsiMax) {
      return Invalid("GlobalSecondaryIndex count exceeds the per-table limit of 20");
    }
    for (const IndexSchema& index : schema->indexes) {
      if (index.status == IndexStatus::kCreating) {
        return Error(ErrorCode::kLimitExceeded,
                     "Subscriber limit exceeded: Only 1 online index can be created or "
                     "deleted simultaneously per table");
      }
    }
    HF_TRY(IndexSchema index,
           IndexFrom(*update.create,
                     request.attribute_definitions.value_or(std::vector<AttributeDefinition>()), *schema));
    schema->indexes.push_back(std::move(index));
    return Ok{};
  }
  if (update.update && update.update->provisioned_throughput) {
    HF_CHECK_OK(CheckThroughput(*update.update->provisioned_throughput));
  }
  const std::string& name = update.update ? update.update->index_name : update.delete_action->index_name;
  auto index = find(name);
  if (index == schema->indexes.end() || !index->is_global()) {
    return Error(ErrorCode::kResourceNotFound,
                 "Requested resource not found: Index: " + name + " not found for table: " + schema->name);
  }
  if (update.delete_action) {
    schema->indexes.erase(index);
    return Ok{};
  }
  if (!update.update->provisioned_throughput) {
    return Invalid("ProvisionedThroughput must be specified for index: " + name);
  }
  if (schema->billing == BillingMode::kPayPerRequest) {
    return Invalid("ProvisionedThroughput should not be specified for index: " + name +
                   " when BillingMode is PAY_PER_REQUEST");
  }
  if (index->throughput == update.update->provisioned_throughput) {
    return ValidationError("The provisioned throughput for the index " + name +
                           " will not change. The requested value equals the current value.");
  }
  index->throughput = update.update->provisioned_throughput;
  return Ok{};
}

Status Edit(const UpdateTableRequest& request, int64_t now_millis, TableSchema* schema) {
  HF_CHECK_OK(ChangeBilling(request, now_millis, schema));
  if (request.global_secondary_index_updates) {
    for (const GlobalSecondaryIndexUpdate& update : *request.global_secondary_index_updates) {
      HF_CHECK_OK(ChangeIndex(update, request, schema));
    }
    MergeDefinitions(request.attribute_definitions.value_or(std::vector<AttributeDefinition>()), schema);
  }
  if (request.table_class) {
    schema->table_class = request.table_class;
    schema->table_class_millis = now_millis;
  }
  if (request.deletion_protection_enabled) schema->deletion_protection = *request.deletion_protection_enabled;
  return Ok{};
}

// As AWS answers: throughput is still what it was, and an index that was deleted is shown once more, as being
// deleted.
void ShowChanging(const UpdateTableRequest& request, TableDescription before, TableDescription* now) {
  now->table_status = TableStatus::kUpdating;
  now->provisioned_throughput.read_capacity_units = before.provisioned_throughput.read_capacity_units;
  now->provisioned_throughput.write_capacity_units = before.provisioned_throughput.write_capacity_units;
  if (!request.global_secondary_index_updates || !before.global_secondary_indexes) return;
  for (const GlobalSecondaryIndexUpdate& update : *request.global_secondary_index_updates) {
    if (!update.delete_action) continue;
    for (GlobalSecondaryIndexDescription& index : *before.global_secondary_indexes) {
      if (index.index_name != update.delete_action->index_name) continue;
      index.index_status = IndexStatus::kDeleting;
      if (!now->global_secondary_indexes) now->global_secondary_indexes.emplace();
      now->global_secondary_indexes->push_back(std::move(index));
    }
  }
}

}  // namespace

Result<UpdateTableResponse> Perform(Context& context, const UpdateTableRequest& request) {
  HF_CHECK_OK(Validate(request));
  HF_TRY(TableRef ref, OpenForTable(context, request.table_name));
  if (ref.schema->status == TableStatus::kCreating || ref.schema->status == TableStatus::kDeleting) {
    return Error(ErrorCode::kResourceInUse,
                 "Attempt to change a resource which is still in use: Table is being " +
                     std::string(ref.schema->status == TableStatus::kCreating ? "created: " : "deleted: ") +
                     ref.schema->name);
  }
  int64_t now_millis = context.engine->clock().NowMillis();
  UpdateTableResponse response;
  TableDescription before = Describe(context, *ref.table);

  context.await_durability = true;
  engine::Engine* engine = context.engine;
  bool delayed = engine->options().transient_status_millis > 0;
  HF_CHECK_OK(engine->ChangeSchema(ref.table, [&](TableSchema* schema) -> Status {
    HF_CHECK_OK(Edit(request, now_millis, schema));
    if (delayed) schema->status = TableStatus::kUpdating;
    return Ok{};
  }));
  response.table_description = Describe(context, *ref.table);
  ShowChanging(request, std::move(before), &response.table_description);
  if (delayed) {
    engine->Settle([engine, table = ref.table] {
      Status active = engine->ChangeSchema(table, [](TableSchema* schema) -> Status {
        schema->status = TableStatus::kActive;
        return Ok{};
      });
      if (!active) HF_LOG(engine->log(), kWarning, "table not settled", {"error", active.error().ToString()});
    });
  }
  return response;
}

}  // namespace holdfast::ops
