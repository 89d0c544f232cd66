#include "storage/rocksdb/rocksdb_options.h"

#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <thread>

namespace holdfast::storage {
namespace {

// Compactions that may run at once: two at least, so that the tables just flushed need not wait for a long
// one of the levels below, of which writes are slowed down and stopped. One thread always flushes: two
// flushes of one space that fail may be retried in the wrong order (docs/rocksdb.md, 10).
int CompactionThreads() {
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency() / 2, 2u, 4u));
}

}  // namespace

SharedMemory::SharedMemory(const RocksDbOptions& options)
    : cache(rocksdb::NewLRUCache(options.cache_bytes)),
      // Not less than the arenas of all spaces begin with.
      write_buffers(std::make_shared<rocksdb::WriteBufferManager>(
          std::max<size_t>(4 * options.write_buffer_bytes, 8 << 20))) {}

rocksdb::DBOptions MakeDbOptions(const RocksDbOptions& options) {
  rocksdb::DBOptions db;
  db.create_if_missing = !options.must_exist;
  db.create_missing_column_families = true;
  db.manual_wal_flush = options.buffer_log;
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  db.track_and_verify_wals_in_manifest = true;
  // A short log keeps the restart after a crash short.
  db.max_total_wal_size = 32 << 20;
  // A short manifest does too: it is read whole at each start.
  db.max_manifest_file_size = options.manifest_bytes;
  // avoid_flush_during_recovery stays off: what was replayed reaches synced files before anyone reads it, and
  // the guard needs logs of one life.
  db.skip_stats_update_on_db_open = true;
  db.skip_checking_sst_file_sizes_on_db_open = true;
  // Every table stays open: to open one takes several reads, of which a request would have to wait for each.
  db.max_open_files = -1;
  db.max_background_flushes = 1;
  db.max_background_compactions = CompactionThreads();
  db.bytes_per_sync = 1 << 20;
  db.compaction_readahead_size = 2 << 20;
  // A failed flush or compaction is not resumed behind our back: the store turns read-only until it is opened
  // anew.
  db.max_bgerror_resume_count = 0;
  // Old logs go to a directory of their own, where the follower's Release() deletes them.
  if (options.followed_by_clock != nullptr) db.WAL_ttl_seconds = uint64_t{10} * 365 * 24 * 3600;
  return db;
}

rocksdb::ColumnFamilyOptions MakeSpaceOptions(Space space, const RocksDbOptions& asked,
                                              const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = 8 << 10;
  table.format_version = 5;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  // Filters and indexes live in the cache, so that the cache size bounds the memory of a large store.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;

  rocksdb::ColumnFamilyOptions options;
  bool bulky = space == Space::kItems || space == Space::kIndexes || space == Space::kChanges;
  options.write_buffer_size = bulky ? asked.write_buffer_bytes : asked.write_buffer_bytes / 8;
  options.max_write_buffer_number = 4;
  options.arena_block_size = bulky ? 256 << 10 : 32 << 10;
  options.level_compaction_dynamic_level_bytes = true;
  options.target_file_size_base = asked.table_bytes;
  // A flushed table is merged with all of the first level, since keys are random. A smaller first level makes
  // that cheaper. Fewer but larger merges (a trigger of 8) would take off a little more, but cost each read
  // a filter for each table that waits.
  options.level0_file_num_compaction_trigger = 4;
  options.max_bytes_for_level_base = 64 << 20;
  // A compaction of the deepest levels is as long as it is large, and a flush may wait for its end.
  options.max_compaction_bytes = 12 * asked.table_bytes;
  options.compression = rocksdb::kLZ4Compression;
  // A lookup of a key that is not in the write buffer, the usual case, skips its skip list.
  options.memtable_whole_key_filtering = true;
  options.memtable_prefix_bloom_size_ratio = 0.02;
  if (space == Space::kChanges) {
    // Records are written once and read in ranges. No one looks a single record up, so filters and hashes
    // would only cost.
    table.filter_policy.reset();
    table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinarySearch;
    table.block_size = 64 << 10;
    // A flushed table is soon rewritten once, and compressed then. Its blocks are large because starting
    // a block costs as much as compressing 16 KiB.
    options.compression_per_level = {rocksdb::kNoCompression, rocksdb::kLZ4Compression};
    options.memtable_whole_key_filtering = false;
    options.memtable_prefix_bloom_size_ratio = 0;
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

rocksdb::ColumnFamilyOptions MakeUnusedSpaceOptions() {
  rocksdb::ColumnFamilyOptions unused;
  unused.write_buffer_size = 64 << 10;
  unused.arena_block_size = 4 << 10;
  return unused;
}

rocksdb::ReadOptions MakeReadOptions(Space space) {
  rocksdb::ReadOptions options;
  // Where range deletions are honoured, a walk that meets an error at the first block of a table goes on
  // without that level (docs/rocksdb.md, 2). The catalog has none. Items and index entries are deleted by
  // range only together with their table or index, whose id is never used again (I-11), so that no reader
  // meets what such a range covers. The other spaces are never walked by a thread that may not wait.
  options.ignore_range_deletions =
      space == Space::kCatalog || space == Space::kItems || space == Space::kIndexes;
  return options;
}

}  // namespace holdfast::storage
