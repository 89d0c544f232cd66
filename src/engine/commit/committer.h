// Group commit with published snapshots: how writes become durable without each paying for a sync, and how
// reads never see what a power cut could take back.
//
// A writer, holding its key locks, takes a Stamp, writes its batch unsynced, and ends the stamp, all through
// a Commit (commit.h), the only door to the storage. One commit thread loops: take everyone who waits, take a
// snapshot, sync the log, publish the snapshot, answer all who waited. While it syncs, the next group
// gathers. (A thread that would only wait may do the same in its place.)
//
// Invariants (docs/invariants.md):
//  I-1  An answer that follows from a write is given only after a sync that began after the write.
//  I-2  Reads use the last published snapshot; publication follows the sync.
//  I-3  An answer derived from the newest state without writing waits for the next publication too.
//  I-4  published().number is below every commit number still in flight: log readers go no further.
//  I-5  After a failed sync nothing is published and every write is refused, for good.
//
// Where the store is not durable (in memory) or the durability setting says so, writes are answered at once
// and reads see the newest state: then snapshot() is null.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "holdfast/options.h"
#include "storage/kv.h"

namespace holdfast::engine {

// Somebody who must not be answered before a commit is durable. Done() is called exactly once, from any
// thread, and must be quick; the object may be gone when it returns.
class DurabilityWaiter {
 public:
  virtual ~DurabilityWaiter() = default;
  virtual void Done(const Status& durable) = 0;

 private:
  friend class Committer;
  friend class WaiterChain;
  DurabilityWaiter* next_ = nullptr;
};

// Waiters who came one after another, to be handed over at once.
class WaiterChain {
 public:
  void Add(DurabilityWaiter* waiter) {
    waiter->next_ = nullptr;
    (empty() ? head_ : tail_->next_) = waiter;
    tail_ = waiter;
    ++size_;
  }
  bool empty() const { return head_ == nullptr; }

 private:
  friend class Committer;
  DurabilityWaiter* head_ = nullptr;
  DurabilityWaiter* tail_ = nullptr;
  size_t size_ = 0;
};

// The number and time of one commit. Numbers increase across restarts; times never decrease.
struct Stamp {
  uint64_t number = 0;
  int64_t time_millis = 0;
};

// A state that is safe to show.
struct Published {
  std::shared_ptr<const storage::Snapshot> snapshot;  // null: the newest state is safe
  uint64_t number = 0;                                // every commit up to here is in it
  // So is every later one up to `newest`, but for these, in order, which were under way: of them some may be.
  uint64_t newest = 0;
  std::vector<uint64_t> in_flight;
};

struct CommitterOptions {
  Durability durability = Durability::kSync;
  int64_t sync_interval_millis = 1000;
};

struct CommitStats {
  uint64_t groups = 0;       // syncs
  uint64_t answers = 0;      // waiters answered by them
  uint64_t sync_micros = 0;  // time spent syncing
  uint64_t queue = 0;        // waiting now
};

class Committer {
 public:
  // `first_number` is above every number ever stamped before.
  Committer(storage::Kv* kv, const base::Clock* clock, const base::Log* log, CommitterOptions options,
            uint64_t first_number, int64_t time_floor_millis);
  // Stops the thread after a last sync. No call may be under way.
  ~Committer();

  // Calls waiter->Done once everything written before this call is durable and published.
  void WhenDurable(DurabilityWaiter* waiter);
  // The same for each of them, in order. Takes them out of the chain. With kHere the caller syncs itself when
  // the commit thread has nothing to do, which saves waking it up and being woken; it is for those who would
  // only wait.
  enum class Where : uint8_t { kCommitThread, kHere };
  void WhenDurable(WaiterChain* waiters, Where where);
  // The same, waiting here.
  Status WaitDurable();
  // True when the newest state is the published one: an answer from it may be given at once.
  bool IsPublished() const;

  // kReadOnly after a failed sync (I-5). A Commit asks this before it writes.
  Status CheckSound() const;
  // The same, and kThrottling while the queue is full: for requests, which may come again.
  Status CheckWritable() const;

  std::shared_ptr<const Published> published() const;
  // The commits that have ended by now; a snapshot taken after this call has them all.
  Published Ended() const;
  // The newest number given out.
  uint64_t begun_number() const { return begun_.load(std::memory_order_acquire); }
  // The time of the newest stamp; no later one is before it.
  int64_t last_time_millis() const;
  // Called with the new published number after each publication, from whichever thread published. Set before
  // the first write.
  void OnPublish(std::function<void(uint64_t)> listener);

  CommitStats stats() const;

 private:
  friend class Commit;
  // Between Begin and End, End being called whatever happens, lies at most one storage write.
  Stamp Begin();
  void End(const Stamp& stamp);

  void Run();
  void SyncOnce(DurabilityWaiter* waiters);
  // Tells this one and those after it; returns how many they were.
  static uint64_t Answer(DurabilityWaiter* first, const Status& durable);
  void Publish(Published state);
  uint64_t LowestInFlight() const HF_REQUIRES(number_mu_);

  storage::Kv* const kv_;
  const base::Clock* const clock_;
  const base::Log* const log_;
  const CommitterOptions options_;
  const bool waits_for_sync_;  // answers follow syncs
  std::function<void(uint64_t)> listener_;

  mutable base::Mutex number_mu_;  // short: Begin and End only
  uint64_t next_number_ HF_GUARDED_BY(number_mu_);
  int64_t last_time_millis_ HF_GUARDED_BY(number_mu_);
  uint64_t in_flight_first_ HF_GUARDED_BY(number_mu_);    // number of in_flight_.front()
  std::deque<bool> in_flight_ HF_GUARDED_BY(number_mu_);  // true: still in flight
  std::atomic<uint64_t> begun_;                           // the newest number given out
  std::atomic<uint64_t> published_number_;                // = published_->number

  mutable base::Mutex queue_mu_;
  base::CondVar queue_filled_;
  WaiterChain queue_ HF_GUARDED_BY(queue_mu_);
  bool syncing_ HF_GUARDED_BY(queue_mu_) = false;  // somebody is in SyncOnce, where only one may be
  bool stop_ HF_GUARDED_BY(queue_mu_) = false;
  std::atomic<size_t> queue_size_{0};

  mutable base::Mutex published_mu_;
  std::shared_ptr<const Published> published_ HF_GUARDED_BY(published_mu_);

  std::atomic<bool> failed_{false};
  std::atomic<uint64_t> groups_{0}, answers_{0}, sync_micros_{0};
  std::thread thread_;
};

}  // namespace holdfast::engine
