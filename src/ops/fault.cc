#include "ops/fault.h"

#include <algorithm>

#include "holdfast/ops/common.h"

namespace holdfast::ops {

Fault FaultOf(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kConditionalCheckFailed:
    case ErrorCode::kTransactionConflict:
    case ErrorCode::kTransactionInProgress:
    case ErrorCode::kProvisionedThroughputExceeded:
    case ErrorCode::kThrottling:
    case ErrorCode::kWouldBlock:
    case ErrorCode::kRefused: return Fault::kNobody;
    case ErrorCode::kTransactionCanceled: {
      if (error.detail() == nullptr) return Fault::kNobody;
      const auto& reasons = error.detail()->reasons;
      bool wrong = std::any_of(reasons.begin(), reasons.end(), [](const CancellationReason& reason) {
        return reason.code == "ValidationError";
      });
      return wrong ? Fault::kUser : Fault::kNobody;
    }
    default: return error.code() >= ErrorCode::kInternal ? Fault::kServer : Fault::kUser;
  }
}

}  // namespace holdfast::ops
