// Counts a table or an index afresh, while it stays in use.
#pragma once

#include "engine/catalog/catalog.h"
#include "storage/kv.h"

namespace holdfast::engine {

// Makes the tally of `target` (the table's own id, or that of one of its indexes) exact: what is there at one
// moment is counted, and the changes since are added as they happen. Until it returns the tally shows those
// only.
Status Recount(storage::Kv* kv, Table* table, ObjectId target);

}  // namespace holdfast::engine
