// The store as a whole: for administrators alone, whatever else a server lets pass.

#include "model/refusal.h"
#include "wire/rest_call.h"

namespace holdfast::wire {

// {"to": "/a/new/directory"}, a path of the server's machine.
Status BackUpStore(Call* call) {
  if (call->identity.role != "admin")
    return model::Refuse("Forbidden", "the role " + call->identity.role + " may not back up the store");
  HF_CHECK_OK(ExpectNoQuery(*call));
  if (!call->options.back_up) return model::Refuse("NotConfigured", "this server has no store of its own");
  HF_TRY(Item body, ReadBody(*call));
  std::optional<AttributeValue> to = body.Get("to");
  if (!to || to->type() != AttributeValue::Type::kString || !to->AsText().starts_with('/'))
    return model::RefuseField("to", "should be the absolute path of a directory that does not exist yet");
  std::string directory(to->AsText());
  Result<uint64_t> bytes = call->options.back_up(directory);
  if (!bytes && bytes.error().code() == ErrorCode::kResourceInUse)
    return model::Refuse("Conflict", bytes.error().message());
  if (!bytes && bytes.error().code() == ErrorCode::kNotSupported)
    return model::Refuse("NotConfigured", bytes.error().message());
  HF_CHECK_OK(bytes);
  call->response.body = "{\"bytes\":" + std::to_string(*bytes) + "}";
  return Ok{};
}

}  // namespace holdfast::wire
