#include "ops/describe.h"
#include "ops/operations.h"
#include "ops/table_access.h"

namespace holdfast::ops {

Result<DescribeTableResponse> Perform(Context& context, const DescribeTableRequest& request) {
  HF_TRY(TableRef ref, OpenForTable(context, request.table_name));
  return DescribeTableResponse{Describe(context, *ref.table)};
}

}  // namespace holdfast::ops
