#include "ops/backup_access.h"

#include "ops/describe.h"
#include "ops/encryption.h"

namespace holdfast::ops {
namespace {

using engine::Backup;
using engine::IndexSchema;
using engine::TableSchema;

constexpr std::string_view kBackupPart = "/backup/";

VectorIndex VectorIndexOf(const IndexSchema& index) {
  VectorIndex described;
  described.index_name = index.name;
  described.vector_attribute.attribute_name = index.vector->attribute;
  described.dimensions = index.vector->dimensions;
  described.distance_function = index.vector->distance;
  described.projection = ProjectionOf(index);
  if (!index.vector->search_schema.empty()) described.search_schema = index.vector->search_schema;
  return described;
}

template <class T>
void AddTo(std::optional<std::vector<T>>* list, T element) {
  if (!*list) list->emplace();
  (*list)->push_back(std::move(element));
}

SourceTableFeatureDetails FeaturesOf(Context& context, const TableSchema& table) {
  SourceTableFeatureDetails features;
  for (const IndexSchema& index : table.indexes) {
    if (index.is_vector()) {
      AddTo(&features.vector_indexes, VectorIndexOf(index));
    } else if (index.is_global()) {
      AddTo(&features.global_secondary_indexes,
            GlobalSecondaryIndex{index.name, KeysOf(index), ProjectionOf(index), index.throughput,
                                 MaximaOf(index.on_demand)});
    } else {
      AddTo(&features.local_secondary_indexes,
            LocalSecondaryIndex{index.name, KeysOf(index), ProjectionOf(index)});
    }
  }
  if (table.ttl_enabled())
    features.time_to_live_description = TimeToLiveDescription{table.ttl_status, table.ttl_attribute};
  if (const engine::StreamSchema* stream = table.enabled_stream())
    features.stream_description = StreamSpecification{true, stream->view_type};
  features.sse_description = DescribeEncryption(context, table);
  return features;
}

}  // namespace

Result<TableRef> OpenForBackup(Context& context, const std::string& name_or_arn) {
  HF_CHECK_OK(CheckOwner(context, name_or_arn));
  std::string name = TableNameOf(name_or_arn);
  engine::TablePtr table = context.engine->catalog().Find(name);
  if (table == nullptr) return Error(ErrorCode::kTableNotFound, "Table not found: " + name);
  return TableRef{table, table->schema()};
}

std::string BackupArn(Context& context, const Backup& backup) {
  return TableArn(context, backup.table->name) + std::string(kBackupPart) + backup.id;
}

Result<std::string> BackupIdOf(Context& context, const std::string& arn) {
  std::string prefix = TableArn(context, "");
  size_t part = arn.find(kBackupPart);
  if (!arn.starts_with(prefix) || part == std::string::npos)
    return ValidationError("Invalid BackupArn: " + arn);
  std::string id = arn.substr(part + kBackupPart.size());
  // Access was checked for the ARN as it stands: one that names another table than the backup's leads
  // nowhere.
  Result<Backup> backup = context.engine->backups().Find(id);
  if (backup && BackupArn(context, *backup) != arn)
    return Error(ErrorCode::kBackupNotFound, "Backup not found: " + arn);
  return id;
}

Error InWordsOfArn(const Error& error, const std::string& id, const std::string& arn) {
  bool is_about_it = error.code() == ErrorCode::kBackupNotFound || error.code() == ErrorCode::kBackupInUse;
  if (!is_about_it || !error.message().ends_with(id)) return error;
  return Error(error.code(), error.message().substr(0, error.message().size() - id.size()) + arn);
}

BackupDetails DetailsOf(Context& context, const Backup& backup) {
  BackupDetails details;
  details.backup_arn = BackupArn(context, backup);
  details.backup_name = backup.name;
  details.backup_size_bytes = static_cast<int64_t>(backup.counts.bytes);
  details.backup_status = backup.status;
  details.backup_type = backup.type;
  details.backup_creation_date_time = Timestamp{backup.created_millis};
  if (backup.expires_millis != 0) details.backup_expiry_date_time = Timestamp{backup.expires_millis};
  return details;
}

BackupDescription Describe(Context& context, const Backup& backup) {
  const TableSchema& table = *backup.table;
  BackupDescription description;
  description.backup_details = DetailsOf(context, backup);
  SourceTableDetails& source = description.source_table_details;
  source.table_name = table.name;
  source.table_id = table.uuid;
  source.table_arn = TableArn(context, table.name);
  source.table_size_bytes = static_cast<int64_t>(backup.counts.bytes);
  source.key_schema = KeysOf(table);
  source.table_creation_date_time = Timestamp{table.created_millis};
  source.provisioned_throughput = table.throughput;
  source.item_count = static_cast<int64_t>(backup.counts.items);
  source.billing_mode = table.billing;
  source.on_demand_throughput = MaximaOf(table.on_demand);
  description.source_table_feature_details = FeaturesOf(context, table);
  return description;
}

Status CheckTarget(Context& context, const std::string& table_name) {
  engine::TablePtr table = context.engine->catalog().Find(table_name);
  if (table == nullptr) return Ok{};
  switch (table->schema()->status) {
    case TableStatus::kCreating:
      return Error(ErrorCode::kTableInUse, "Table is being created: " + table_name);
    case TableStatus::kDeleting:
      return Error(ErrorCode::kTableInUse, "Table is being deleted: " + table_name);
    default: return Error(ErrorCode::kTableAlreadyExists, "Table already exists: " + table_name);
  }
}

Result<TableDescription> DescribeStarted(Context& context, const Result<engine::TablePtr>& table) {
  if (!table && table.error().code() == ErrorCode::kResourceInUse)  // somebody was faster
    return Error(ErrorCode::kTableAlreadyExists, table.error().message());
  if (!table) return table.error();
  context.await_durability = true;
  // As AWS answers, however far it is by now.
  TableDescription description = Describe(context, **table);
  description.table_status = TableStatus::kCreating;
  description.restore_summary->restore_in_progress = true;
  auto show_creating = [](auto& indexes) {
    if (!indexes) return;
    for (auto& index : *indexes) {
      index.index_status = IndexStatus::kCreating;
      if constexpr (requires { index.skipped_item_count; }) index.skipped_item_count.reset();
    }
  };
  show_creating(description.global_secondary_indexes);
  show_creating(description.vector_indexes);
  return description;
}

ContinuousBackupsDescription DescribeRecovery(const TableSchema& table,
                                              const std::optional<engine::Recovery::Window>& window) {
  ContinuousBackupsDescription description;
  if (table.recovery_days == 0) return description;
  PointInTimeRecoveryDescription& recovery = description.point_in_time_recovery_description;
  recovery.point_in_time_recovery_status = ContinuousBackupsStatus::kEnabled;
  recovery.recovery_period_in_days = table.recovery_days;
  if (window) {
    recovery.earliest_restorable_date_time = Timestamp{window->earliest_seconds * 1000};
    recovery.latest_restorable_date_time = Timestamp{window->latest_seconds * 1000};
  }
  return description;
}

}  // namespace holdfast::ops
