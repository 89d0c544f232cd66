// An archive: a directory, on another disk or mount, from which a store can be made anew as it was at any
// second that the archive covers. docs/archive.md describes it, docs/format.md its bytes.
//
//   ARCHIVE                 whose it is
//   checkpoints/0000000001  a state of the store: which files it consists of
//   log/0000000001          what was written, in order; each file goes on where the one before it ends
//   HEAD                    which of those is the newest
//   additions/0000000001    files that came to stand beside the store between two checkpoints
//   files/…                 the files that those name, each once
//
// A backup is an archive of one checkpoint and no log. Every file is written through one FileSystem, so that
// what is beneath a store (encryption) can be beneath its archive too; a name appears when its bytes are
// durable.
//
// Not thread-safe: one writer per archive, which holds its lock, and readers that can live with files that
// are deleted under them.
#pragma once

#include <rocksdb/file_system.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/checksum.h"
#include "holdfast/result.h"

namespace holdfast::storage {

using FileSystemPtr = std::shared_ptr<rocksdb::FileSystem>;

// One file of a store: where it stood, and what in files/ holds its bytes.
struct ArchivedFile {
  std::string path;    // within the store
  std::string object;  // in files/
  uint64_t size = 0;
  uint64_t checksum = 0;
  base::ChecksumKind checked_by =
      base::ChecksumKind::kXxh3;  // kFormat2: shipped in that format or an earlier one
};

// A state of the store. Everything up to `sequence` is in it, later changes perhaps, but none that were
// written after `time_millis`. What is missing of those is in the log, from `segment` on.
struct ArchivedCheckpoint {
  uint64_t number = 0;
  uint64_t sequence = 0;
  int64_t time_millis = 0;
  uint64_t segment = 0;
  std::vector<ArchivedFile> files;
};

// Files that were there by `time_millis`.
struct ArchivedAdditions {
  uint64_t number = 0;
  int64_t time_millis = 0;
  std::vector<ArchivedFile> files;
};

Error IoError(const std::string& what, const rocksdb::IOStatus& status);

// Called again and again while something long is under way, so that other things can be done meanwhile; its
// failure ends the long thing. Empty: there is nothing else to do.
using Between = std::function<Status()>;

// How closely a file is looked at: that it is there and has its size, or all of its bytes.
enum class Depth : uint8_t { kSize, kBytes };

// Of the directory of an archive: it is made, or, having been there before, it is a mount that is away.
enum class Missing : uint8_t { kIsMade, kIsAway };

class Archive {
 public:
  Archive(FileSystemPtr file_system, std::string directory)
      : file_system_(std::move(file_system)), directory_(std::move(directory)) {}
  ~Archive() { Unlock(); }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  const std::string& directory() const { return directory_; }
  rocksdb::FileSystem* file_system() const { return file_system_.get(); }

  // Makes the archive of the store `identity` where there is nothing yet, and locks it. kValidation: it is
  // another store's, or something else is there.
  Status OpenForWriting(const std::string& identity, Missing missing);
  // Fails when the archive is no longer where it was opened. Requires: it is locked.
  Status CheckThere() const;
  // Says whose it is, once more: under the current version of the key, where the archive is encrypted.
  Status WriteMark(const std::string& identity);
  // Fails unless an archive is there. Returns whose it is.
  Result<std::string> Identity() const;
  void Unlock();

  // Numbers of the files in checkpoints/, log/ or additions/, ascending.
  Result<std::vector<uint64_t>> Numbers(const std::string& kind) const;
  std::string PathOf(const std::string& kind, uint64_t number) const;

  Result<ArchivedCheckpoint> ReadCheckpoint(uint64_t number) const;
  Status WriteCheckpoint(const ArchivedCheckpoint& checkpoint);
  Result<ArchivedAdditions> ReadAdditions(uint64_t number) const;
  Status WriteAdditions(const ArchivedAdditions& additions);

  // The newest log segment; it is there, and its first frame is. 0: an archive from before HEAD was written,
  // or one without a log.
  Result<uint64_t> ReadHead() const;
  Status WriteHead(uint64_t segment);

  // Copies the file at `path` of `from` into files/ as `object`; the answer's own path is left to the caller.
  // Adds to `*bytes` what was copied. Calls `between` from time to time and ends when
  // that fails; it may ship other files.
  Result<ArchivedFile> Ship(rocksdb::FileSystem* from, const std::string& path, const std::string& object,
                            const Between& between, uint64_t* bytes);
  // The other way, into `to`, checking the bytes; names the object when it is missing or damaged.
  Status Fetch(const ArchivedFile& file, rocksdb::FileSystem* to, const std::string& path) const;
  // kCorruption, naming the object, when it is missing or damaged.
  Status Check(const ArchivedFile& file, Depth depth) const;

  Status Delete(const std::string& kind, uint64_t number);
  // Deletes from files/ what no checkpoint and no additions name.
  Status DeleteUnnamedFiles();

 private:
  Status WriteWhole(const std::string& path, ByteView bytes);
  Result<std::string> ReadWhole(const std::string& path) const;
  Status SyncDirectoryOf(const std::string& path);

  const FileSystemPtr file_system_;
  const std::string directory_;
  rocksdb::FileLock* lock_ = nullptr;
  int shipping_ = 0;  // files at this moment, one within the other
};

// Copies a file, both ends through their file systems; the copy is synced, its name is not. The checksum is
// of the bytes that were copied.
struct Copied {
  uint64_t size = 0;
  uint64_t checksum = 0;
};
Result<Copied> CopyFile(rocksdb::FileSystem* from, const std::string& source, rocksdb::FileSystem* to,
                        const std::string& target, base::ChecksumKind checksum, const Between& between);
Status SyncDirectory(rocksdb::FileSystem* file_system, const std::string& directory);
Result<std::vector<std::string>> NamesIn(rocksdb::FileSystem* file_system, const std::string& directory);
// With everything in it; no error when it is not there.
Status DeleteDirectory(rocksdb::FileSystem* file_system, const std::string& directory);

}  // namespace holdfast::storage
