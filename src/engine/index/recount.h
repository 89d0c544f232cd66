// Counts a table or an index afresh, while it stays in use.
#pragma once

#include <functional>

#include "engine/catalog/catalog.h"
#include "storage/kv.h"

namespace holdfast::engine {

// Makes the tally of `target` (the table's own id, or that of one of its indexes) exact: what is there at one
// moment is counted, and the changes since are added as they happen. Until it returns the tally shows those
// only. When `stopping` says so it gives up, with kWouldBlock, and the tally is as inexact as it was.
Status Recount(storage::KvReader* kv, Table* table, ObjectId target, const std::function<bool()>& stopping);

}  // namespace holdfast::engine
