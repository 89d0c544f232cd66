// From an archive back to a store.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/log.h"
#include "storage/archive/archive.h"
#include "storage/archive/checkpoint.h"

namespace holdfast::storage {

// The state at every second from the one of `from_millis` to the one of `to_millis` can be restored.
struct Coverage {
  int64_t from_millis = 0;
  int64_t to_millis = 0;
};

struct ArchiveSurvey {
  std::string identity;
  std::vector<ArchivedCheckpoint> checkpoints;  // without their files, ascending
  std::vector<Coverage> covered;                // apart from one another, ascending
  std::vector<std::string> faults;              // what is missing or damaged, by name
};
Result<ArchiveSurvey> SurveyArchive(const Archive& archive);

// "2026-11-18T10:00:00Z to 2026-11-18T11:30:07Z, and …"
std::string CoverageText(const std::vector<Coverage>& covered);
std::string SecondText(int64_t millis);

inline constexpr int64_t kNewest = std::numeric_limits<int64_t>::max();

struct Restored {
  uint64_t files = 0;
  uint64_t records = 0;      // of the log
  int64_t as_of_millis = 0;  // of the newest frame of the log that was applied, or of the checkpoint
};

// Puts the files of a store into `target`, an empty directory, as they were at the end of the second
// `at_second` or as the archive has them newest. The store can be opened when this returns Ok; what it does
// not contain is FORMAT. kValidation: the archive does not cover the second; the message says what it covers.
// kCorruption: something is missing or damaged; the message names it.
Result<Restored> RestoreFiles(const Archive& archive, int64_t at_second, const StorePlace& target,
                              const base::Log& log, const std::function<void(const std::string&)>& tell);

}  // namespace holdfast::storage
