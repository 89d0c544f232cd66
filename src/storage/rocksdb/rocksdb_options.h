// How RocksDB is set up for this store. docs/rocksdb.md lists the faults of the packaged version that these
// settings avoid; rocksdb_kv_test.cc holds them to it.
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/options.h>
#include <rocksdb/version.h>
#include <rocksdb/write_buffer_manager.h>
#if ROCKSDB_MAJOR >= 8
#include <rocksdb/advanced_cache.h>  // where the class went
#endif

#include <memory>

#include "storage/rocksdb/rocksdb_kv.h"

namespace holdfast::storage {

// What spaces share. All write buffers together are flushed from write_buffers->buffer_size() on.
struct SharedMemory {
  explicit SharedMemory(const RocksDbOptions& options);

  std::shared_ptr<rocksdb::Cache> cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
};

// Without `env`, `info_log`, `wal_filter` and `write_buffer_manager`, which belong to one opening.
rocksdb::DBOptions MakeDbOptions(const RocksDbOptions& options);
rocksdb::ColumnFamilyOptions MakeSpaceOptions(Space space, const RocksDbOptions& options,
                                              const std::shared_ptr<rocksdb::Cache>& cache);
// Of the column family that RocksDB insists on and that stays empty.
rocksdb::ColumnFamilyOptions MakeUnusedSpaceOptions();

// Not with kBlockCacheTier (docs/rocksdb.md, 1): who may not wait says so by DoNotWait.
rocksdb::ReadOptions MakeReadOptions(Space space);

}  // namespace holdfast::storage
