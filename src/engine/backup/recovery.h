// Point-in-time recovery: tables that have it switched on can be made anew as they were at the end of any
// second of the last days.
//
// For each such table there are base segments, one from when it was switched on and then one a week, and the
// change log with the new images since the oldest of them. A table as of a second is the newest base that is
// not later, and after it every commit up to the second's end. What the window has moved past is dropped, the
// base that its first second needs excepted.
//
// A record in the catalog names the bases. It goes with the setting, in one batch, so that bases of an
// earlier time, between which and now the log has a gap, are never taken for new ones.
//
// Thread-safe. Bases are written on the thread of the backups.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/backup/restorer.h"
#include "engine/backup/table_jobs.h"
#include "engine/catalog/catalog.h"

namespace holdfast::engine {

class Engine;

class Recovery {
 public:
  explicit Recovery(Engine* engine) : engine_(engine) {}

  // Brings back what the records say. To be called before anything is written. Returns the segments in use.
  Result<std::set<std::string>> Load();

  // Switches it on, or changes how far back it goes.
  Status Enable(const TablePtr& table, int64_t days);
  // kContinuousBackupsUnavailable while a table is being restored from it.
  Status Disable(const TablePtr& table);

  // The seconds that can be restored, both included. Nothing while it is off, or the first base is not there.
  struct Window {
    int64_t earliest_seconds = 0;
    int64_t latest_seconds = 0;
  };
  std::optional<Window> WindowOf(const TableSchema& table) const;
  // The same; waits a while for a base that is being made.
  std::optional<Window> WaitForWindow(const TablePtr& table, std::chrono::milliseconds patience);

  // Begins to make a table as `source` was at the end of `second`, or is now. `target` lacks only where it
  // comes from: `from` gives the names for that.
  Result<TablePtr> Restore(const TablePtr& source, std::optional<int64_t> second, TableSchema target,
                           RestoredFrom from);

  // Makes bases that are due and drops what is no longer needed.
  Status Maintain();
  // Called when a table was dropped.
  void Forget(ObjectId table);

 private:
  struct Base {
    std::string file;
    uint64_t number = 0;      // every commit up to here is in it
    int64_t time_millis = 0;  // and none that is later
    uint64_t items = 0;

    // Whether the table at the end of `second` can be made from it.
    bool Serves(int64_t second) const { return time_millis < (second + 1) * 1000; }
  };
  using Bases = std::vector<Base>;  // oldest first

  static std::string Encode(const Bases& bases);
  static Result<Bases> Decode(std::string bytes);
  Bases BasesOf(ObjectId table) const;
  // Queues it, unless one is being made.
  void MakeBaseSoon(const TablePtr& table);
  Status MakeBase(const TablePtr& table);
  Result<Stamp> TakeStamp();
  // Adds one that was written to those that are kept. False: nobody wants it any more.
  Result<bool> AddBase(const TablePtr& table, const Base& base);
  // Of those that the window's start makes needless.
  Status DropOld(const TablePtr& table);
  Status Save(ObjectId table, const Bases& bases);
  // Once it is durable that nothing names them.
  void DeleteLater(std::vector<std::string> files);

  Engine* const engine_;
  base::Mutex control_mu_;  // one change of what is kept at a time, starts of restores included
  mutable base::Mutex mu_;
  base::CondVar made_;
  std::map<ObjectId, Bases> bases_ HF_GUARDED_BY(mu_);
  TableJobs making_ HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::engine
