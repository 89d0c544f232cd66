#include "ops/cancellation.h"

namespace holdfast::ops {

Error TransactionCanceled(std::vector<CancellationReason> reasons) {
  std::string message = "Transaction cancelled, please refer cancellation reasons for specific reasons [";
  for (const CancellationReason& reason : reasons) {
    if (&reason != &reasons.front()) message += ", ";
    message += reason.code;
  }
  auto detail = std::make_shared<ErrorDetail>();
  detail->reasons = std::move(reasons);
  return Error(ErrorCode::kTransactionCanceled, message + "]", std::move(detail));
}

Error CanceledBy(const Error& error, size_t position, size_t count) {
  std::vector<CancellationReason> reasons(count);
  reasons[position] = ValidationReason(error);
  return TransactionCanceled(std::move(reasons));
}

}  // namespace holdfast::ops
