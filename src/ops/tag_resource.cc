#include <algorithm>

#include "ops/operations.h"
#include "ops/table_schema.h"
#include "ops/tags.h"

namespace holdfast::ops {

Result<TagResourceResponse> Perform(Context& context, const TagResourceRequest& request) {
  HF_TRY(TableRef ref, OpenByArn(context, request.resource_arn, "dynamodb:TagResource"));
  if (request.tags.empty()) {
    return ValidationError("One or more parameter values were invalid: Tags must contain at least one tag");
  }
  HF_CHECK_OK(CheckTags(request.tags));
  context.await_durability = true;
  HF_CHECK_OK(context.engine->ChangeSchema(ref.table, [&](engine::TableSchema* schema) -> Status {
    for (const Tag& tag : request.tags) {
      auto same = std::find_if(schema->tags.begin(), schema->tags.end(),
                               [&](const Tag& known) { return known.key == tag.key; });
      if (same == schema->tags.end()) {
        schema->tags.push_back(tag);
      } else {
        same->value = tag.value;
      }
    }
    return CheckTags(schema->tags);
  }));
  return TagResourceResponse{};
}

}  // namespace holdfast::ops
