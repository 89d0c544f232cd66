#include "ops/tags.h"

#include <vector>

namespace holdfast::ops {
namespace {

std::vector<std::string> SplitArn(const std::string& arn) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (parts.size() < 5) {
    size_t colon = arn.find(':', begin);
    if (colon == std::string::npos) break;
    parts.push_back(arn.substr(begin, colon - begin));
    begin = colon + 1;
  }
  parts.push_back(arn.substr(begin));
  return parts;
}

}  // namespace

Result<TableRef> OpenByArn(Context& context, const std::string& arn, std::string_view action) {
  Error invalid = ValidationError("Invalid TableArn: Invalid ResourceArn provided as input " + arn);
  if (arn.empty()) return ValidationError("Invalid TableArn");
  std::vector<std::string> parts = SplitArn(arn);
  if (parts.size() < 6) {
    return ValidationError("Invalid TableArn: Invalid ResourceArn provided as input " + arn +
                           ": ARNs must start with 'arn:' and have six parts");
  }
  bool is_table =
      parts.size() == 6 && parts[0] == "arn" && parts[2] == "dynamodb" && parts[5].starts_with("table/");
  if (!is_table) return invalid;
  std::string name = parts[5].substr(6);
  if (name.empty() || name.find('/') != std::string::npos) return invalid;
  const Options& options = context.engine->options();
  if (parts[4] != options.account || parts[3] != options.region) {
    return Error(ErrorCode::kAccessDenied, "User: arn:aws:iam::" + options.account +
                                               ":root is not authorized to perform: " + std::string(action) +
                                               " on resource: " + arn);
  }
  engine::TablePtr table = context.engine->catalog().Find(name);
  if (table == nullptr) {
    return Error(ErrorCode::kResourceNotFound,
                 action == "dynamodb:UntagResource"
                     ? "Requested resource not found"
                     : "Requested resource not found: ResourcArn: " + arn + " not found");
  }
  return TableRef{table, table->schema()};
}

}  // namespace holdfast::ops
