// Execute: what is common to all operations, around each one's Perform.

#include "ops/constraints.h"
#include "ops/operations.h"

namespace holdfast::ops {
namespace {

// PutItem and UpdateItem report one family of refusals in the envelope of constraint violations. (Seen on the
// live service since the middle of 2026; other operations report the same texts bare.)
template <class Request>
constexpr bool kUsesEnvelope =
    std::is_same_v<Request, PutItemRequest> || std::is_same_v<Request, UpdateItemRequest>;

template <class Response, class Request>
Result<Response> CheckAndPerform(Context& context, const Request& request, const Violations& violations) {
  HF_CHECK_OK(CheckConstraints(request, violations));
  Result<Response> result = Perform(context, request);
  if constexpr (kUsesEnvelope<Request>) {
    if (!result && result.error().is_request_family()) {
      return ValidationError("1 validation error detected: " + result.error().message());
    }
  }
  return result;
}

}  // namespace

#define HF_OPERATION(name, where)                                                \
  Result<name##Response> Execute(Context& context, const name##Request& request, \
                                 const Violations& violations) {                 \
    return CheckAndPerform<name##Response>(context, request, violations);        \
  }
#include "ops/operations.inc"
#undef HF_OPERATION

}  // namespace holdfast::ops
