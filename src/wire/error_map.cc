#include "wire/error_map.h"

#include "base/limits.h"
#include "base/shown.h"
#include "holdfast/ops/common.h"
#include "json/struct_writer.h"

namespace holdfast::wire {
namespace {

constexpr std::string_view kDynamoDb = "com.amazonaws.dynamodb.v20120810#";
constexpr std::string_view kCoral = "com.amazon.coral.service#";
constexpr std::string_view kValidate = "com.amazon.coral.validate#";

struct Style {
  std::string_view prefix;
  int status = 400;
  std::string_view message_key = "message";
};

Style StyleOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kValidation: return {kValidate};
    case ErrorCode::kSerialization: return {kCoral, 400, "Message"};
    case ErrorCode::kUnknownOperation:
    case ErrorCode::kMissingAuthenticationToken:
    case ErrorCode::kIncompleteSignature:
    case ErrorCode::kInvalidSignature:
    case ErrorCode::kUnrecognizedClient: return {kCoral};
    case ErrorCode::kAccessDenied: return {kCoral, 400, "Message"};
    case ErrorCode::kTransactionCanceled: return {kDynamoDb, 400, "Message"};
    case ErrorCode::kInternal:
    case ErrorCode::kIo:
    case ErrorCode::kCorruption:
    case ErrorCode::kWouldBlock:
    case ErrorCode::kReadOnly:
    case ErrorCode::kLocked:
    case ErrorCode::kNewerFormat:
    case ErrorCode::kNotSupported:
    case ErrorCode::kRefused: return {kDynamoDb, 500};
    default: return {kDynamoDb};
  }
}

}  // namespace

ErrorAnswer RenderError(const Error& error) {
  Style style = StyleOf(error.code());
  bool internal = style.status >= 500;
  ErrorAnswer answer{style.status, "{\"__type\":\""};
  answer.body.append(style.prefix)
      .append(internal ? "InternalServerError" : ErrorName(error.code()))
      .append("\"");
  std::string message =
      internal ? "Internal server error" : base::Shown(error.message(), limits::kErrorMessageBytesMax);
  // A store that refuses writes says so: the operator has to act, and the client cannot guess it.
  if (error.code() == ErrorCode::kReadOnly) message = error.message();
  bool wordless = error.code() == ErrorCode::kSerialization || error.code() == ErrorCode::kUnknownOperation;
  if (!wordless || !message.empty()) {
    answer.body.append(",\"").append(style.message_key).append("\":");
    json::AppendString(message, &answer.body);
  }
  if (const ErrorDetail* detail = error.detail()) {
    if (detail->item) {
      answer.body.append(",\"Item\":");
      json::Write(*detail->item, &answer.body);
    }
    if (!detail->reasons.empty()) {
      answer.body.append(",\"CancellationReasons\":");
      json::Write(detail->reasons, &answer.body);
    }
    if (!detail->throttling_reasons.empty()) {
      bool provisioned = error.code() == ErrorCode::kProvisionedThroughputExceeded;
      answer.body.append(provisioned ? ",\"ThrottlingReasons\":" : ",\"throttlingReasons\":");
      json::Write(detail->throttling_reasons, &answer.body);
    }
  }
  answer.body.append("}");
  return answer;
}

}  // namespace holdfast::wire
