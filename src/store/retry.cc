#include "store/retry.h"

#include <algorithm>

#include "holdfast/ops/common.h"

namespace holdfast::store {
namespace {

bool IsInnocent(const CancellationReason& reason) {
  return reason.code == "None";
}

bool MayPass(const CancellationReason& reason) {
  return reason.code == "TransactionConflict" || reason.code == "ThrottlingError" ||
         reason.code == "ProvisionedThroughputExceeded";
}

}  // namespace

bool MayPass(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kThrottling:
    case ErrorCode::kProvisionedThroughputExceeded:
    case ErrorCode::kTransactionConflict:
    case ErrorCode::kTransactionInProgress:
    case ErrorCode::kInternal:
    case ErrorCode::kIo: return true;
    case ErrorCode::kTransactionCanceled: {
      if (error.detail() == nullptr) return false;
      const auto& reasons = error.detail()->reasons;
      bool all = std::all_of(reasons.begin(), reasons.end(),
                             [](const auto& reason) { return IsInnocent(reason) || MayPass(reason); });
      return all && !std::all_of(reasons.begin(), reasons.end(), IsInnocent);
    }
    default: return false;
  }
}

int64_t PauseMillis(int tries, int64_t first_millis, int64_t longest_millis, base::Random* random) {
  int64_t bound = std::max<int64_t>(first_millis, 0);
  for (int i = 1; i < tries && bound < longest_millis; ++i) bound *= 2;
  bound = std::min(bound, longest_millis);
  return static_cast<int64_t>(random->Below(static_cast<uint64_t>(bound) + 1));
}

}  // namespace holdfast::store
