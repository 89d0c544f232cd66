// From an archive back to a store.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
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
// Every file is looked at; with kBytes each is read, which is all that a restore could find.
Result<ArchiveSurvey> SurveyArchive(const Archive& archive, Depth depth = Depth::kSize);

// "2026-11-18T10:00:00Z to 2026-11-18T11:30:07Z, and …"
std::string CoverageText(const std::vector<Coverage>& covered);
std::string SecondText(int64_t millis);

inline constexpr int64_t kNewest = std::numeric_limits<int64_t>::max();

struct Restored {
  uint64_t files = 0;
  uint64_t records = 0;      // of the log
  int64_t as_of_millis = 0;  // of the newest frame of the log that was applied, or of the checkpoint
};

// What a restore is made of.
struct RestorePlan {
  ArchivedCheckpoint checkpoint;    // to begin with
  std::vector<ArchivedFile> added;  // after it
  std::optional<Error> lost_list;   // one that may name more of those is missing or damaged
  uint64_t last_segment = 0;        // of the log, from the checkpoint's on
  int64_t before_millis = kNewest;
};
// For the end of the second `at_second`, or the newest state. kValidation: the archive does not cover it; the
// message says what it covers. kCorruption: something is missing or damaged; the message names it.
Result<RestorePlan> PlanRestore(const Archive& archive, int64_t at_second);

// Files of directories beside the store's own that could not be had. Whether the restored state needs them
// only its records know.
struct Lacking {
  std::map<std::string, Error> files;  // by path; the error names what is missing or damaged
  std::optional<Error> list;           // as in the plan
};
// Looks at the restored state, and refuses it or makes it do without.
using Settle = std::function<Status(Kv* kv, const Lacking& lacking)>;

// Puts the files of a store into `target`, an empty directory. The store can be opened when this returns Ok;
// what it does not contain is FORMAT. kCorruption: something is missing or damaged; the message names it.
Result<Restored> RestoreFiles(const Archive& archive, const RestorePlan& plan, const StorePlace& target,
                              const base::Log& log, const std::function<void(const std::string&)>& tell,
                              const Settle& settle);

}  // namespace holdfast::storage
