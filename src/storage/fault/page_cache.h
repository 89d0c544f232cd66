// For tests of reads that may not wait: takes tables out of the operating system's memory.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"

namespace holdfast::storage {

// Drops the cached pages of every table in `directory`. Tables are synced when they are finished, so none of
// their pages is dirty and stays.
inline void DropCachedPages(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".sst") continue;
    base::FileDescriptor file(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }
}

}  // namespace holdfast::storage
