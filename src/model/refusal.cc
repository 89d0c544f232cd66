#include "model/refusal.h"

#include <algorithm>
#include <optional>

namespace holdfast::model {
namespace {

// By status.
constexpr std::pair<std::string_view, int> kStatuses[] = {
    {"ValidationError", 400},
    {"InvalidCursor", 400},
    {"Unauthenticated", 401},
    {"Forbidden", 403},
    {"AutonomyLevelTooLow", 403},
    {"NotFound", 404},
    {"MethodNotAllowed", 405},
    {"AlreadyExists", 409},
    {"IllegalTransition", 409},
    {"VersionConflict", 409},
    {"Conflict", 409},
    {"DependencyCycle", 409},
    {"DependenciesOpen", 409},
    {"ActiveBookingExists", 409},
    {"NothingToUndo", 409},
    {"AlreadyExecuted", 409},
    {"InsufficientPoints", 409},
    {"ProjectArchived", 409},
    {"RewardArchived", 409},
    {"MigrationPhase", 409},
    {"Fenced", 409},
    {"Rejected", 409},
    {"Gone", 410},
    {"ItemTooLarge", 413},
    {"TransactionTooLarge", 413},
    {"BodyTooLarge", 413},
    {"ResultTooLarge", 413},
    {"UnsupportedMediaType", 415},
    {"SchemaInvalid", 422},
    {"RuleViolation", 422},
    {"ReservedEventType", 422},
    {"IdempotencyMismatch", 422},
    {"ReadLimitExceeded", 422},
    {"UpgradeRequired", 426},
    {"CooldownActive", 429},
    {"DailyLimitReached", 429},
    {"BudgetExceeded", 429},
    {"Throttled", 429},
    {"Internal", 500},
    {"MalformedRow", 500},
    {"DecryptFailed", 500},
    {"Unavailable", 503},
    {"NotConfigured", 503},
    {"CircuitOpen", 503},
};

}  // namespace

int StatusOfRefusal(std::string_view name) {
  const auto* known = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                                   [&](const auto& status) { return status.first == name; });
  return known == std::end(kStatuses) ? 0 : known->second;
}

Error Refuse(std::string_view name, std::string message, AttributeMap details) {
  return Refuse(name, StatusOfRefusal(name), std::move(message), std::move(details));
}

Error Refuse(std::string_view name, int http_status, std::string message, AttributeMap details) {
  auto detail = std::make_shared<ErrorDetail>();
  detail->refusal.name = name;
  detail->refusal.http_status = http_status == 0 ? 500 : http_status;
  detail->refusal.details = std::move(details);
  return Error(ErrorCode::kRefused, std::move(message), std::move(detail));
}

Error RefuseInput(const std::vector<Violation>& violations) {
  auto worst = std::min_element(violations.begin(), violations.end(),
                                [](const Violation& a, const Violation& b) { return a.kind < b.kind; });
  static constexpr std::string_view kNames[] = {"ValidationError", "SchemaInvalid", "RuleViolation"};
  std::string message;
  std::vector<AttributeValue> list;
  constexpr size_t kToldMax = 100;
  for (const Violation& violation : violations) {
    if (list.size() == kToldMax) break;
    message += (message.empty() ? "" : "; ") + violation.path + ": " + violation.rule;
    AttributeMap entry{{"path", violation.path}, {"rule", violation.rule}};
    if (!violation.got.empty()) entry["got"] = violation.got;
    list.push_back(AttributeValue::Map(std::move(entry)));
  }
  return Refuse(kNames[static_cast<size_t>(worst->kind)], std::move(message),
                {{"violations", AttributeValue::List(std::move(list))}});
}

Error RefuseField(std::string path, std::string rule, std::string got) {
  return RefuseInput({{std::move(path), std::move(rule), std::move(got)}});
}

Error RefuseMove(const Machine& machine, const std::string& id, std::string_view from, std::string_view to) {
  std::vector<AttributeValue> allowed;
  std::string list;
  for (const std::string& state : from.empty() ? machine.initial : machine.From(from)) {
    allowed.emplace_back(state);
    list += (list.empty() ? "" : ", ") + state;
  }
  std::string message = from.empty() ? "a new " + machine.entity->name + " cannot be " + std::string(to)
                                     : machine.entity->name + " cannot change from " + std::string(from) +
                                           " to " + std::string(to);
  message += list.empty() ? "; this state is final" : "; allowed: " + list;
  return Refuse("IllegalTransition", std::move(message),
                {{"entity", machine.entity->name},
                 {"id", id},
                 {"field", machine.field},
                 {"from", from.empty() ? AttributeValue() : AttributeValue(from)},
                 {"to", to},
                 {"allowed", AttributeValue::List(std::move(allowed))}});
}

Error NotFound(const Entity& entity, const std::string& id) {
  return Refuse("NotFound", "there is no " + entity.name + " " + id, {{"entity", entity.name}, {"id", id}});
}

Error Throttled(std::string message) {
  constexpr int64_t kRetrySeconds = 1;
  return Refuse("Throttled", std::move(message), {{"retry_after", kRetrySeconds}});
}

std::string_view RefusalName(const Error& error) {
  return error.code() == ErrorCode::kRefused && error.detail() != nullptr
             ? std::string_view(error.detail()->refusal.name)
             : std::string_view();
}

namespace {

// The reason of a cancelled transaction as the error that the action alone would have met. What another try
// cannot mend comes first.
std::optional<Error> MainReason(const Error& cancelled) {
  constexpr std::pair<std::string_view, ErrorCode> kReasons[] = {
      {"ValidationError", ErrorCode::kValidation},
      {"ProvisionedThroughputExceeded", ErrorCode::kProvisionedThroughputExceeded},
      {"ThrottlingError", ErrorCode::kThrottling},
      {"TransactionConflict", ErrorCode::kTransactionConflict},
  };
  if (cancelled.detail() == nullptr) return std::nullopt;
  for (const auto& [name, code] : kReasons) {
    for (const CancellationReason& reason : cancelled.detail()->reasons) {
      if (reason.code == name) return Error(code, reason.message.value_or(reason.code));
    }
  }
  return std::nullopt;
}

}  // namespace

Error FromStore(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kRefused: return error;
    case ErrorCode::kProvisionedThroughputExceeded:
    case ErrorCode::kThrottling: return Throttled(error.message());
    case ErrorCode::kResourceNotFound:
      return Refuse("Unavailable",
                    "a table of the model is missing; `holdfast model apply` makes it: " + error.message());
    case ErrorCode::kTransactionConflict:
    case ErrorCode::kTransactionInProgress: return Refuse("Conflict", error.message());
    case ErrorCode::kTransactionCanceled:
      if (std::optional<Error> why = MainReason(error)) return FromStore(*why);
      return Refuse("Internal", error.ToString());
    case ErrorCode::kIdempotentParameterMismatch: return Refuse("IdempotencyMismatch", error.message());
    case ErrorCode::kAccessDenied: return Refuse("Forbidden", error.message());
    case ErrorCode::kValidation:
      if (error.message().find("has exceeded the maximum allowed size") != std::string::npos)
        return Refuse("ItemTooLarge", error.message());
      if (error.message().find("Transaction payload size") != std::string::npos)
        return Refuse("TransactionTooLarge", error.message());
      return Refuse("ValidationError", error.message());
    case ErrorCode::kReadOnly:
    case ErrorCode::kIo: return Refuse("Unavailable", error.message());
    default: return Refuse("Internal", error.ToString());
  }
}

}  // namespace holdfast::model
