// The storage port: an ordered, transactional key-value store that knows bytes only. Everything the engine
// needs from a disk stands in this file; storage/rocksdb/ and storage/memory/ implement it, and one contract
// suite (tests/contract/) holds both to it.
//
//   std::unique_ptr<Batch> batch = kv->NewBatch();
//   batch->Put(Space::kItems, key, value);
//   HF_CHECK_OK(kv->Write(batch.get(), Wait::kMayBlock));   // atomic, visible at once, not yet durable
//   std::shared_ptr<const Snapshot> snapshot = kv->TakeSnapshot();
//   HF_CHECK_OK(kv->Sync());                                // now everything in `snapshot` survives a power
//   cut
//
// Thread safety: a Kv may be used from any thread. Batches and iterators belong to one thread at a time.
// Ownership: snapshots and iterators must be gone before their Kv is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "holdfast/result.h"
#include "storage/files.h"

namespace holdfast::storage {

// Keys of different kinds never meet. Stored on disk as the name SpaceName() gives: never rename.
enum class Space : uint8_t { kCatalog, kItems, kIndexes, kChanges, kTtl };
inline constexpr int kSpaces = 5;
std::string_view SpaceName(Space space);

// Whether a call may wait for the disk or for a compaction. With kNever a call that would have to wait does
// nothing and answers ErrorCode::kWouldBlock: the caller runs the whole operation again where waiting is
// allowed.
enum class Wait : uint8_t { kMayBlock, kNever };

// [lower, upper). An empty upper bound is open.
struct Range {
  std::string lower;
  std::string upper;
};

// The state of the store at one moment.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
};

// Changes that happen together or not at all, in order.
class Batch {
 public:
  virtual ~Batch() = default;
  virtual void Put(Space space, ByteView key, ByteView value) = 0;
  virtual void Delete(Space space, ByteView key) = 0;
  // Of items and index entries only what nobody will read again, or write: those of a table or index that is
  // gone. Whether such a read finds anything is left open. None of the catalog's.
  virtual void DeleteRange(Space space, const Range& range) = 0;
  virtual void Clear() = 0;
  virtual bool empty() const = 0;
};

// Walks one range of one space in key order, either way. Starts invalid: seek first.
class Iterator {
 public:
  virtual ~Iterator() = default;
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  // To the first key >= `key`, or the last key <= `key`.
  virtual void Seek(ByteView key) = 0;
  virtual void SeekForPrev(ByteView key) = 0;
  virtual void Next() = 0;
  virtual void Prev() = 0;
  // Valid until the iterator moves.
  virtual ByteView key() const = 0;
  virtual ByteView value() const = 0;
  // Why the iterator is not valid: the end (OK), kWouldBlock, or a fault. Look at it after every walk.
  virtual Status status() const = 0;
};

struct Capabilities {
  bool durable = false;      // Sync() means something
  bool checkpoints = false;  // Checkpoint() works
  bool follows = false;      // Follow() works
};

// A piece of the log: one or several batches in the order in which they were written. Every change has a
// number, its sequence; a record holds those from `first` to `last`.
struct LogRecord {
  uint64_t first = 0;
  uint64_t last = 0;
  int64_t time_millis = 0;  // when its last batch was written
  std::string bytes;        // for Replay()
};

// Reads the log as it grows, and never what a power cut could still take. Belongs to one thread; must be gone
// before its Kv is.
class LogFollower {
 public:
  virtual ~LogFollower() = default;
  // The next record; false when everything that is synced has been read. kTrimmedDataAccess: the log no
  // longer has what comes next, so that only a checkpoint can go on from here.
  virtual Result<bool> Next(LogRecord* record) = 0;
  // What has been read is not needed any more, and of the rest no more than `bytes_max` is to be kept.
  virtual Status Release(uint64_t bytes_max) = 0;
};

struct Stats {
  uint64_t disk_bytes = 0;
  uint64_t memory_bytes = 0;  // write buffers and table readers
  uint64_t cache_bytes = 0;   // of the block cache in use
  uint64_t log_bytes = 0;     // write-ahead log not yet obsolete
  uint64_t compaction_pending_bytes = 0;
};

// What a store holds in memory, cheap to ask.
struct MemoryStats {
  size_t cache_bytes = 0;
  size_t write_buffer_bytes = 0;
};

// The part of a Kv that changes no data. An open engine hands out only this; it writes through
// engine::Commit.
class KvReader {
 public:
  virtual ~KvReader() = default;

  virtual Capabilities capabilities() const = 0;
  virtual std::unique_ptr<Batch> NewBatch() = 0;

  virtual std::shared_ptr<const Snapshot> TakeSnapshot() = 0;
  // Reads the newest state where `snapshot` is null. Returns whether the key is there.
  virtual Result<bool> Get(Space space, ByteView key, const Snapshot* snapshot, Wait wait,
                           std::string* value) = 0;
  // The iterator sees one state throughout: `snapshot`, or the newest at this moment.
  virtual std::unique_ptr<Iterator> Iterate(Space space, Range range, const Snapshot* snapshot,
                                            Wait wait) = 0;

  // Bytes stored in a range, to about ten per cent; for estimates that people see.
  virtual uint64_t ApproximateSize(Space space, const Range& range) = 0;
  virtual Stats stats() const = 0;
  virtual MemoryStats memory() const { return {}; }
  // What the cache of blocks read from disk may take from now on; it gives back at once what is more.
  virtual void LimitCache([[maybe_unused]] size_t bytes) {}
  // The process is about to end, so that closing should be quick: background work ends, writes that wait for
  // it are refused, and the cache's memory is left to the system.
  virtual void PrepareToClose() {}
  // A copy of the newest state that can be opened as a store, in a directory that does not exist yet.
  virtual Status Checkpoint(const std::string& directory) = 0;
  // Files beside the store. Null for kVectors where nothing outlives the process.
  virtual Files* files(FileKind kind) = 0;
};

class Kv : public KvReader {
 public:
  // Applies `batch` atomically. Readers without a snapshot see it when this returns; only Sync() makes it
  // durable. kReadOnly once the log cannot be written: the write that met this may be seen until the store is
  // opened anew, and is then gone.
  virtual Status Write(Batch* batch, Wait wait) = 0;
  // Makes every write that returned before this call durable. After a failure nothing is known about the log:
  // the caller must stop writing.
  virtual Status Sync() = 0;
  // Lets go of every log there is: what is in them goes to other files, and a new one is begun.
  virtual Status RollLog() { return Ok{}; }

  // --- a second copy elsewhere (storage/archive/); only where capabilities().follows ---

  // A name that no other store has, not even one that was opened from a checkpoint.
  virtual std::string identity() const { return {}; }
  // The newest change that is synced.
  virtual uint64_t synced_sequence() const { return 0; }
  // The log behind the change `after`.
  virtual Result<std::unique_ptr<LogFollower>> Follow(uint64_t after);
  // Applies records of the store from whose checkpoint this one was opened, up to the first batch that was
  // written at `before_millis` or later. Returns false when it met one.
  virtual Result<bool> Replay(const std::vector<ByteView>& records, int64_t before_millis);

  // Rewrites the store without what is no longer needed. Slow.
  virtual Status Compact() = 0;
};

}  // namespace holdfast::storage
