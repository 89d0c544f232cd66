#include "engine/backup/recovery.h"
#include "ops/backup_access.h"
#include "ops/operations.h"
#include "ops/table_schema.h"

namespace holdfast::ops {
namespace {

constexpr int64_t kDaysDefault = 35;
// How long the answer waits for a small table to be copied. Of a large one it comes without the window.
constexpr auto kPatience = std::chrono::seconds(5);

}  // namespace

Result<UpdateContinuousBackupsResponse> Perform(Context& context,
                                                const UpdateContinuousBackupsRequest& request) {
  const PointInTimeRecoverySpecification& wanted = request.point_in_time_recovery_specification;
  if (!wanted.point_in_time_recovery_enabled && wanted.recovery_period_in_days) {
    return Invalid("RecoveryPeriodInDays can only be specified when PointInTimeRecoveryEnabled is true");
  }
  HF_TRY(TableRef ref, OpenForBackup(context, request.table_name));
  if (ref.schema->status == TableStatus::kDeleting)
    return Error(ErrorCode::kTableNotFound, "Table not found: " + ref.schema->name);
  if (ref.schema->status == TableStatus::kCreating) {
    return Error(ErrorCode::kContinuousBackupsUnavailable,
                 "Backups are being enabled for the table: " + ref.schema->name + ". Please retry later");
  }
  engine::Recovery& recovery = context.engine->recovery();
  context.await_durability = true;
  std::optional<engine::Recovery::Window> window;
  if (wanted.point_in_time_recovery_enabled) {
    HF_CHECK_OK(recovery.Enable(ref.table, wanted.recovery_period_in_days.value_or(kDaysDefault)));
    window = recovery.WaitForWindow(ref.table, kPatience);
  } else {
    HF_CHECK_OK(recovery.Disable(ref.table));
  }
  return UpdateContinuousBackupsResponse{DescribeRecovery(*ref.table->schema(), window)};
}

}  // namespace holdfast::ops
