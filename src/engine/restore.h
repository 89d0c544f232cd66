// A store made anew from an archive or a backup (docs/archive.md).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "holdfast/result.h"
#include "storage/archive/restore.h"

namespace holdfast::engine {

struct RestoreOptions {
  std::string from;
  std::string directory;                 // new or empty
  int64_t at_second = storage::kNewest;  // the state at the end of this second
  // Master keys, for an archive that is encrypted; the new store is, too. Empty: neither is.
  std::string key_file;
  storage::FileSystemPtr file_system;          // beneath the store; null: the operating system's
  storage::FileSystemPtr archive_file_system;  // beneath the archive; null: the store's
  std::function<void(const std::string&)> tell = [](const std::string&) {};  // what is being done
};

// On an error the directory holds nothing that could be taken for a store; the next restore begins anew.
Result<storage::Restored> RestoreStore(const RestoreOptions& options, const base::Log& log);

}  // namespace holdfast::engine
