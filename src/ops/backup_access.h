// From what a request names to backups and tables to restore, and how backups are described.
#pragma once

#include <string>

#include "engine/backup/backups.h"
#include "engine/backup/recovery.h"
#include "engine/backup/restorer.h"
#include "holdfast/ops/backup.h"
#include "holdfast/ops/describe_continuous_backups.h"
#include "ops/context.h"
#include "ops/table_access.h"

namespace holdfast::ops {

// For operations on backups, which have errors of their own for a table that is not there.
Result<TableRef> OpenForBackup(Context& context, const std::string& name_or_arn);

// "arn:aws:dynamodb:us-east-1:123456789012:table/Music/backup/01489602797149-73d8d5bc"
std::string BackupArn(Context& context, const engine::Backup& backup);
// The id of the backup that an ARN names, which may be gone. kBackupNotFound: it is one of another table.
Result<std::string> BackupIdOf(Context& context, const std::string& arn);
// Engine and clients call a backup by different names: `error`, which the engine gave about `id`, as a client
// is told.
Error InWordsOfArn(const Error& error, const std::string& id, const std::string& arn);

BackupDetails DetailsOf(Context& context, const engine::Backup& backup);
BackupDescription Describe(Context& context, const engine::Backup& backup);

// A restore needs a name that is free.
Status CheckTarget(Context& context, const std::string& table_name);
// A table whose restore has begun, as AWS describes it in its answer; or why none was.
Result<TableDescription> DescribeStarted(Context& context, const Result<engine::TablePtr>& started);

ContinuousBackupsDescription DescribeRecovery(const engine::TableSchema& table,
                                              const std::optional<engine::Recovery::Window>& window);

// What a table restored from `source` looks like: keys, indexes, billing, class, encryption and what
// `overrides` says; nothing else.
Result<engine::TableSchema> RestoredSchema(Context& context, const engine::TableSchema& source,
                                           const std::string& name, const RestoreOverrides& overrides);

}  // namespace holdfast::ops
