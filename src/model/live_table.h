// A table of a store as it is now: for those who make tables and wait for them.
#pragma once

#include <optional>
#include <string>

#include "holdfast/store.h"

namespace holdfast::model {

// Nothing when there is no such table.
Result<std::optional<TableDescription>> DescribeLive(Store* store, const std::string& table);
// Returns when the table and its indexes are active.
Result<TableDescription> WaitUntilReady(Store* store, const std::string& table);

}  // namespace holdfast::model
