// Small files that must be there whole or not at all.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/bytes.h"
#include "holdfast/result.h"

namespace holdfast::base {

// "what: why", with the reason that errno gives.
Error IoError(const std::string& what);

// Closes what it holds.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// The directory that `path` is in, open for locking and syncing.
Result<FileDescriptor> OpenDirectoryOf(const std::string& path);

// The same, locked: whoever else changes files there in this way waits until it is closed.
Result<FileDescriptor> LockDirectoryOf(const std::string& path);

// A key file, of which at most `bytes_max` are read. kAccessDenied: others than its owner may use it.
Result<std::string> ReadPrivateFile(const std::string& path, size_t bytes_max);

// Writes the file anew, through `path`.new. A power cut leaves the old bytes or the new ones, never a
// mixture; after the return it is the new ones.
Status ReplaceFile(const std::string& path, ByteView bytes, mode_t mode);

}  // namespace holdfast::base
