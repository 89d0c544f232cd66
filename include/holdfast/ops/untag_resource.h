// UntagResource: remove tags of a table, by its ARN (TableDescription::table_arn).
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

struct UntagResourceRequest {
  std::string resource_arn;
  std::vector<std::string> tag_keys;

  static constexpr std::string_view kTypeName = "UntagResourceInput";
  static constexpr auto Fields() {
    using S = UntagResourceRequest;
    return FieldList(Field("ResourceArn", &S::resource_arn, kArnRules),
                     Field("TagKeys", &S::tag_keys, {.required = true}));
  }
};

struct UntagResourceResponse {
  static constexpr std::string_view kTypeName = "UntagResourceOutput";
  static constexpr bool kEmptyBody = true;
  static constexpr auto Fields() { return FieldList(); }
};

}  // namespace holdfast
