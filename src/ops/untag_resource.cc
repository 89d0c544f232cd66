#include <algorithm>

#include "ops/operations.h"
#include "ops/tags.h"

namespace holdfast::ops {

Result<UntagResourceResponse> Perform(Context& context, const UntagResourceRequest& request) {
  HF_TRY(TableRef ref, OpenByArn(context, request.resource_arn, "dynamodb:UntagResource"));
  if (request.tag_keys.empty()) {
    return ValidationError(
        "One or more parameter values were invalid: TagKeys must contain at least one key");
  }
  context.await_durability = true;
  HF_CHECK_OK(context.engine->ChangeSchema(ref.table, [&](engine::TableSchema* schema) -> Status {
    std::erase_if(schema->tags, [&](const Tag& tag) {
      return std::find(request.tag_keys.begin(), request.tag_keys.end(), tag.key) != request.tag_keys.end();
    });
    return Ok{};
  }));
  return UntagResourceResponse{};
}

}  // namespace holdfast::ops
