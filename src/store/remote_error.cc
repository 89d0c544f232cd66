#include "store/remote_error.h"

#include "holdfast/ops/common.h"
#include "json/struct_reader.h"

namespace holdfast::store {
namespace {

struct ErrorBody {
  std::optional<std::string> type;  // "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"
  std::optional<std::string> message;
  std::optional<std::string> capital_message;  // some exceptions have it so
  std::optional<Item> item;
  std::optional<std::vector<CancellationReason>> reasons;
  std::optional<std::vector<ThrottlingReason>> throttling_reasons;
  std::optional<std::vector<ThrottlingReason>> small_throttling_reasons;  // some exceptions have them so

  static constexpr std::string_view kTypeName = "Error";
  static constexpr auto Fields() {
    using S = ErrorBody;
    return FieldList(Field("__type", &S::type), Field("message", &S::message),
                     Field("Message", &S::capital_message), Field("Item", &S::item),
                     Field("CancellationReasons", &S::reasons),
                     Field("ThrottlingReasons", &S::throttling_reasons),
                     Field("throttlingReasons", &S::small_throttling_reasons));
  }
};

// Names that AWS has for what is one thing to us.
std::optional<ErrorCode> CodeNamed(std::string_view name) {
  static constexpr std::pair<std::string_view, ErrorCode> kOthers[] = {
      {"RequestLimitExceeded", ErrorCode::kThrottling},
      {"Throttling", ErrorCode::kThrottling},
      {"InternalFailure", ErrorCode::kInternal},
      {"ServiceUnavailable", ErrorCode::kInternal},
      {"ExpiredTokenException", ErrorCode::kUnrecognizedClient},
      {"NotSupportedException", ErrorCode::kNotSupported}};
  for (const auto& [other, code] : kOthers) {
    if (name == other) return code;
  }
  return ErrorCodeNamed(name);
}

ErrorCode CodeOfStatus(int status) {
  if (status == 429) return ErrorCode::kThrottling;
  if (status >= 500 && status != 501) return ErrorCode::kInternal;
  return ErrorCode::kNotSupported;
}

Error Foreign(const std::string& endpoint, int status, const std::string& body) {
  constexpr size_t kShown = 120;
  std::string start;
  for (char c : body.substr(0, kShown)) start += c >= ' ' ? c : ' ';
  return Error(CodeOfStatus(status), endpoint + " answered with status " + std::to_string(status) +
                                         " and no error of DynamoDB's" + (start.empty() ? "" : ": " + start));
}

}  // namespace

Error ReadError(const std::string& endpoint, int status, const std::string& body) {
  simdjson::dom::parser parser;
  json::Element element;
  Violations violations;
  if (parser.parse(body).get(element) != simdjson::SUCCESS) return Foreign(endpoint, status, body);
  Result<ErrorBody> read = json::ReadStruct<ErrorBody>(element, &violations);
  if (!read || !read->type) return Foreign(endpoint, status, body);

  std::string name = read->type->substr(read->type->find('#') + 1);
  std::string message = read->message.value_or(read->capital_message.value_or(""));
  std::optional<ErrorCode> code = CodeNamed(name);
  if (!code) {
    ErrorCode by_status = CodeOfStatus(status);
    return Error(by_status == ErrorCode::kNotSupported ? ErrorCode::kValidation : by_status,
                 name + ": " + message);
  }
  if (read->small_throttling_reasons) read->throttling_reasons = std::move(read->small_throttling_reasons);
  if (!read->item && !read->reasons && !read->throttling_reasons) return Error(*code, std::move(message));
  auto detail = std::make_shared<ErrorDetail>();
  detail->item = std::move(read->item);
  if (read->reasons) detail->reasons = *std::move(read->reasons);
  if (read->throttling_reasons) detail->throttling_reasons = *std::move(read->throttling_reasons);
  return Error(*code, std::move(message), std::move(detail));
}

}  // namespace holdfast::store
