// Result<T> and Status: how every holdfast call says whether it worked.
//
//   holdfast::Result<GetItemResponse> got = db->GetItem(request);
//   if (!got) return Report(got.error());
//   Use(got->item);
//
// A Result holds either a value or an Error. Status is a Result that has no value to give. Both are
// [[nodiscard]], so the compiler warns about an ignored failure. The method names are std::expected's.
// The library throws nothing but std::bad_alloc, and std::bad_variant_access when value() is asked of an
// error or error() of a value; operator* and -> check nothing.
//
// error().code() says what can be done, error().message() is for people, and error().detail() holds what some
// codes bring along:
//
//   if (got.error().code() == holdfast::ErrorCode::kTransactionCanceled)
//     for (const holdfast::CancellationReason& reason : got.error().detail()->reasons) Use(reason.code);
//
// Two macros keep the happy path readable in functions that return a Result themselves:
//   HF_TRY(auto item, Load(key));      // returns the Error to our caller, or binds `item`
//   HF_CHECK_OK(Validate(request));    // the same for a Status
//
// Thread safety: as for std::variant. An Error is immutable after construction and cheap to copy.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "holdfast/export.h"

namespace holdfast {

// What went wrong, in terms of what the caller can do. The first block are DynamoDB's exceptions, the second
// comes from the machine beneath. Closed: a new code is a change of the public contract.
enum class ErrorCode : unsigned char {
  kValidation,                       // the request is wrong; sending it again will not help
  kSerialization,                    // the body is not what the operation's JSON looks like
  kResourceNotFound,                 // no such table or index
  kResourceInUse,                    // exists already, or is changing state
  kConditionalCheckFailed,           // ErrorDetail::item may hold the stored item
  kTransactionCanceled,              // ErrorDetail::reasons says why, action by action
  kTransactionConflict,              // another writer holds the item: try again
  kTransactionInProgress,            // the same token is being executed: try again
  kIdempotentParameterMismatch,      // the token was used with other parameters
  kItemCollectionSizeLimitExceeded,  // a partition of a table with LSIs is full
  kProvisionedThroughputExceeded,    // slow down and try again
  kThrottling,                       // the server is at a bound of its own: try again
  kLimitExceeded,                    // too many of something
  kTrimmedDataAccess,                // those changes are no longer kept
  kTableNotFound,                    // what backups and recovery call a missing table
  kTableInUse,                       // the table is being created or deleted
  kTableAlreadyExists,               // a restore needs a name that is free
  kBackupNotFound,                   // it was deleted, or never was
  kBackupInUse,                      // it is being made, or a table is being restored from it
  kContinuousBackupsUnavailable,     // not now: try again
  kPointInTimeRecoveryUnavailable,   // it is not switched on for the table
  kInvalidRestoreTime,               // outside the window that can be restored
  kExpiredIterator,                  // of a stream: ask for another one
  kAccessDenied,
  kUnknownOperation,
  kMissingAuthenticationToken,
  kIncompleteSignature,
  kInvalidSignature,
  kUnrecognizedClient,
  kInternal,  // a defect or a failing disk; the message is for the log

  kIo,            // the operating system refused a read, write or sync
  kCorruption,    // stored bytes fail their checksum or make no sense
  kWouldBlock,    // not answerable without waiting, and the caller asked not to wait
  kReadOnly,      // the store stopped taking writes after a failed sync
  kLocked,        // another process has the directory open
  kNewerFormat,   // written by a later version
  kNotSupported,  // this build or backend cannot do it

  kRefused,  // a model refuses it: ErrorDetail::refusal says why (holdfast/model.h)
};

// Name of `code` for logs and messages, e.g. "ValidationException".
HOLDFAST_EXPORT std::string_view ErrorName(ErrorCode code);
// The code that ErrorName gives this name; empty when there is none.
HOLDFAST_EXPORT std::optional<ErrorCode> ErrorCodeNamed(std::string_view name);

// What some errors carry beyond a message; defined in holdfast/ops/common.h.
struct ErrorDetail;

class HOLDFAST_EXPORT Error {
 public:
  Error(ErrorCode code, std::string message)
      : rep_(std::make_shared<const Rep>(Rep{code, std::move(message), nullptr, false})) {}
  Error(ErrorCode code, std::string message, std::shared_ptr<const ErrorDetail> detail)
      : rep_(std::make_shared<const Rep>(Rep{code, std::move(message), std::move(detail), false})) {}

  ErrorCode code() const { return rep_->code; }
  const std::string& message() const { return rep_->message; }
  // Null when there is none.
  const ErrorDetail* detail() const { return rep_->detail.get(); }
  // DynamoDB words one family of refusals (malformed sets, expression syntax, unused or mixed parameters)
  // differently on PutItem and UpdateItem; this marks the family.
  bool is_request_family() const { return rep_->request_family; }
  // "ValidationException: the message".
  std::string ToString() const;

 private:
  struct Rep {
    ErrorCode code;
    std::string message;
    std::shared_ptr<const ErrorDetail> detail;
    bool request_family = false;
  };
  friend HOLDFAST_EXPORT Error RequestError(std::string message);
  explicit Error(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}

  std::shared_ptr<const Rep> rep_;
};

inline Error ValidationError(std::string message) {
  return Error(ErrorCode::kValidation, std::move(message));
}
// A ValidationException of the family that is_request_family() marks.
HOLDFAST_EXPORT Error RequestError(std::string message);

template <class T>
class Result;

// What a Result<T> takes for its value besides a T.
template <class U, class T>
concept BecomesValue =
    !std::is_same_v<std::remove_cvref_t<U>, Result<T>> && !std::is_same_v<std::remove_cvref_t<U>, T> &&
    !std::is_same_v<std::remove_cvref_t<U>, Error> && std::is_convertible_v<U, T>;

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  Result(ErrorCode code, std::string message) : Result(Error(code, std::move(message))) {}
  template <BecomesValue<T> U>
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Requires: has_value().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::get<0>(std::move(state_)) : static_cast<T>(std::forward<U>(other));
  }

  // Requires: !has_value().
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

  template <class F>
  auto and_then(F&& next) && -> std::invoke_result_t<F, T> {
    if (!has_value()) return std::move(*this).error();
    return std::forward<F>(next)(std::move(**this));
  }
  template <class F>
  auto transform(F&& map) && -> Result<std::invoke_result_t<F, T>> {
    if (!has_value()) return std::move(*this).error();
    return std::forward<F>(map)(std::move(**this));
  }

 private:
  std::variant<T, Error> state_;
};

struct Ok {};

// A Result without a value. `return OkStatus();` or just `return Ok{};`.
using Status = Result<Ok>;
inline Status OkStatus() {
  return Ok{};
}

#define HF_CONCAT_INNER(a, b) a##b
#define HF_CONCAT(a, b) HF_CONCAT_INNER(a, b)
#define HF_TRY_INNER(result, declaration, expression) \
  auto result = (expression);                         \
  if (!result) [[unlikely]]                           \
    return std::move(result).error();                 \
  declaration = *std::move(result)
#define HF_TRY(declaration, ...) HF_TRY_INNER(HF_CONCAT(hf_result_, __LINE__), declaration, __VA_ARGS__)
#define HF_CHECK_OK(...)                                         \
  do {                                                           \
    if (auto hf_status = (__VA_ARGS__); !hf_status) [[unlikely]] \
      return std::move(hf_status).error();                       \
  } while (false)

}  // namespace holdfast
