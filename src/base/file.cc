#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace holdfast::base {
namespace {

bool WriteAll(int fd, ByteView bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

Error IoError(const std::string& what) {
  return Error(ErrorCode::kIo, what + ": " + std::strerror(errno));
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<FileDescriptor> OpenDirectoryOf(const std::string& path) {
  std::string directory = std::filesystem::path(path).parent_path();
  if (directory.empty()) directory = ".";
  FileDescriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return IoError("cannot open " + directory);
  return opened;
}

Result<FileDescriptor> LockDirectoryOf(const std::string& path) {
  HF_TRY(FileDescriptor directory, OpenDirectoryOf(path));
  if (::flock(directory.get(), LOCK_EX) != 0) return IoError("cannot lock the directory of " + path);
  return directory;
}

Result<std::string> ReadPrivateFile(const std::string& path, size_t bytes_max) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return IoError("cannot read the key file " + path);
  if (!S_ISREG(status.st_mode)) return Error(ErrorCode::kIo, "the key file " + path + " is no regular file");
  if ((status.st_mode & 077) != 0) {
    return Error(ErrorCode::kAccessDenied,
                 "others than its owner may use the key file " + path + "; `chmod 600` makes it private");
  }
  std::string text(std::min(static_cast<size_t>(status.st_size), bytes_max), '\0');
  if (::pread(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return IoError("cannot read the key file " + path);
  return text;
}

Status ReplaceFile(const std::string& path, ByteView bytes, mode_t mode) {
  std::string temporary = path + ".new";
  ::unlink(temporary.c_str());  // one that a cut left may have another mode
  FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file || !WriteAll(file.get(), bytes) || ::fsync(file.get()) != 0)
    return IoError("cannot write " + temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return IoError("cannot write " + path);
  HF_TRY(FileDescriptor directory, OpenDirectoryOf(path));
  if (::fsync(directory.get()) != 0) return IoError("cannot sync the directory of " + path);
  return Ok{};
}

}  // namespace holdfast::base
