// Execute: what is common to all operations, around each one's Perform.

#include "ops/constraints.h"
#include "ops/operations.h"
#include "ops/table_access.h"
#include "ops/throughput.h"

namespace holdfast::ops {
namespace {

// PutItem and UpdateItem report one family of refusals in the envelope of constraint violations. (Seen on the
// live service since the middle of 2026; other operations report the same texts bare.)
template <class Request>
constexpr bool kUsesEnvelope =
    std::is_same_v<Request, PutItemRequest> || std::is_same_v<Request, UpdateItemRequest>;

template <class Response, class Request>
Result<Response> CheckAndPerform(Context& context, const Request& request, const Violations& violations) {
  Status sound = context.constraints_checked ? Status(Ok{}) : CheckConstraints(request, violations);
  Result<Response> result = sound ? Perform(context, request) : Result<Response>(sound.error());
  if (!result) {
    if constexpr (requires { TableNameOf(request.table_name); }) {
      // Much is refused before the table is looked for.
      if (context.table == nullptr)
        context.table = context.engine->catalog().Find(TableNameOf(request.table_name));
    }
    CountError(context, result.error());
  }
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
