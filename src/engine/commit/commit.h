// The one door through which an open store is written:
//
//   Commit commit(&committer);
//   commit.batch()->Put(...);
//   HF_CHECK_OK(commit.Write(storage::Wait::kMayBlock));      // refused after a failed sync (I-5, I-29)
//
// A batch that holds its own commit number asks for the stamp first:
//
//   HF_TRY(Stamp stamp, commit.Begin());
//   ... fill commit.batch() ...
//   HF_CHECK_OK(commit.Write(wait, [&] { TellMaintainers(stamp); }));
//
// The second argument runs after the write has succeeded and before the commit ends: what it changes in
// memory is there when the commit is published (I-18). A commit that is begun ends in any case, at the latest
// with this object.
//
// Memory changes only after Write() has returned Ok. Where a reader must not see the change before it is
// durable (the catalog), use WriteDurably().
//
// Not thread-safe: one thread, one commit.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "engine/commit/committer.h"

namespace holdfast::engine {

class Commit {
 public:
  enum class Kind : uint8_t {
    kNumbered,  // takes a commit number: answers given from now on wait for its sync
    kUpkeep,    // nobody is answered because of it: takes no number, and causes no sync
  };
  explicit Commit(Committer* committer, Kind kind = Kind::kNumbered)
      : committer_(committer), kind_(kind), batch_(committer->kv_->NewBatch()) {}
  ~Commit() { End(); }
  Commit(const Commit&) = delete;
  Commit& operator=(const Commit&) = delete;

  storage::Batch* batch() { return batch_.get(); }

  // Takes number and time. kReadOnly after a failed sync. Called by Write() where the caller has not.
  Result<Stamp> Begin() {
    HF_ASSERT(kind_ == Kind::kNumbered && !stamp_);
    HF_CHECK_OK(committer_->CheckSound());
    stamp_ = committer_->Begin();
    return *stamp_;
  }

  // Writes the batch, at most once. After an error nothing is written.
  Status Write(storage::Wait wait) {
    return Write(wait, [] {});
  }
  template <class Written>
  Status Write(storage::Wait wait, const Written& written) {
    HF_ASSERT(!done_);
    if (kind_ == Kind::kNumbered && !stamp_) {
      HF_TRY([[maybe_unused]] Stamp stamp, Begin());
    }
    if (Status stored = Store(wait); !stored) {
      End();
      return stored;
    }
    written();
    End();
    return Ok{};
  }

  // Writes the batch and returns when it is durable and published. After an error the change may or may not
  // be found by the next start, and this run does as if it had not been made.
  Status WriteDurably() {
    HF_CHECK_OK(Write(storage::Wait::kMayBlock));
    return committer_->WaitDurable();
  }

 private:
  Status Store(storage::Wait wait) {
    HF_CHECK_OK(committer_->CheckSound());
    done_ = true;
    return batch_->empty() ? OkStatus() : committer_->kv_->Write(batch_.get(), wait);
  }
  void End() {
    if (stamp_) committer_->End(*stamp_);
    stamp_.reset();
    done_ = true;
  }

  Committer* const committer_;
  const Kind kind_;
  const std::unique_ptr<storage::Batch> batch_;
  std::optional<Stamp> stamp_;  // while the commit is under way
  bool done_ = false;           // the batch was written, or must not be any more
};

}  // namespace holdfast::engine
