// Jobs that bring stored items in line with a changed model: they read a table page by page while others work
// on it, change what must be changed on condition that it is still as read, and go on where they stopped.
//
//   HF_TRY(std::unique_ptr<Job> job, MakeBackfill(store, model, ""));
//   HF_TRY(JobReport report, RunJob(store, *job, {.progress_file = ".holdfast-backfill-pm.json"}));
//   if (!report.finished) …                                   // stopped; running it again goes on
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/master_keys.h"
#include "holdfast/model.h"
#include "holdfast/store.h"
#include "model/model.h"

namespace holdfast::model {

// What became of one item.
enum class Outcome : uint8_t {
  kUnchanged,  // it is as it should be, or none of the job's
  kChanged,
  kUnknown,   // of no entity of the model
  kConflict,  // others kept changing it, or something else stands where it should go
};

// Of the whole job, across all its runs.
struct JobCounts {
  uint64_t read = 0;
  uint64_t changed = 0;
  uint64_t unchanged = 0;
  uint64_t unknown = 0;
  uint64_t conflicts = 0;
  uint64_t faulty = 0;  // refused, or still against the model: somebody has to look at them
};

struct JobReport {
  JobCounts counts;
  std::vector<std::string> notes;  // of this run: the first items that were in conflict or faulty
  uint64_t expected = 0;           // items in the tables, as they say themselves
  bool finished = false;
};

class Job {
 public:
  virtual ~Job() = default;
  virtual std::string name() const = 0;
  // All that the result depends on. Progress made with another identity is not gone on from.
  virtual std::string identity() const = 0;
  virtual std::vector<std::string> tables() const = 0;
  // Doing it again changes nothing. An error of code kRefused or kValidation is the item's own; any other
  // ends the run. Thread-safe.
  virtual Result<Outcome> Step(const std::string& table, const Item& stored) = 0;
};

struct JobOptions {
  // Where progress is kept between runs; removed at the end. Empty: nowhere.
  std::string progress_file;
  int64_t page_items = 200;
  int threads = 8;
  // Asked after each page: whether to stop.
  std::function<bool()> stop;
  // Told after each page.
  std::function<void(const JobReport&)> show;
};

// Fails with what the store says, keeping the progress. Refuses a file with another job's progress.
Result<JobReport> RunJob(Store* store, Job& job, const JobOptions& options);

// Removes an attribute that the entity no longer has.
Result<std::unique_ptr<Job>> MakePurge(Store* store, ModelPtr model, std::string_view entity,
                                       const std::string& attribute);

// Writes what the model would have: types, defaults of required attributes, computed values, index keys.
// Without an entity, for all.
Result<std::unique_ptr<Job>> MakeBackfill(Store* store, ModelPtr model, std::string_view entity);

// Moves items to the keys, and the tables, that a newer model gives them. A key is never changed in place.
enum class MigratePhase : uint8_t {
  kMove,       // each item in one transaction: the new one is written, the old one deleted
  kCopy,       // only written: programs of both versions go on, and both must write both
  kDeleteOld,  // old items are deleted where the new ones have all that they have
};
// `keys` are for encrypted attributes that are bound to their key; may be null.
Result<std::unique_ptr<Job>> MakeMigrate(Store* store, ModelPtr before, ModelPtr after, MigratePhase phase,
                                         std::shared_ptr<const MasterKeys> keys);

// Wraps every encrypted attribute under the current version of the master key.
Result<std::unique_ptr<Job>> MakeRewrap(Store* store, ModelPtr model, std::shared_ptr<const MasterKeys> keys);

}  // namespace holdfast::model
