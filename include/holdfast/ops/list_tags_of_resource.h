// ListTagsOfResource: the tags of a table, by its ARN (TableDescription::table_arn).
#pragma once

#include "holdfast/ops/table.h"

namespace holdfast {

struct ListTagsOfResourceRequest {
  std::string resource_arn;
  std::optional<std::string> next_token;

  static constexpr std::string_view kTypeName = "ListTagsOfResourceInput";
  static constexpr auto Fields() {
    using S = ListTagsOfResourceRequest;
    return FieldList(Field("ResourceArn", &S::resource_arn, kArnRules), Field("NextToken", &S::next_token));
  }
};

struct ListTagsOfResourceResponse {
  std::vector<Tag> tags;
  std::optional<std::string> next_token;  // never set: fifty tags fit into one answer

  static constexpr std::string_view kTypeName = "ListTagsOfResourceOutput";
  static constexpr auto Fields() {
    using S = ListTagsOfResourceResponse;
    return FieldList(Field("Tags", &S::tags), Field("NextToken", &S::next_token));
  }
};

}  // namespace holdfast
