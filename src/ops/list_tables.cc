#include "ops/operations.h"

namespace holdfast::ops {

Result<ListTablesResponse> Perform(Context& context, const ListTablesRequest& request) {
  auto limit = static_cast<size_t>(request.limit.value_or(100));
  ListTablesResponse response;
  response.table_names =
      context.engine->catalog().Names(request.exclusive_start_table_name.value_or(""), limit + 1);
  if (response.table_names.size() > limit) {
    response.table_names.pop_back();
    response.last_evaluated_table_name = response.table_names.back();
  }
  return response;
}

}  // namespace holdfast::ops
