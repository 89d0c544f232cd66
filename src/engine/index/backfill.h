// Fills what is new on a table that has items: a secondary index, or expiry entries after TTL was switched
// on. The table stays in use; writes maintain the new entries from the moment the schema is in force, and
// this walks the items that were there before, a few at a time, under their own locks.
//
// Progress is saved in the batch of each step, so that a restart goes on where it was.
//
// Thread-safe. One thread works through the jobs in order.
#pragma once

#include <map>
#include <string>

#include "base/mutex.h"
#include "engine/catalog/catalog.h"
#include "engine/job_thread.h"

namespace holdfast::engine {

class Engine;

class Backfiller {
 public:
  explicit Backfiller(Engine* engine) : engine_(engine), thread_("backfill") {}

  // `target` is the id of the index, or of the table itself for its expiry entries.
  void Add(TablePtr table, ObjectId target);
  void WaitIdle() { thread_.WaitIdle(); }
  double Progress(ObjectId target) const;

 private:
  struct Job {
    TablePtr table;
    ObjectId target;
  };

  void Run(const Job& job);
  // Runs one job to its end, or until the store is closing.
  Status Fill(const Job& job);
  // Fills a few items after `*cursor` and moves it. Sets `*done` at the end of the table.
  Status Step(const Job& job, std::string* cursor, bool* done);
  Status Finish(const Job& job);

  Engine* const engine_;
  mutable base::Mutex mu_;
  std::map<ObjectId, double> progress_ HF_GUARDED_BY(mu_);
  JobThread thread_;  // goes first
};

}  // namespace holdfast::engine
