#include "engine/store_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "storage/encryption/vault.h"

namespace holdfast::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = "holdfast.lock";
constexpr const char* kFormatFile = "FORMAT";
constexpr const char* kRestoringFile = "RESTORING";   // while a restore is under way
constexpr const char* kArchivedFile = "ARCHIVED";     // where
constexpr const char* kIssuerKeyFile = "issuer.pem";  // a token may be made before the store
constexpr const char* kFormatPrefix = "holdfast store, format ";

std::string HolderOf(const fs::path& lock_file) {
  std::ifstream in(lock_file);
  std::string pid;
  std::getline(in, pid);
  return pid.empty() ? "another process" : "process " + pid;
}

Result<base::FileDescriptor> Lock(const fs::path& lock_file, const std::string& directory) {
  base::FileDescriptor lock(::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock) return base::IoError("cannot open " + lock_file.string());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error(ErrorCode::kLocked, directory + " is in use by " + HolderOf(lock_file) +
                                         "; a store can be open in one process at a time");
  }
  std::string pid = std::to_string(::getpid()) + "\n";
  bool noted = ::ftruncate(lock.get(), 0) == 0 &&
               ::pwrite(lock.get(), pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
  static_cast<void>(noted);  // only for the message above
  return lock;
}

// Returns whether it is an earlier one.
Result<bool> CheckFormat(const fs::path& format_file, const std::string& directory) {
  std::ifstream in(format_file);
  std::string line;
  std::getline(in, line);
  if (line.rfind(kFormatPrefix, 0) != 0) {
    return Error(ErrorCode::kCorruption, format_file.string() + " is damaged: it should read \"" +
                                             kFormatPrefix + std::to_string(kFormatVersion) + "\"");
  }
  int version = std::atoi(line.c_str() + std::strlen(kFormatPrefix));
  if (version > kFormatVersion) {
    return Error(ErrorCode::kNewerFormat, directory + " was written by a later version of holdfast (format " +
                                              std::to_string(version) + ", this one knows up to " +
                                              std::to_string(kFormatVersion) + ")");
  }
  if (version < 1) return Error(ErrorCode::kCorruption, format_file.string() + " names no known format");
  return version < kFormatVersion;
}

// Empty, or with what a creation that was cut short leaves before CURRENT names its first state.
bool HoldsNoData(const fs::path& directory) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(directory, failed)) {
    std::string name = entry.path().filename();
    bool harmless = name == kLockFile || name == kIssuerKeyFile || name == "LOCK" || name == "IDENTITY" ||
                    name == storage::kEncryptionFile || name.starts_with("MANIFEST-") ||
                    name.ends_with(".dbtmp");
    if (!harmless) return false;
  }
  return !failed;
}

Result<std::vector<std::string>> NamesIn(const fs::path& directory) {
  std::error_code failed;
  std::vector<std::string> names;
  for (auto at = fs::directory_iterator(directory, failed); !failed && at != fs::directory_iterator();
       at.increment(failed))
    names.push_back(at->path().filename());
  if (failed) return Error(ErrorCode::kIo, "cannot list " + directory.string() + ": " + failed.message());
  return names;
}

}  // namespace

Result<StoreDirectory> ClaimStoreDirectory(const std::string& directory, bool create) {
  std::error_code failed;
  fs::path path(directory);
  if (!fs::exists(path, failed)) {
    if (!create) return Error(ErrorCode::kIo, "there is no store at " + directory);
    if (!fs::create_directories(path, failed)) {
      return Error(ErrorCode::kIo, "cannot create " + directory + ": " + failed.message());
    }
  }
  HF_TRY(base::FileDescriptor lock, Lock(path / kLockFile, directory));
  StoreDirectory claimed{std::move(lock), !fs::exists(path / kFormatFile, failed)};
  Status usable = Ok{};
  if (fs::exists(path / kRestoringFile, failed)) {
    usable = Error(ErrorCode::kCorruption, "a restore into " + directory +
                                               " was cut short; run `holdfast restore` again, or delete it");
  } else if (!claimed.is_new) {
    Result<bool> is_old = CheckFormat(path / kFormatFile, directory);
    if (is_old) {
      claimed.is_old = *is_old;
    } else {
      usable = is_old.error();
    }
  } else if (!create) {
    usable = Error(ErrorCode::kIo, "there is no store at " + directory);
  } else if (!HoldsNoData(path) && !fs::exists(path / "CURRENT", failed)) {
    fs::remove(path / kLockFile, failed);  // it is not ours to leave something in
    usable = Error(ErrorCode::kIo, directory +
                                       " holds something that is not a holdfast store; name an empty or a "
                                       "new directory");
  }
  if (!usable) return usable.error();
  return claimed;
}

Result<StoreDirectory> ClaimForRestore(const std::string& directory) {
  std::error_code failed;
  fs::path path(directory);
  bool created = fs::create_directories(path, failed);
  if (failed) return Error(ErrorCode::kIo, "cannot create " + directory + ": " + failed.message());
  if (created) {
    // Everything in it is synced, so its name must be, too.
    HF_TRY(base::FileDescriptor names, base::OpenDirectoryOf(path));
    if (::fsync(names.get()) != 0) return base::IoError("cannot sync the parent of " + directory);
  }
  bool cut_short = fs::exists(path / kRestoringFile, failed);
  auto stays = [](const std::string& name) {
    return name == kLockFile || name == kRestoringFile || name == kIssuerKeyFile || name == "lost+found";
  };
  HF_TRY(std::vector<std::string> there, NamesIn(path));
  std::erase_if(there, stays);
  if (!there.empty() && !cut_short) {
    return ValidationError(directory + " is not empty (" + there.front() +
                           "); a store is restored into a new directory");
  }
  HF_TRY(base::FileDescriptor lock, Lock(path / kLockFile, directory));
  HF_CHECK_OK(base::ReplaceFile(path / kRestoringFile, "a restore is under way\n", 0644));
  for (const std::string& name : there) {
    fs::remove_all(path / name, failed);
    if (failed)
      return Error(ErrorCode::kIo, "cannot delete " + (path / name).string() + ": " + failed.message());
  }
  return StoreDirectory{std::move(lock), true};
}

bool WasArchivedIn(const std::string& directory, const std::string& archive) {
  std::ifstream in(fs::path(directory) / kArchivedFile);
  std::string line;
  return std::getline(in, line) && line == archive;
}

Status NoteArchive(const std::string& directory, const std::string& archive) {
  return base::ReplaceFile(fs::path(directory) / kArchivedFile, archive + "\n", 0644);
}

Status MarkStoreDirectory(const std::string& directory) {
  fs::path path(directory);
  HF_CHECK_OK(
      base::ReplaceFile(path / kFormatFile, kFormatPrefix + std::to_string(kFormatVersion) + "\n", 0644));
  std::error_code failed;
  if (!fs::remove(path / kRestoringFile, failed)) return Ok{};  // there was none
  HF_TRY(base::FileDescriptor names, base::OpenDirectoryOf(path / kFormatFile));
  if (::fsync(names.get()) != 0) return base::IoError("cannot sync " + directory);
  return Ok{};
}

}  // namespace holdfast::engine
