// Idempotency keys: the answer to a request, kept for ten minutes under the key that its sender chose.
//
// The record is an item of its own table, written in the transaction of what it stands for, so that either
// both happened or neither. What is no single transaction (commands written in C++) is claimed first: a
// record that says "being carried out" is written on condition that there is none, renewed while the work
// goes on, and finished with the answer. Of two with the same key one works, and the other waits for its
// answer. A claim that nobody renews, because its program was killed, lapses; then the key may be used again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "holdfast/model.h"

namespace holdfast::model {

inline constexpr std::string_view kIdempotencyTable = "holdfast-idempotency";
inline constexpr int64_t kIdempotencySeconds = 600;
struct Table;
const Table& IdempotencyTable();

class IdempotencyRecord {
 public:
  // `what` is everything that must be the same for the answer to be: the command and its input.
  // Requires: an options.idempotency_key.
  static Result<IdempotencyRecord> Make(const std::string& model, const Caller& caller,
                                        const RunOptions& options, std::string_view command,
                                        const Item& input, int64_t now_seconds);

  // The answer that was given before, if one was; IdempotencyMismatch when the key stood for something else,
  // Conflict while it is being carried out.
  Result<std::optional<CommandAnswer>> Find(Store* store) const;
  // What keeps the answer. Fails, when it is executed, if the key was used meanwhile.
  TransactWriteItem Keep(const CommandAnswer& answer) const;

  // Names the request wherever it must be the same for a repetition and another for anything else.
  std::string Id() const;

 private:
  friend class IdempotencyClaim;

  std::string key_;
  std::string digest_;
  int64_t now_seconds_ = 0;
};

// The right to carry out what a record stands for; given up when it is destroyed unfinished.
class IdempotencyClaim {
 public:
  // Empty when somebody else has it, or has finished meanwhile: IdempotencyRecord::Find tells.
  // All arguments must outlive it.
  static Result<std::unique_ptr<IdempotencyClaim>> Take(Store* store, const base::Clock* clock,
                                                        const IdempotencyRecord* record);
  ~IdempotencyClaim();
  IdempotencyClaim(const IdempotencyClaim&) = delete;
  IdempotencyClaim& operator=(const IdempotencyClaim&) = delete;

  // Keeps the answer. A claim that lapsed and was taken by another keeps the other's.
  Status Finish(const CommandAnswer& answer);

 private:
  IdempotencyClaim(Store* store, const base::Clock* clock, const IdempotencyRecord* record);
  // Conditional on the claim being ours.
  Result<UpdateItemResponse> Renew();
  void KeepRenewed();
  void StopRenewing();

  Store* const store_;
  const base::Clock* const clock_;
  const IdempotencyRecord& record_;
  const std::string name_;  // of this claim
  bool finished_ = false;
  base::Mutex mu_;
  base::CondVar changed_;
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::thread renewing_;
};

}  // namespace holdfast::model
