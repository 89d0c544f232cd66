// How a cancelled transaction is reported.
#pragma once

#include <vector>

#include "holdfast/ops/common.h"
#include "holdfast/result.h"

namespace holdfast::ops {

inline CancellationReason ValidationReason(const Error& error) {
  return {"ValidationError", error.message(), {}};
}

// "Transaction cancelled, please refer cancellation reasons for specific reasons [None,
// ConditionalCheckFailed]"
Error TransactionCanceled(std::vector<CancellationReason> reasons);

// The error for one bad action among `count`: it alone is blamed.
Error CanceledBy(const Error& error, size_t position, size_t count);

}  // namespace holdfast::ops
