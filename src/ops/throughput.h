// Who is let in by the throughput of tables and indexes, and how the others are refused.
//
// Reads ask here first; writes ask on the write path, which tells in its outcomes what was not let in. What
// requests cost is charged by TableUsage (ops/capacity.h), once it is known. engine/catalog/throughput.h has
// the buckets.
#pragma once

#include "engine/item/write.h"
#include "holdfast/ops/common.h"
#include "ops/context.h"
#include "ops/table_access.h"

namespace holdfast::ops {

enum class Access : uint8_t { kRead, kWrite };

// The refusal, which is counted. `index`, of the table's schema, is null where the table itself is short.
Error Throttle(Context& context, const TableRef& ref, const engine::IndexSchema* index, Access access);
// The same for a write that was not let in.
inline Error Throttle(Context& context, const TableRef& ref, const engine::WriteOutcome& outcome) {
  return Throttle(context, {ref.table, outcome.schema}, outcome.throttled->index, Access::kWrite);
}

// Before a table, or an index of it, is read. A local index is read at its table's expense. `planned` are
// units that the request will be charged for what it asked for before.
bool HasRoomToRead(Context& context, const TableRef& ref, const engine::IndexSchema* index = nullptr,
                   double planned = 0);
// The same, with the refusal, which is counted: nothing after it may answer kWouldBlock.
Status AdmitRead(Context& context, const TableRef& ref, const engine::IndexSchema* index = nullptr,
                 double planned = 0);

// Why an action of a transaction was not carried out.
CancellationReason ReasonOf(const Error& throttled);

// Counts an answer that is an error for the table that the request named.
void CountError(const Context& context, const Error& error);

}  // namespace holdfast::ops
