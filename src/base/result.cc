#include "holdfast/result.h"

namespace holdfast {

std::string_view ErrorName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kValidation: return "ValidationException";
    case ErrorCode::kSerialization: return "SerializationException";
    case ErrorCode::kResourceNotFound: return "ResourceNotFoundException";
    case ErrorCode::kResourceInUse: return "ResourceInUseException";
    case ErrorCode::kConditionalCheckFailed: return "ConditionalCheckFailedException";
    case ErrorCode::kTransactionCanceled: return "TransactionCanceledException";
    case ErrorCode::kTransactionConflict: return "TransactionConflictException";
    case ErrorCode::kTransactionInProgress: return "TransactionInProgressException";
    case ErrorCode::kIdempotentParameterMismatch: return "IdempotentParameterMismatchException";
    case ErrorCode::kItemCollectionSizeLimitExceeded: return "ItemCollectionSizeLimitExceededException";
    case ErrorCode::kProvisionedThroughputExceeded: return "ProvisionedThroughputExceededException";
    case ErrorCode::kThrottling: return "ThrottlingException";
    case ErrorCode::kLimitExceeded: return "LimitExceededException";
    case ErrorCode::kExpiredIterator: return "ExpiredIteratorException";
    case ErrorCode::kTrimmedDataAccess: return "TrimmedDataAccessException";
    case ErrorCode::kTableNotFound: return "TableNotFoundException";
    case ErrorCode::kTableInUse: return "TableInUseException";
    case ErrorCode::kTableAlreadyExists: return "TableAlreadyExistsException";
    case ErrorCode::kBackupNotFound: return "BackupNotFoundException";
    case ErrorCode::kBackupInUse: return "BackupInUseException";
    case ErrorCode::kContinuousBackupsUnavailable: return "ContinuousBackupsUnavailableException";
    case ErrorCode::kPointInTimeRecoveryUnavailable: return "PointInTimeRecoveryUnavailableException";
    case ErrorCode::kInvalidRestoreTime: return "InvalidRestoreTimeException";
    case ErrorCode::kAccessDenied: return "AccessDeniedException";
    case ErrorCode::kUnknownOperation: return "UnknownOperationException";
    case ErrorCode::kMissingAuthenticationToken: return "MissingAuthenticationTokenException";
    case ErrorCode::kIncompleteSignature: return "IncompleteSignatureException";
    case ErrorCode::kInvalidSignature: return "InvalidSignatureException";
    case ErrorCode::kUnrecognizedClient: return "UnrecognizedClientException";
    case ErrorCode::kInternal: return "InternalServerError";
    case ErrorCode::kIo: return "IoError";
    case ErrorCode::kCorruption: return "Corruption";
    case ErrorCode::kWouldBlock: return "WouldBlock";
    case ErrorCode::kReadOnly: return "ReadOnly";
    case ErrorCode::kLocked: return "Locked";
    case ErrorCode::kNewerFormat: return "NewerFormat";
    case ErrorCode::kNotSupported: return "NotSupported";
    case ErrorCode::kRefused: return "Refused";
  }
  return "Unknown";
}

std::optional<ErrorCode> ErrorCodeNamed(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kNotSupported); ++i) {
    if (ErrorName(static_cast<ErrorCode>(i)) == name) return static_cast<ErrorCode>(i);
  }
  return std::nullopt;
}

Error RequestError(std::string message) {
  return Error(std::make_shared<const Error::Rep>(
      Error::Rep{ErrorCode::kValidation, std::move(message), nullptr, true}));
}

std::string Error::ToString() const {
  std::string text(ErrorName(code()));
  return text + ": " + message();
}

}  // namespace holdfast
