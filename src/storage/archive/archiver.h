// Ships a store to an archive as it is written: its log within a fraction of a second, a checkpoint at the
// start and then once a day.
//
// It reads what the log has durably (Kv::Follow), so the archive never has what a power cut could take from
// the store, and writing pays nothing but a few bytes in the log. When the archive cannot be reached the
// store goes on: the log is kept, up to a bound, and shipped later; where it is gone by then, shipping begins
// anew with a checkpoint and the archive has a hole, which it says.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "storage/archive/archive_log.h"
#include "storage/archive/checkpoint.h"

namespace holdfast::storage {

struct ArchiverOptions {
  std::string directory;
  FileSystemPtr file_system;  // of the archive; never null
  StorePlace store;
  int64_t keep_days = 35;
  // Nobody else syncs the log.
  bool syncs = false;
  int64_t checkpoint_seconds = 24 * 3600;
  uint64_t kept_log_bytes = uint64_t{4} << 30;
  // The store had an archive there before: its directory is not made again.
  bool was_there = false;
  // Called when it is there; remembers that. Empty: nobody does.
  std::function<Status()> is_there;
  // The version of the master key under which new files of the archive are; 0: they are plain. Empty: always.
  std::function<int()> key_version;
};

struct ArchiverStats {
  double lag_seconds = 0;  // since when something durable is missing in the archive; 0: nothing is
  uint64_t shipped_bytes = 0;
  uint64_t checkpoints = 0;
  uint64_t failures = 0;
  int64_t covered_millis = 0;  // until when the archive has everything; 0: not yet
  std::string error;           // of the last attempt; empty when it went well
};

class Archiver {
 public:
  // kValidation: the archive is another store's. One that cannot be reached is no failure.
  // All must outlive it.
  static Result<std::unique_ptr<Archiver>> Start(Kv* kv, const base::Clock* clock, const base::Log* log,
                                                 ArchiverOptions options);
  // Tries once more to ship what is durable by now.
  ~Archiver();

  // Returns when everything that is durable now is in the archive, or an attempt to bring it there failed.
  Status Ship();
  ArchiverStats stats() const;
  const std::string& directory() const { return options_.directory; }
  // How often the archive has come within reach, to be written; 0: it is not now.
  uint64_t within_reach() const { return open_.load() ? openings_.load() : 0; }

 private:
  // Whether the log goes on, or what was between is not there.
  enum class Chain : uint8_t { kGoesOn, kBegins };

  Archiver(Kv* kv, const base::Clock* clock, const base::Log* log, ArchiverOptions options);
  void Run();
  bool stopping() const;
  bool out_of_time() const;
  void Note(const Status& round);

  // The rest belongs to the thread.
  Status Round();
  Status Open();
  // Leaves the segment that would go on in plain text, or under an old version of the key.
  Status FollowEncryption();
  // Fails when what was written is no longer to be found: the archive was deleted, or its mount is away.
  Status CheckThere() const;
  Result<bool> FindEnd(const std::vector<uint64_t>& segments);
  Status TakeCheckpoint(Chain chain);
  // Between two pieces of a checkpoint.
  Status Meanwhile();
  Status ShipLog();
  Status BeginSegment(FrameKind kind, int64_t time_millis);
  Status Add(const Frame& frame);
  // Of the files that came to stand beside the store those that are new by name, or all that changed.
  enum class Look : uint8_t { kNew, kChanged };
  Status ShipAdditions(Look look);
  Status DropOld();

  Kv* const kv_;
  const base::Clock* const clock_;
  const base::Log* const log_;
  const ArchiverOptions options_;

  Archive archive_;
  std::unique_ptr<LogFollower> follower_;
  std::unique_ptr<SegmentWriter> segment_;  // null: the next frame begins one
  bool was_there_ = false;                  // options_.was_there, or it has been opened since
  bool has_position_ = false;               // position_ is known to be durable
  int key_version_ = 0;                     // options_.key_version when the round began
  uint64_t next_checkpoint_ = 1;
  uint64_t next_segment_ = 1;
  uint64_t next_additions_ = 1;
  int64_t checkpoint_millis_ = 0;
  uint64_t log_bytes_ = 0;  // since the last checkpoint
  KnownObjects known_;
  std::set<std::string> beside_;  // names of additions that the archive has
  int64_t emptied_micros_ = 0;    // when the log had nothing more
  int64_t framed_micros_ = 0;     // when the last frame was written
  int64_t tended_micros_ = 0;     // likewise of additions and releases
  int64_t segment_micros_ = 0;    // when the segment was begun

  std::atomic<bool> open_{false};  // what follows is known
  std::atomic<uint64_t> openings_{0};
  std::atomic<bool> whole_{false};     // a checkpoint is there, and the log from it to position_
  std::atomic<uint64_t> position_{0};  // the newest change in the archive
  std::atomic<uint64_t> complete_{0};  // up to this one all files that changes name are there too
  std::atomic<int64_t> caught_up_micros_;
  std::atomic<int64_t> covered_millis_{0};
  std::atomic<uint64_t> shipped_bytes_{0}, checkpoints_{0}, failures_{0};

  int64_t last_chance_micros_ = 0;  // set before stop_

  mutable base::Mutex mu_;
  base::CondVar changed_;
  bool stop_ HF_GUARDED_BY(mu_) = false;
  bool wanted_ HF_GUARDED_BY(mu_) = false;  // a round without the pause before it
  uint64_t rounds_ HF_GUARDED_BY(mu_) = 0;  // ended
  std::string error_ HF_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace holdfast::storage
