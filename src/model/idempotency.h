// Idempotency keys: the answer to a request, kept for ten minutes under the key that its sender chose.
//
// The record is an item of its own table, written in the transaction of what it stands for, so that either
// both happened or neither.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

  // The answer that was given before, if one was; IdempotencyMismatch when the key stood for something else.
  Result<std::optional<CommandAnswer>> Find(Store* store) const;
  // What keeps the answer. Fails, when it is executed, if the key was used meanwhile.
  TransactWriteItem Keep(const CommandAnswer& answer) const;
  // The same by itself, for what needed no transaction of its own.
  Status KeepAlone(Store* store, const CommandAnswer& answer) const;

 private:
  std::string key_;
  std::string digest_;
  int64_t now_seconds_ = 0;
};

}  // namespace holdfast::model
