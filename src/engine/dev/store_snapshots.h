// Named states of a whole store, to return to between tests of a program that uses it (`serve --dev`).
//
// A state is a snapshot of the storage, which costs nothing to take. To return to it, tables that differ in
// their definition are made anew and, in all others, the items that differ are put back: by the one write
// path, so that indexes, vectors, expiries, figures and whoever follows a table see changes like any others,
// and commits go on being numbered. The time it takes is that of reading the store once and of writing what
// differs. Streams of tables that were dropped since, and backups made since, go; the clock is set back
// first, lest what is put back expires at once.
//
// Requests that are under way meanwhile may see some of it. States end with the process.
//
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/adjustable_clock.h"
#include "base/mutex.h"
#include "engine/engine.h"

namespace holdfast::engine {

class StoreSnapshots {
 public:
  static constexpr size_t kSnapshotsMax = 64;  // each holds on to what has been overwritten since

  // Both must outlive it. `clock` is the engine's; null: nobody sets it.
  explicit StoreSnapshots(Engine* engine, base::AdjustableClock* clock = nullptr)
      : engine_(engine), clock_(clock) {}

  struct Info {
    std::string name;
    int64_t taken_millis = 0;
  };
  // What a return to a state had to do.
  struct Restored {
    uint64_t tables_dropped = 0;
    uint64_t tables_made = 0;
    uint64_t items_written = 0;  // put and deleted
  };

  // Takes the place of one that has this name. kLimitExceeded: there are too many.
  Status Take(const std::string& name);
  // kResourceNotFound: there is none.
  Result<Restored> Restore(const std::string& name);
  Status Delete(const std::string& name);
  std::vector<Info> List() const;

  // To a store without tables. Snapshots stay, and the clock.
  Result<Restored> Reset();

 private:
  struct State {
    std::shared_ptr<const storage::Snapshot> snapshot;
    int64_t taken_millis = 0;
    int64_t clock_offset_millis = 0;
  };

  Result<State> Find(const std::string& name) const;
  // Null: to nothing.
  Result<Restored> RestoreTo(const storage::Snapshot* snapshot) HF_REQUIRES(restore_mu_);
  Result<std::map<std::string, TableSchema>> SchemasIn(const storage::Snapshot* snapshot) const;
  Status Align(const TablePtr& table, ObjectId then, const storage::Snapshot* snapshot, Restored* restored);
  Status DeleteTokensSince(const storage::Snapshot* snapshot);
  Status ForgetDroppedSince(const storage::Snapshot* snapshot);
  Status DeleteBackupsSince(const storage::Snapshot* snapshot);
  // Whether the catalog had it then; at null it had nothing.
  Result<bool> WasThere(const storage::Snapshot* snapshot, const std::string& key) const;

  Engine* const engine_;
  base::AdjustableClock* const clock_;
  base::Mutex restore_mu_;  // one at a time; before every lock of the engine
  mutable base::Mutex mu_;
  std::map<std::string, State> states_ HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::engine
