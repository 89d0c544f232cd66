// All operations, as overloads of one name: Perform(context, request).
//
// Perform requires that the request keeps the constraints of its field list; Execute checks them first and is
// what everybody outside this layer calls.
#pragma once

#include "base/field_path.h"
#include "holdfast/ops/batch_get_item.h"
#include "holdfast/ops/batch_write_item.h"
#include "holdfast/ops/create_backup.h"
#include "holdfast/ops/create_table.h"
#include "holdfast/ops/delete_backup.h"
#include "holdfast/ops/delete_item.h"
#include "holdfast/ops/delete_table.h"
#include "holdfast/ops/describe_backup.h"
#include "holdfast/ops/describe_continuous_backups.h"
#include "holdfast/ops/describe_endpoints.h"
#include "holdfast/ops/describe_limits.h"
#include "holdfast/ops/describe_stream.h"
#include "holdfast/ops/describe_table.h"
#include "holdfast/ops/describe_time_to_live.h"
#include "holdfast/ops/get_item.h"
#include "holdfast/ops/get_records.h"
#include "holdfast/ops/get_shard_iterator.h"
#include "holdfast/ops/list_backups.h"
#include "holdfast/ops/list_streams.h"
#include "holdfast/ops/list_tables.h"
#include "holdfast/ops/list_tags_of_resource.h"
#include "holdfast/ops/put_item.h"
#include "holdfast/ops/query.h"
#include "holdfast/ops/restore_table_from_backup.h"
#include "holdfast/ops/restore_table_to_point_in_time.h"
#include "holdfast/ops/scan.h"
#include "holdfast/ops/search_vectors.h"
#include "holdfast/ops/tag_resource.h"
#include "holdfast/ops/transact_get_items.h"
#include "holdfast/ops/transact_write_items.h"
#include "holdfast/ops/untag_resource.h"
#include "holdfast/ops/update_continuous_backups.h"
#include "holdfast/ops/update_item.h"
#include "holdfast/ops/update_table.h"
#include "holdfast/ops/update_time_to_live.h"
#include "holdfast/result.h"
#include "ops/context.h"

namespace holdfast::ops {

#define HF_OPERATION(name, where) \
  Result<name##Response> Perform(Context& context, const name##Request& request);
#include "ops/operations.inc"
#undef HF_OPERATION

// Checks the constraints, together with what `violations` brings from reading the request, then performs it.
#define HF_OPERATION(name, where)                                                \
  Result<name##Response> Execute(Context& context, const name##Request& request, \
                                 const Violations& violations);
#include "ops/operations.inc"
#undef HF_OPERATION

// Executes `request` and waits until its answer may be given.
template <class Request>
auto Run(engine::Engine* engine, const Request& request)
    -> decltype(Execute(std::declval<Context&>(), request, Violations{})) {
  Context context{engine};
  auto result = Execute(context, request, {});
  if (context.await_durability && !engine->committer().IsPublished()) {
    HF_CHECK_OK(engine->committer().WaitDurable());
  }
  return result;
}

}  // namespace holdfast::ops
