#include "ops/operations.h"
#include "ops/table_access.h"

namespace holdfast::ops {

Result<DescribeTimeToLiveResponse> Perform(Context& context, const DescribeTimeToLiveRequest& request) {
  HF_TRY(TableRef ref, OpenForTable(context, request.table_name));
  DescribeTimeToLiveResponse response;
  response.time_to_live_description.time_to_live_status = ref.schema->ttl_status;
  if (ref.schema->ttl_status != TimeToLiveStatus::kDisabled) {
    response.time_to_live_description.attribute_name = ref.schema->ttl_attribute;
  }
  return response;
}

}  // namespace holdfast::ops
