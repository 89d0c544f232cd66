// Fills new tables from segments, and from the change log of the table that a segment was made of.
//
// The table is there from the start, CREATING and out of everybody's reach. A background thread fills it step
// by step; each step writes some items, all that is derived from them, and how far it has come, in one batch,
// so that a restart goes on where it was. What cannot go on (a damaged segment) says so in the log, in the
// metrics, and again after each start, until the table is deleted.
//
// Thread-safe. One thread restores, one table after another.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/backup/segment.h"
#include "engine/catalog/catalog.h"
#include "engine/change/change_log.h"
#include "engine/job_thread.h"

namespace holdfast::engine {

class Engine;

// What a table is to be made from.
struct RestorePlan {
  std::string file;       // the segment
  uint64_t items = 0;     // in it; for the progress
  std::string backup_id;  // whose segment it is; empty: point-in-time recovery's
  // Then from the change log of this table, 0 for none: of commits after `after` and up to `until` those that
  // were earlier than before_millis.
  ObjectId log_of = 0;
  uint64_t after = 0;
  uint64_t until = 0;
  int64_t before_millis = 0;
};

class Restorer {
 public:
  explicit Restorer(Engine* engine) : engine_(engine), thread_("restore") {}

  // Creates the table and begins to fill it. `source` is the table whose log is read, if one is. Requires:
  // schema.restoring().
  Result<TablePtr> Start(TableSchema schema, const RestorePlan& plan, const Table* source = nullptr);
  // Goes on with what the last run could not end.
  Status Resume();

  struct Progress {
    std::string table;
    double share = 0;   // of the work, 0 to 1
    std::string fault;  // why it cannot go on; empty while it can
  };
  std::vector<Progress> progress() const;
  // Whether a restore into this table has failed.
  bool HasFailed(ObjectId table) const;
  // Whether a table is being restored from the change log of this one.
  bool ReadsLogOf(ObjectId table) const;
  // Called when a table was dropped.
  void Forget(ObjectId table);
  void WaitIdle() { thread_.WaitIdle(); }
  void Stop() { thread_.Stop(); }

 private:
  // Stored in the catalog, with how far it has come.
  struct Job {
    RestorePlan plan;
    std::string key;      // the last one taken from the segment
    bool in_log = false;  // the segment is done
    ChangePosition at;    // the last record taken from the log
    uint64_t items = 0;   // written so far
    bool filled = false;  // all of it: segment and log are needed no more
  };
  // Of an item: what it is from now on, as it lies in storage; empty: gone.
  struct Entry {
    std::string key;
    ByteView stored;
  };
  // Whether the items to be written can have been there before.
  enum class Before : uint8_t { kNothing, kMaybe };

  static std::string Encode(const Job& job);
  static Result<Job> Decode(std::string bytes);
  void Queue(const TablePtr& table, Job job);
  void Run(const TablePtr& table, Job job);
  Status Fill(const TablePtr& table, Job* job);
  Status MarkFilled(ObjectId table, Job* job);
  Status FillFromSegment(const TablePtr& table, Job* job);
  Status FillFromLog(const TablePtr& table, Job* job);
  // Some records of the log; sets `*end` when there are no more.
  Status StepInLog(const TablePtr& table, Job* job, bool* end);
  Status Finish(const TablePtr& table);
  // One step, whose progress stands in `job` already.
  Status Write(const TablePtr& table, const Job& job, const std::vector<Entry>& entries, Before before);
  // Before the next step: while the store is too busy for it.
  Status GiveWay(const TablePtr& table);
  void Note(ObjectId table, const Job& job);

  Engine* const engine_;
  mutable base::Mutex mu_;
  struct State {
    Progress progress;
    RestorePlan plan;
  };
  std::map<ObjectId, State> states_ HF_GUARDED_BY(mu_);  // by the table that is being filled
  uint64_t steps_ = 0;
  std::chrono::steady_clock::time_point told_;  // when progress was last logged
  JobThread thread_;                            // goes first
};

}  // namespace holdfast::engine
