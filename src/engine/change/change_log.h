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
// Records are kept while some watch still has to read them. Thread-safe; a Watch belongs to one thread.
#pragma once

#include <chrono>
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
  std::optional<Item> old;
  std::optional<Item> now;
};

// After which record to go on.
struct ChangePosition {
  uint64_t commit_number = 0;
  uint32_t ordinal = UINT32_MAX;

  friend auto operator<=>(const ChangePosition&, const ChangePosition&) = default;
};

class Watch;

class ChangeLog {
 public:
  ChangeLog(storage::Kv* kv, Committer* committer) : kv_(kv), committer_(committer) {}

  // Adds the record of `change` to its batch.
  static void Append(const ItemChange& change, storage::Batch* batch);
  // The same without the images: for those who only need to know which items to look at.
  static void AppendKey(const ItemChange& change, storage::Batch* batch);

  // Records of commits after `number` are kept, whoever reads, until this is called again. A table that needs
  // none any more is forgotten.
  void KeepAfter(ObjectId table, uint64_t number);
  void Forget(ObjectId table);
  // The storage keys of the items that changed in commits after `number`, in order, each once.
  Result<std::vector<std::string>> ChangedSince(const TableSchema& table, uint64_t number) const;

  // Follows `table` from after `from`, or from now. Fails with kTrimmedDataAccess when records after `from`
  // are no longer kept, and with kResourceNotFound when the table is gone.
  Result<std::unique_ptr<Watch>> Open(const TablePtr& table, std::optional<ChangePosition> from);

  // Deletes what no watch needs any more.
  Status Trim();
  // The committer's listener.
  void Published();

 private:
  friend class Watch;

  // What is kept of one table's log.
  struct Retained {
    TablePtr table;
    ChangePosition start;                   // records after this are there
    std::multiset<ChangePosition> readers;  // where each watch stands
  };

  // Sets `*go_on` to where reading goes on: after the last record, or, when there are no more, after
  // everything published.
  Result<std::vector<ChangeRecord>> Read(ObjectId table, const ChangePosition& after, size_t limit,
                                         ChangePosition* go_on) const;
  // Deletes a table's records of commits up to `number`.
  static void DeleteUpTo(ObjectId table, uint64_t number, storage::Batch* batch);
  // How far a table's log may go: not past what KeepAfter wants.
  uint64_t TrimLimit(ObjectId table, uint64_t number) const HF_REQUIRES(mu_);
  bool WaitUntil(const ChangePosition& after, std::chrono::steady_clock::time_point deadline);
  void Move(ObjectId table, const ChangePosition& from, const ChangePosition& to);
  void Close(ObjectId table, const ChangePosition& at);

  storage::Kv* const kv_;
  Committer* const committer_;
  base::Mutex mu_;
  base::CondVar published_;
  std::map<ObjectId, Retained> retained_ HF_GUARDED_BY(mu_);
  // By KeepAfter, and how far the log was trimmed for it.
  struct Kept {
    uint64_t after = 0;
    uint64_t trimmed = 0;
  };
  std::map<ObjectId, Kept> kept_ HF_GUARDED_BY(mu_);
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
