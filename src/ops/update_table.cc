#include <algorithm>
#include <set>

#include "base/limits.h"
#include "ops/describe.h"
#include "ops/encryption.h"
#include "ops/operations.h"
#include "ops/streams.h"
#include "ops/table_access.h"
#include "ops/table_schema.h"
#include "ops/throughput_settings.h"
#include "ops/vector_schema.h"

namespace holdfast::ops {
namespace {

using engine::IndexSchema;
using engine::TableSchema;

constexpr std::string_view kOneAtATime =
    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table";

Status CheckVectorUpdates(const std::vector<VectorIndexUpdate>& updates) {
  for (const VectorIndexUpdate& update : updates) {
    if (update.create.has_value() != update.delete_action.has_value()) continue;
    return Invalid(update.create
                       ? "Only one of VectorIndexUpdate.Create, VectorIndexUpdate.Delete may be specified"
                       : "One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null");
  }
  return Ok{};
}

// What is wrong whatever the table is.
Status Validate(const UpdateTableRequest& request) {
  const auto& updates = request.global_secondary_index_updates;
  bool any = request.billing_mode || request.provisioned_throughput || request.table_class ||
             request.deletion_protection_enabled || request.stream_specification ||
             request.sse_specification || SaysAnything(request.on_demand_throughput) ||
             SaysAnything(request.warm_throughput) || (updates && !updates->empty()) ||
             (request.vector_index_updates && !request.vector_index_updates->empty());
  if (!any) {
    return ValidationError(
        "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
        "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required");
  }
  if (request.sse_specification) HF_CHECK_OK(CheckEncryption(*request.sse_specification));
  if (request.billing_mode == BillingMode::kProvisioned && !request.provisioned_throughput) {
    return Invalid("ProvisionedThroughput must be specified when BillingMode is PROVISIONED");
  }
  if (request.provisioned_throughput) HF_CHECK_OK(CheckThroughput(*request.provisioned_throughput));
  size_t structural = 0;
  if (request.vector_index_updates) {
    HF_CHECK_OK(CheckVectorUpdates(*request.vector_index_updates));
    structural = request.vector_index_updates->size();
  }
  std::set<std::string_view> names;
  for (const GlobalSecondaryIndexUpdate& update :
       updates.value_or(std::vector<GlobalSecondaryIndexUpdate>())) {
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
  if (structural > 1) return Error(ErrorCode::kLimitExceeded, std::string(kOneAtATime));
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
  schema->throughput_changes.Note(current, wanted, now_millis);
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
  SettingsOf settings{SettingsOf::When::kUpdate, mode};
  HF_CHECK_OK(SetOnDemand(settings, request.on_demand_throughput, &schema->on_demand));
  HF_CHECK_OK(SetWarm(settings, request.warm_throughput, schema->throughput, &schema->warm));
  if (!request.billing_mode || *request.billing_mode == schema->billing) return Ok{};
  schema->billing = *request.billing_mode;
  schema->billing_mode_given = true;
  if (schema->billing == BillingMode::kPayPerRequest) {
    schema->on_demand_since_millis = now_millis;
    schema->throughput = {};
    for (IndexSchema& index : schema->indexes) index.throughput.reset();
    return Ok{};
  }
  schema->on_demand = {};
  for (IndexSchema& index : schema->indexes) index.on_demand = {};
  if (schema->has_vector_indexes()) return CheckOnDemand(*schema);
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
  std::set<std::string_view> used = NamesInKeys(*schema);
  std::erase_if(schema->attributes,
                [&](const AttributeDefinition& d) { return !used.contains(d.attribute_name); });
}

auto FindIndex(TableSchema* schema, const std::string& name) {
  return std::find_if(schema->indexes.begin(), schema->indexes.end(),
                      [&](const IndexSchema& index) { return index.name == name; });
}

Error IndexNotFound(const std::string& name, const TableSchema& schema) {
  return Error(ErrorCode::kResourceNotFound,
               "Requested resource not found: Index: " + name + " not found for table: " + schema.name);
}

// One index is made or deleted at a time: none but `name` may be in the making.
Status CheckNoneInTheMaking(const std::string& name, const TableSchema& schema) {
  for (const IndexSchema& index : schema.indexes) {
    if (index.name != name && (index.status == IndexStatus::kCreating || index.allocating)) {
      return Error(ErrorCode::kLimitExceeded, std::string(kOneAtATime));
    }
  }
  return Ok{};
}

Status CheckCreatable(const std::string& name, TableSchema* schema) {
  if (FindIndex(schema, name) != schema->indexes.end()) {
    return ValidationError("Attempting to create an index which already exists: " + name);
  }
  return CheckNoneInTheMaking(name, *schema);
}

std::vector<AttributeDefinition> DefinitionsIn(const UpdateTableRequest& request) {
  return request.attribute_definitions.value_or(std::vector<AttributeDefinition>());
}

Status ChangeIndex(const GlobalSecondaryIndexUpdate& update, const UpdateTableRequest& request,
                   int64_t now_millis, TableSchema* schema) {
  if (update.create) {
    HF_CHECK_OK(CheckCreatable(update.create->index_name, schema));
    auto globals = std::count_if(schema->indexes.begin(), schema->indexes.end(),
                                 [](const IndexSchema& index) { return index.is_global(); });
    if (static_cast<size_t>(globals) >= limits::kGsiMax) {
      return Invalid("GlobalSecondaryIndex count exceeds the per-table limit of 20");
    }
    HF_TRY(IndexSchema index, IndexFrom(*update.create, DefinitionsIn(request), *schema));
    schema->indexes.push_back(std::move(index));
    return Ok{};
  }
  if (update.update && update.update->provisioned_throughput) {
    HF_CHECK_OK(CheckThroughput(*update.update->provisioned_throughput));
  }
  const std::string& name = update.update ? update.update->index_name : update.delete_action->index_name;
  auto index = FindIndex(schema, name);
  if (index == schema->indexes.end() || !index->is_global()) return IndexNotFound(name, *schema);
  if (update.delete_action) {
    HF_CHECK_OK(CheckNoneInTheMaking(name, *schema));
    schema->indexes.erase(index);
    return Ok{};
  }
  SettingsOf settings{SettingsOf::When::kUpdate, schema->billing, &name};
  HF_CHECK_OK(SetOnDemand(settings, update.update->on_demand_throughput, &index->on_demand));
  HF_CHECK_OK(SetWarm(settings, update.update->warm_throughput,
                      index->throughput.value_or(ProvisionedThroughput{}), &index->warm));
  if (!update.update->provisioned_throughput) {
    if (SaysAnything(update.update->on_demand_throughput) || SaysAnything(update.update->warm_throughput))
      return Ok{};
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
  const ProvisionedThroughput& wanted = *update.update->provisioned_throughput;
  index->throughput_changes.Note(index->throughput.value_or(ProvisionedThroughput{}), wanted, now_millis);
  index->throughput = wanted;
  return Ok{};
}

Status ChangeVectorIndex(const VectorIndexUpdate& update, const UpdateTableRequest& request, bool delayed,
                         TableSchema* schema) {
  if (update.create) {
    HF_CHECK_OK(CheckCreatable(update.create->index_name, schema));
    HF_CHECK_OK(CheckNameLength(schema->name, update.create->index_name));
    HF_TRY(IndexSchema index, VectorIndexFrom(*update.create, DefinitionsIn(request), *schema));
    index.status = IndexStatus::kCreating;
    index.allocating = delayed;
    schema->indexes.push_back(std::move(index));
    return Ok{};
  }
  const std::string& name = update.delete_action->index_name;
  auto doomed = FindIndex(schema, name);
  if (doomed == schema->indexes.end() || !doomed->is_vector()) return IndexNotFound(name, *schema);
  if (doomed->allocating) {
    return Error(
        ErrorCode::kResourceInUse,
        "Attempt to change a resource which is still in use: Index creation is in resource allocation "
        "phase. Retry deletion during backfilling phase or when the index is active. Table: " +
            schema->name + " Index: " + name);
  }
  HF_CHECK_OK(CheckNoneInTheMaking(name, *schema));
  schema->indexes.erase(doomed);
  return Ok{};
}

Status Edit(Context& context, const UpdateTableRequest& request, bool delayed, int64_t now_millis,
            TableSchema* schema) {
  HF_CHECK_OK(ChangeBilling(request, now_millis, schema));
  if (request.global_secondary_index_updates) {
    for (const GlobalSecondaryIndexUpdate& update : *request.global_secondary_index_updates) {
      HF_CHECK_OK(ChangeIndex(update, request, now_millis, schema));
    }
  }
  for (const IndexSchema& index : schema->indexes) {
    if (request.billing_mode == BillingMode::kProvisioned && index.is_global() && !index.throughput)
      return Invalid("ProvisionedThroughput must be specified for index: " + index.name);
  }
  if (request.vector_index_updates) {
    for (const VectorIndexUpdate& update : *request.vector_index_updates) {
      HF_CHECK_OK(ChangeVectorIndex(update, request, delayed, schema));
    }
  }
  if (request.global_secondary_index_updates || request.vector_index_updates) {
    MergeDefinitions(DefinitionsIn(request), schema);
  }
  if (request.table_class) {
    schema->table_class = request.table_class;
    schema->table_class_millis = now_millis;
  }
  if (request.deletion_protection_enabled) schema->deletion_protection = *request.deletion_protection_enabled;
  if (request.stream_specification) {
    HF_CHECK_OK(ChangeStream(context, *request.stream_specification, schema));
  }
  return Ok{};
}

// What AWS was seen to refuse of a table that is UPDATING: throughput and streams. The rest is taken.
Status CheckNotUpdating(const UpdateTableRequest& request, const TableSchema& schema) {
  if (schema.status != TableStatus::kUpdating) return Ok{};
  std::string in_use = "Attempt to change a resource which is still in use: ";
  std::string table = " Table: " + schema.name;
  if (request.billing_mode || request.provisioned_throughput)
    return Error(ErrorCode::kResourceInUse, in_use + "Table IOPS are currently being updated." + table);
  if (request.stream_specification) {
    return Error(ErrorCode::kResourceInUse,
                 in_use + "Can't enable or disable stream while table IOPS are being updated." + table);
  }
  return Ok{};
}

// Another key is put in force while the table stays what it is.
bool ChangesEncryptionOnly(const UpdateTableRequest& request) {
  return request.sse_specification && !request.billing_mode && !request.provisioned_throughput &&
         !request.global_secondary_index_updates && !request.vector_index_updates && !request.table_class &&
         !request.deletion_protection_enabled && !request.stream_specification;
}

// As AWS answers: throughput is still what it was, and an index that was deleted is shown once more, as being
// deleted.
void ShowChanging(const UpdateTableRequest& request, TableDescription before, TableDescription* now) {
  if (!ChangesEncryptionOnly(request)) now->table_status = TableStatus::kUpdating;
  now->provisioned_throughput.read_capacity_units = before.provisioned_throughput.read_capacity_units;
  now->provisioned_throughput.write_capacity_units = before.provisioned_throughput.write_capacity_units;
  now->provisioned_throughput.number_of_decreases_today =
      before.provisioned_throughput.number_of_decreases_today;
  // That a maximum is taken away is told once.
  auto show_removed = [](std::optional<int64_t> given, std::optional<int64_t> OnDemandThroughput::*member,
                         TableDescription* shown) {
    if (given != -1) return;
    if (!shown->on_demand_throughput) shown->on_demand_throughput.emplace();
    (*shown->on_demand_throughput).*member = given;
  };
  if (request.on_demand_throughput) {
    show_removed(request.on_demand_throughput->max_read_request_units,
                 &OnDemandThroughput::max_read_request_units, now);
    show_removed(request.on_demand_throughput->max_write_request_units,
                 &OnDemandThroughput::max_write_request_units, now);
  }
  auto show_deleting = [](const auto& updates, auto& indexes, auto* shown) {
    if (!updates || !indexes) return;
    for (const auto& update : *updates) {
      if (!update.delete_action) continue;
      for (auto& index : *indexes) {
        if (index.index_name != update.delete_action->index_name) continue;
        index.index_status = IndexStatus::kDeleting;
        if (!*shown) shown->emplace();
        (*shown)->push_back(std::move(index));
      }
    }
  };
  show_deleting(request.global_secondary_index_updates, before.global_secondary_indexes,
                &now->global_secondary_indexes);
  show_deleting(request.vector_index_updates, before.vector_indexes, &now->vector_indexes);
  if (!request.vector_index_updates || !now->vector_indexes) return;
  for (VectorIndexDescription& index : *now->vector_indexes) {
    index.skipped_item_count.reset();
    for (const VectorIndexUpdate& update : *request.vector_index_updates) {
      if (!update.create || update.create->index_name != index.index_name) continue;
      index.index_status = IndexStatus::kCreating;
      index.backfilling = false;  // however far it is by now
    }
    if (index.index_status == IndexStatus::kDeleting) index.backfilling.reset();
  }
}

}  // namespace

Result<UpdateTableResponse> Perform(Context& context, const UpdateTableRequest& request) {
  HF_CHECK_OK(Validate(request));
  if (request.sse_specification && request.sse_specification->enabled.value_or(false))
    HF_CHECK_OK(context.engine->CheckCanEncrypt());
  HF_TRY(TableRef ref, OpenForTable(context, request.table_name));
  HF_CHECK_OK(CheckSettled(*ref.schema));
  int64_t now_millis = context.engine->clock().NowMillis();
  UpdateTableResponse response;
  TableDescription before = Describe(context, *ref.table);

  context.await_durability = true;
  engine::Engine* engine = context.engine;
  bool delayed = engine->options().transient_status_millis > 0;
  HF_CHECK_OK(engine->ChangeSchema(ref.table, [&](TableSchema* schema) -> Status {
    HF_CHECK_OK(CheckNotUpdating(request, *schema));
    const TableSchema was = *schema;
    HF_CHECK_OK(Edit(context, request, delayed, now_millis, schema));
    HF_CHECK_OK(CheckMaxima(context, *schema, was));
    if (request.sse_specification) HF_CHECK_OK(ChangeEncryption(context, *request.sse_specification, schema));
    if (delayed) schema->status = TableStatus::kUpdating;
    return Ok{};
  }));
  response.table_description = Describe(context, *ref.table);
  std::optional<SseDescription> encryption = before.sse_description;
  ShowChanging(request, std::move(before), &response.table_description);
  if (request.sse_specification) {
    // As AWS answers: on its way, with the key that was.
    response.table_description.sse_description = encryption.value_or(SseDescription{});
    response.table_description.sse_description->status = SseStatus::kUpdating;
  }
  if (delayed) {
    engine->Settle([engine, table = ref.table] {
      Status active = engine->ChangeSchema(table, [](TableSchema* schema) -> Status {
        schema->Settle();
        return Ok{};
      });
      if (!active) HF_LOG(engine->log(), kWarning, "table not settled", {"error", active.error().ToString()});
    });
  }
  return response;
}

}  // namespace holdfast::ops
