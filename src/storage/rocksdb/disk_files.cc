#include "storage/rocksdb/disk_files.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/file.h"

namespace holdfast::storage {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus ErrorOf(const std::string& what, const std::string& path) {
  int error = errno;
  std::string why = what + ": " + std::strerror(error);
  return error == ENOENT ? IOStatus::PathNotFound(why, path) : IOStatus::IOError(why, path);
}

class DiskFile final : public rocksdb::FSRandomAccessFile {
 public:
  DiskFile(base::FileDescriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  // MultiRead and ReadAsync come down to this.
  IOStatus Read(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    *result = Slice(scratch, 0);
    bool may_wait = !DoNotWait::active();
    if (!may_wait && !knows_no_wait_.load(std::memory_order_relaxed)) return WouldWait();
    size_t done = 0;
    while (done < n) {
      iovec rest{scratch + done, n - done};
      ssize_t got =
          ::preadv2(file_.get(), &rest, 1, static_cast<off_t>(offset + done), may_wait ? 0 : RWF_NOWAIT);
      if (got == 0) break;  // the end of the file
      if (got > 0) {
        done += static_cast<size_t>(got);
      } else if (!may_wait && errno == EAGAIN) {
        return WouldWait();
      } else if (!may_wait && errno == EOPNOTSUPP) {
        knows_no_wait_.store(false, std::memory_order_relaxed);
        return WouldWait();
      } else if (errno != EINTR) {
        return ErrorOf("read at " + std::to_string(offset), path_);
      }
    }
    *result = Slice(scratch, done);
    return IOStatus::OK();
  }

  IOStatus Prefetch(uint64_t offset, size_t n, const IOOptions&, IODebugContext*) override {
    // "Not supported" would make RocksDB read ahead by itself, of which a part may be in memory and a part
    // not.
    if (!DoNotWait::active()) Advise(offset, n, POSIX_FADV_WILLNEED);
    return IOStatus::OK();
  }
  void Hint(AccessPattern pattern) override {
    switch (pattern) {
      case kNormal: return Advise(0, 0, POSIX_FADV_NORMAL);
      case kRandom: return Advise(0, 0, POSIX_FADV_RANDOM);
      case kSequential: return Advise(0, 0, POSIX_FADV_SEQUENTIAL);
      case kWillNeed: return Advise(0, 0, POSIX_FADV_WILLNEED);
      case kWontNeed: return Advise(0, 0, POSIX_FADV_DONTNEED);
    }
  }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    Advise(offset, length, POSIX_FADV_DONTNEED);
    return IOStatus::OK();
  }

 private:
  static IOStatus WouldWait() { return rocksdb::status_to_io_status(rocksdb::Status::Incomplete()); }
  // Advice may be ignored; so may its failure.
  void Advise(uint64_t offset, size_t length, int advice) const {
    static_cast<void>(
        ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(length), advice));
  }

  const base::FileDescriptor file_;
  const std::string path_;
  // Whether the file's file system can tell what is in memory. Where it cannot, reads that may not wait have
  // RocksDB's cache alone.
  mutable std::atomic<bool> knows_no_wait_{true};
};

class Disk final : public rocksdb::FileSystemWrapper {
 public:
  Disk() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  const char* Name() const override { return "holdfast.Disk"; }
  IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                               IODebugContext* debug) override {
    if (options.use_direct_reads || options.use_mmap_reads)
      return target()->NewRandomAccessFile(path, options, file, debug);
    base::FileDescriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened) return ErrorOf("open", path);
    *file = std::make_unique<DiskFile>(std::move(opened), path);
    return IOStatus::OK();
  }
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> DiskFileSystem() {
  static const auto disk = std::make_shared<Disk>();
  return disk;
}

}  // namespace holdfast::storage
