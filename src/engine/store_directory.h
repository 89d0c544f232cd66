// The directory of a store, before RocksDB sees it: whose it is, which format it has, who has it open.
#pragma once

#include <string>

#include "base/file.h"
#include "holdfast/result.h"

namespace holdfast::engine {

inline constexpr int kFormatVersion = 3;

struct StoreDirectory {
  base::FileDescriptor lock;  // closing it gives up the directory
  bool is_new = false;        // no store was there
  bool is_old = false;        // of an earlier format: whoever opens it marks it, then brings it forward
};

// Locks `directory`, creating it where allowed, and checks its FORMAT file. Refuses, saying why: a directory
// that another process has open, one that holds something else, one written by a later version, one without a
// store unless `create` is set.
Result<StoreDirectory> ClaimStoreDirectory(const std::string& directory, bool create);

// The same for a restore: `directory` must be new or empty, or one in which a restore was cut short, whose
// remains are deleted. Until MarkStoreDirectory() has been called nobody can open it as a store.
Result<StoreDirectory> ClaimForRestore(const std::string& directory);

// Whether the store was archived in `archive` before, and that it is now.
bool WasArchivedIn(const std::string& directory, const std::string& archive);
Status NoteArchive(const std::string& directory, const std::string& archive);

// Writes FORMAT, once the store has been created or restored.
Status MarkStoreDirectory(const std::string& directory);

}  // namespace holdfast::engine
