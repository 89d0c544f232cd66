#include "ops/backup_access.h"
#include "ops/operations.h"

namespace holdfast::ops {
namespace {

bool IsOfType(BackupType type, BackupTypeFilter wanted) {
  switch (wanted) {
    case BackupTypeFilter::kUser: return type == BackupType::kUser;
    case BackupTypeFilter::kSystem: return type == BackupType::kSystem;
    case BackupTypeFilter::kAwsBackup: return type == BackupType::kAwsBackup;
    case BackupTypeFilter::kAll: return true;
  }
  return false;
}

BackupSummary Summarize(Context& context, const engine::Backup& backup) {
  BackupDetails details = DetailsOf(context, backup);
  BackupSummary summary;
  summary.table_name = backup.table->name;
  summary.table_id = backup.table->uuid;
  summary.table_arn = TableArn(context, backup.table->name);
  summary.backup_arn = std::move(details.backup_arn);
  summary.backup_name = std::move(details.backup_name);
  summary.backup_creation_date_time = details.backup_creation_date_time;
  summary.backup_expiry_date_time = details.backup_expiry_date_time;
  summary.backup_status = details.backup_status;
  summary.backup_type = details.backup_type;
  summary.backup_size_bytes = details.backup_size_bytes;
  return summary;
}

}  // namespace

Result<ListBackupsResponse> Perform(Context& context, const ListBackupsRequest& request) {
  std::string after;
  if (request.exclusive_start_backup_arn) {
    HF_TRY(after, BackupIdOf(context, *request.exclusive_start_backup_arn));
  }
  if (request.table_name) HF_CHECK_OK(CheckOwner(context, *request.table_name));
  std::string table = request.table_name ? TableNameOf(*request.table_name) : "";
  auto wanted = [&](const engine::Backup& backup) {
    const auto& from = request.time_range_lower_bound;
    const auto& until = request.time_range_upper_bound;
    return (table.empty() || backup.table->name == table) &&
           (!from || backup.created_millis >= from->millis) &&
           (!until || backup.created_millis < until->millis) &&
           IsOfType(backup.type, request.backup_type.value_or(BackupTypeFilter::kUser));
  };
  auto limit = static_cast<size_t>(request.limit.value_or(100));
  HF_TRY(std::vector<engine::Backup> backups, context.engine->backups().List(after, limit + 1, wanted));
  ListBackupsResponse response;
  bool more = backups.size() > limit;
  if (more) backups.pop_back();
  for (const engine::Backup& backup : backups)
    response.backup_summaries.push_back(Summarize(context, backup));
  if (more) response.last_evaluated_backup_arn = response.backup_summaries.back().backup_arn;
  return response;
}

}  // namespace holdfast::ops
