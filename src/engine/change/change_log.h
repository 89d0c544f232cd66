// The one change log: what happened to the items of a table, in commit order, for everyone who follows a
// table.
//
// A record is written in the batch of the change itself, and only for tables somebody follows. Readers see
// records up to the published commit number, so a change is never told before it is durable, and none is told
// out of order.
//
//   HF_TRY(auto watch, log.Open(table, std::nullopt));       // from now on
//   while (watch->Wait(deadline)) {
//     HF_TRY(std::vector<ChangeRecord> records, watch->Read(100));
//     …                                                       // position() resumes after them
//   }
//
// What a record holds depends on who follows the table (LogLevelOf, and every watch): for vector indexes
// alone just which item changed, for others the new item, or both.
//
// Records are kept while some watch still has to read them or some consumer wants them kept. Thread-safe; a
// Watch belongs to one thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/mutex.h"
#include "engine/catalog/catalog.h"
#include "engine/commit/committer.h"
#include "engine/index/maintainer.h"

namespace holdfast::engine {

struct ChangeRecord {
  // Stored on disk: never renumber. kKey says only that an item changed: written where no watch wants more.
  enum class Kind : uint8_t { kInsert = 1, kModify = 2, kRemove = 3, kKey = 4 };

  uint64_t commit_number = 0;
  uint32_t ordinal = 0;  // within the commit
  int64_t time_millis = 0;
  Kind kind = Kind::kInsert;
  bool by_ttl = false;
  // False: `old` is absent, or, of a removal, has the key attributes alone. That is all Images::kNew holds.
  bool old_is_whole = true;
  std::optional<Item> old;
  std::optional<Item> now;
};

// After which record to go on.
struct ChangePosition {
  uint64_t commit_number = 0;
  uint32_t ordinal = UINT32_MAX;

  friend auto operator<=>(const ChangePosition&, const ChangePosition&) = default;
};

// Which records to read.
struct ChangeRange {
  static constexpr int kAllShards = -1;

  ChangePosition after;
  uint64_t up_to = UINT64_MAX;  // commits up to this one, and never past what is published
  int shard = kAllShards;
  // After so much of other shards' records the visit ends: reading past them takes time as well.
  size_t passed_bytes_max = SIZE_MAX;
};

// Who may want records kept, apart from watches.
enum class Consumer : uint8_t { kVectors, kStream, kRecovery };

class Watch;

class ChangeLog {
 public:
  ChangeLog(storage::KvReader* kv, Committer* committer) : kv_(kv), committer_(committer) {}

  // Every record belongs to one of so many shards, all of one partition key to the same.
  static constexpr int kShards = 4;

  // Adds the record of `change` to its batch, holding this much of it. Requires: not kNone.
  static void Append(const ItemChange& change, Images images, storage::Batch* batch);

  // Puts a table's records of format 1, which lie shard by shard, into the order of commits, and returns how
  // many there were. What a crash cuts short is done again. Before anybody uses the log of `table`.
  Result<uint64_t> BringForward(ObjectId table);

  // Records of commits after `after` are kept for `consumer`, until it names a later commit or is forgotten.
  // Without a consumer records go when no watch needs them.
  void Keep(ObjectId table, Consumer consumer, uint64_t after);
  void Forget(ObjectId table, Consumer consumer);
  // As Keep said; nothing when the consumer keeps none of the table.
  std::optional<uint64_t> KeptAfter(ObjectId table, Consumer consumer) const;

  // The storage keys of the items that changed in commits after `number`, in order, each once.
  Result<std::vector<std::string>> ChangedSince(const TableSchema& table, uint64_t number) const;

  // Calls `visit` with each record of the range that has images, in the order of commits, while it returns
  // true. Returns where to go on: after the last record visited or passed by, or, when there were no more, at
  // the end of the range, or of what is published.
  Result<ChangePosition> Visit(ObjectId table, const ChangeRange& range,
                               const std::function<bool(ChangeRecord)>& visit) const;
  // The last commit after `after` of which the table has a record, and that was earlier than `time_millis`;
  // `after` when there is none. Looks at each record up to then, but no more than kLooksMax: where there are
  // more, it is an earlier commit, from which the next call goes on.
  static constexpr size_t kLooksMax = 100'000;
  Result<uint64_t> LastBefore(ObjectId table, uint64_t after, int64_t time_millis) const;
  // Records of commits up to this one have been deleted.
  Result<uint64_t> TrimmedUpTo(ObjectId table) const;

  // Follows `table` from after `from`, or from now. Fails with kTrimmedDataAccess when records after `from`
  // are no longer kept, and with kResourceNotFound when the table is gone.
  Result<std::unique_ptr<Watch>> Open(const TablePtr& table, std::optional<ChangePosition> from);

  // Deletes what no watch needs any more.
  Status Trim();
  // The committer's listener.
  void Published();

 private:
  friend class Watch;

  // Who follows a table.
  struct Followed {
    // While it is watched, and until the next trim.
    TablePtr watched;                       // null: it is not
    ChangePosition watched_from;            // records after this have both images
    std::multiset<ChangePosition> readers;  // where each watch stands
    std::map<Consumer, uint64_t> kept_after;
    uint64_t trimmed = 0;
    // Nobody follows it any more: the last commit that may still be adding a record.
    std::optional<uint64_t> last;
  };

  // Up to which commit nobody needs the records; nothing when nobody needs any.
  static std::optional<uint64_t> Needless(const Followed& followed);
  // Deletes a table's records of commits up to `number`.
  static void DeleteUpTo(ObjectId table, uint64_t number, storage::Batch* batch);
  bool WaitUntil(const ChangePosition& after, std::chrono::steady_clock::time_point deadline);
  void Move(ObjectId table, const ChangePosition& from, const ChangePosition& to);
  void Close(ObjectId table, const ChangePosition& at);

  storage::KvReader* const kv_;
  Committer* const committer_;
  mutable base::Mutex mu_;
  base::CondVar published_;
  std::map<ObjectId, Followed> followed_ HF_GUARDED_BY(mu_);
  size_t watches_ HF_GUARDED_BY(mu_) = 0;
};

class Watch {
 public:
  ~Watch() { log_->Close(table_, position_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Up to `limit` records after position(), which moves past them, and past commits that changed other
  // tables. Empty when there are none yet.
  Result<std::vector<ChangeRecord>> Read(size_t limit);
  // Returns when something may be there to read, or at the deadline: then false.
  bool Wait(std::chrono::steady_clock::time_point deadline) { return log_->WaitUntil(position_, deadline); }
  const ChangePosition& position() const { return position_; }

 private:
  friend class ChangeLog;
  Watch(ChangeLog* log, ObjectId table, ChangePosition position)
      : log_(log), table_(table), position_(position) {}

  ChangeLog* const log_;
  const ObjectId table_;
  ChangePosition position_;
};

}  // namespace holdfast::engine
