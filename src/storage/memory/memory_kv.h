// A Kv that lives in memory and is gone with the process: for tests, for `--in-memory`, and as the plain
// reference the contract suite compares RocksDB with.
#pragma once

#include <memory>

#include "storage/kv.h"

namespace holdfast::storage {

std::unique_ptr<Kv> OpenMemoryKv();

}  // namespace holdfast::storage
