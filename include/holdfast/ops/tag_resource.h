// TagResource: add or replace tags of a table, by its ARN (TableDescription::table_arn).
#pragma once

#include "holdfast/ops/table.h"

namespace holdfast {

struct TagResourceRequest {
  std::string resource_arn;
  std::vector<Tag> tags;

  static constexpr std::string_view kTypeName = "TagResourceInput";
  static constexpr auto Fields() {
    using S = TagResourceRequest;
    return FieldList(Field("ResourceArn", &S::resource_arn, kArnRules),
                     Field("Tags", &S::tags, {.required = true}));
  }
};

struct TagResourceResponse {
  static constexpr std::string_view kTypeName = "TagResourceOutput";
  static constexpr bool kEmptyBody = true;  // not even {}
  static constexpr auto Fields() { return FieldList(); }
};

}  // namespace holdfast
