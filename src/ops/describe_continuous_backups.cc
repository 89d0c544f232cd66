#include "engine/backup/recovery.h"
#include "ops/backup_access.h"
#include "ops/operations.h"

namespace holdfast::ops {

Result<DescribeContinuousBackupsResponse> Perform(Context& context,
                                                  const DescribeContinuousBackupsRequest& request) {
  HF_TRY(TableRef ref, OpenForBackup(context, request.table_name));
  return DescribeContinuousBackupsResponse{
      DescribeRecovery(*ref.schema, context.engine->recovery().WindowOf(*ref.schema))};
}

}  // namespace holdfast::ops
