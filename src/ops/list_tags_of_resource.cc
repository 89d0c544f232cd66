#include "ops/operations.h"
#include "ops/tags.h"

namespace holdfast::ops {

Result<ListTagsOfResourceResponse> Perform(Context& context, const ListTagsOfResourceRequest& request) {
  HF_TRY(TableRef ref, OpenByArn(context, request.resource_arn, "dynamodb:ListTagsOfResource"));
  if (request.next_token) return ValidationError("Invalid NextToken: no listing of tags is ever continued");
  return ListTagsOfResourceResponse{ref.schema->tags, {}};
}

}  // namespace holdfast::ops
