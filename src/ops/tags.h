// Which table a ResourceArn of the tagging operations means.
#pragma once

#include "ops/table_access.h"

namespace holdfast::ops {

// `action` as IAM calls it: "dynamodb:TagResource".
Result<TableRef> OpenByArn(Context& context, const std::string& arn, std::string_view action);

}  // namespace holdfast::ops
