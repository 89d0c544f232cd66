// Looks after vector indexes: brings them back when a store is opened, moves new vectors into graphs, writes
// snapshots so that the next start is quick.
//
// A start reads an index's last snapshot and then looks again at every item that the change log names since:
// a bounded catch-up. Where there is no snapshot, or an unusable one, the index is made from the items. This
// takes the longer the more vectors there are, so the thread does it while the store is in use: writes note
// which items they change, and those are looked at last, with the table's gate closed for the few that are
// left. Only then do searches get an answer.
//
// A snapshot is files (docs/format.md) and a record in the catalog that names them and the commit they are as
// of. The record is written last; files that no record names are thrown away.
//
// Thread-safe. One thread does the work.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "engine/catalog/catalog.h"
#include "vector/snapshot.h"

namespace holdfast::engine {

class Engine;

class VectorKeeper {
 public:
  explicit VectorKeeper(Engine* engine) : engine_(engine) {}
  // Stops the thread, then writes snapshots of what changed a lot and is soon written.
  ~VectorKeeper();

  // Has writes note what they change in indexes that are to come back. To be called once, before anything is
  // written.
  Status Prepare();
  // Begins to bring them back.
  void Start();
  // Returns when every index was tried once, with the first failure. What failed is tried again.
  Status WaitLoaded();
  // The indexes that are still loading, as "vector index byText of table Notes".
  std::vector<std::string> Loading() const;
  // To be called when a table gets vector indexes: without any, the thread seldom looks.
  void Wake();
  void WaitIdle();

 private:
  // What a catalog record says.
  struct Manifest {
    uint64_t number = 0;  // as of which commit
    std::string graph;
    std::vector<std::string> floats;  // oldest first
    uint64_t rows = 0;                // vectors in all of them, those since replaced included
  };

  // An index that is to come back.
  struct Load {
    TablePtr table;
    ObjectId index;
    bool begun = false;  // so it may hold what a failed attempt left
    std::chrono::steady_clock::time_point next_try{};
  };

  // What a round leaves behind: that of the index that has the most to do.
  enum class Round : uint8_t { kNoIndex, kIdle, kDeferred, kMore };

  void Run();
  void Pause(Round after, std::chrono::milliseconds pause) HF_REQUIRES(mu_);
  // Calls for a round that begins from now on. Returns how many idle ones there are when it was one.
  uint64_t WantRound() HF_REQUIRES(mu_);
  Round Work();
  bool LetsWritersPass(ObjectId index, const LiveVectors& live);
  void TrySnapshot(const TablePtr& table, const IndexSchema& index, LiveVectors* live);
  void LoadDue();
  // `again`: an attempt has failed.
  Status LoadIndex(const Load& load, bool again);
  // The same, that fails when the store closes.
  vector::Source Stoppable(const vector::Source& source) const;
  Status ReadSnapshot(const Manifest& manifest, LiveVectors* live);
  // The snapshot is of no use: the log need not be kept for it.
  Status ForgetSnapshot(const TablePtr& table, ObjectId index, LiveVectors* live);
  // Looks at what was written meanwhile, and lets searches in.
  Status FinishLoad(const TablePtr& table, const IndexSchema& index, LiveVectors* live);
  Status LetSearchesIn(LiveVectors* live);
  // Storage keys of all items that have an entry in the index.
  Result<std::vector<std::string>> Entered(const TableSchema& table, const IndexSchema& index) const;
  // Makes the index agree with the items of these storage keys as they are now.
  Status Refresh(const IndexSchema& index, const std::vector<std::string>& item_keys, LiveVectors* live);
  bool WantsSnapshot(const LiveVectors& live) const;
  Status Snapshot(const TablePtr& table, const IndexSchema& index, LiveVectors* live);
  Status WriteFile(storage::Files* files, const std::string& name,
                   const std::function<Status(const vector::Sink&)>& write);
  Result<std::optional<Manifest>> ReadManifest(ObjectId index) const;
  // Returns false when the index has gone meanwhile.
  Result<bool> WriteManifest(const TablePtr& table, ObjectId index, const Manifest& manifest);
  void StartLogging(const TablePtr& table, ObjectId index, LiveVectors* live);
  // Lets the log forget what every snapshot of the table has.
  void MoveLog(const TablePtr& table);
  Status DeleteStrayFiles();
  // Files of indexes that are gone go too. `there`: of all that are not.
  void ForgetDropped(const std::set<ObjectId>& there);
  bool stopping() const;

  Engine* const engine_;
  mutable base::Mutex mu_;
  base::CondVar changed_;
  bool stop_ HF_GUARDED_BY(mu_) = false;
  bool tried_ HF_GUARDED_BY(mu_) = false;                       // to load each index
  Status failure_ HF_GUARDED_BY(mu_) = Ok{};                    // the first one
  std::map<ObjectId, std::string> loading_ HF_GUARDED_BY(mu_);  // their names, for people
  uint64_t idle_rounds_ HF_GUARDED_BY(mu_) = 0;
  uint64_t idle_rounds_wanted_ HF_GUARDED_BY(mu_) = 0;
  bool closing_ = false;  // the thread has ended; set by the destructor
  std::vector<Load> loads_;
  std::map<ObjectId, size_t> backlogs_;  // of each index when it was last looked at
  uint64_t sequence_ = 0;                // of file names; above every name there is
  // By index: what a later snapshot, or the one there is, needs of the log comes after this commit.
  std::map<ObjectId, uint64_t> log_needs_;
  std::chrono::steady_clock::time_point snapshots_from_;  // after one that failed, none for a while
  std::thread thread_;
};

}  // namespace holdfast::engine
