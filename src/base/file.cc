#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

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
