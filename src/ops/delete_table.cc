#include "engine/backup/backups.h"
#include "engine/backup/restorer.h"
#include "ops/describe.h"
#include "ops/operations.h"
#include "ops/table_access.h"

namespace holdfast::ops {
namespace {

Error ReadByRestore(const engine::TableSchema& table) {
  return Error(
      ErrorCode::kResourceInUse,
      "Attempt to change a resource which is still in use: a table is being restored from: " + table.name);
}

}  // namespace

Result<DeleteTableResponse> Perform(Context& context, const DeleteTableRequest& request) {
  HF_TRY(TableRef ref, OpenForTable(context, request.table_name));
  engine::Engine* engine = context.engine;
  if (ref.schema->deletion_protection) {
    return ValidationError(
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion "
        "protection first.");
  }
  for (const engine::IndexSchema& index : ref.schema->indexes) {
    if (!index.is_vector() || (index.status == IndexStatus::kActive && !index.allocating)) continue;
    return Error(
        ErrorCode::kResourceInUse,
        "Attempt to change a resource which is still in use: Cannot delete table while indexes are being "
        "created, updated, or deleted.");
  }
  if (engine->restorer().ReadsLogOf(ref.schema->id)) return ReadByRestore(*ref.schema);
  // A table whose restore has failed is of no other use.
  bool failed = ref.schema->restoring() && engine->restorer().HasFailed(ref.schema->id);
  if (!failed &&
      (ref.schema->status == TableStatus::kCreating || ref.schema->status == TableStatus::kUpdating)) {
    return Error(ErrorCode::kResourceInUse,
                 "Attempt to change a resource which is still in use: Table is being " +
                     std::string(ref.schema->status == TableStatus::kCreating ? "created" : "updated") +
                     ": " + ref.schema->name);
  }
  DeleteTableResponse response;
  response.table_description = Describe(context, *ref.table);
  response.table_description.table_status = TableStatus::kDeleting;
  response.table_description.attribute_definitions.reset();
  response.table_description.key_schema.reset();
  response.table_description.creation_date_time.reset();
  response.table_description.local_secondary_indexes.reset();
  response.table_description.global_secondary_indexes.reset();
  response.table_description.vector_indexes.reset();
  if (ref.schema->status == TableStatus::kDeleting) return response;

  context.await_durability = true;
  bool backups_come_first = engine->backups().ComeFirst(*ref.schema);
  if (!backups_come_first && engine->options().transient_status_millis == 0) {
    HF_CHECK_OK(engine->DropTable(ref.table));
    return response;
  }
  HF_CHECK_OK(engine->ChangeSchema(ref.table, [&](engine::TableSchema* edited) -> Status {
    // Once more, now that no restore can begin: it and the drop would wait for one another.
    if (engine->restorer().ReadsLogOf(edited->id)) return ReadByRestore(*edited);
    edited->status = TableStatus::kDeleting;
    return Ok{};
  }));
  // Whoever wanted to be able to go back gets a last chance to, and who asked for a backup gets it. The table
  // goes when they are safe, after a crash too.
  if (backups_come_first) {
    engine->backups().DropBehind(ref.table);
    return response;
  }
  engine->Settle([engine, table = ref.table] {
    if (Status dropped = engine->DropTable(table); !dropped) {
      HF_LOG(engine->log(), kWarning, "table not dropped", {"error", dropped.error().ToString()});
    }
  });
  return response;
}

}  // namespace holdfast::ops
