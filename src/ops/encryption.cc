#include "ops/encryption.h"

#include "ops/table_schema.h"

namespace holdfast::ops {
namespace {

std::string KeyArn(Context& context, const SseSpecification& wanted) {
  const Options& options = context.engine->options();
  std::string prefix = "arn:aws:kms:" + options.region + ":" + options.account + ":";
  if (!wanted.kms_master_key_id) {
    std::string own = context.engine->master_key_id();
    return prefix + (own.empty() ? "alias/aws/dynamodb" : "key/" + own);
  }
  const std::string& id = *wanted.kms_master_key_id;
  if (id.starts_with("arn:")) return id;
  return prefix + (id.starts_with("alias/") ? "" : "key/") + id;
}

}  // namespace

Status CheckEncryption(const SseSpecification& wanted) {
  if (!wanted.enabled.value_or(false)) {
    if (wanted.sse_type) return Invalid("SSEType can not be specified if Enabled is false");
    if (wanted.kms_master_key_id) return Invalid("KMSMasterKeyId can not be specified if Enabled is false");
    return Ok{};
  }
  if (wanted.sse_type == SseType::kAes256) return Invalid("SSEType AES256 is not supported");
  if (wanted.kms_master_key_id && !wanted.sse_type)
    return Invalid("SSEType KMS is required if KMSMasterKeyId is specified");
  return Ok{};
}

void SetEncryption(Context& context, const SseSpecification& wanted, engine::TableSchema* schema) {
  schema->sse_key_arn = wanted.enabled.value_or(false) ? KeyArn(context, wanted) : "";
}

Status ChangeEncryption(Context& context, const SseSpecification& wanted, engine::TableSchema* schema) {
  if (!wanted.enabled.value_or(false) && schema->sse_key_arn.empty())
    return Invalid("Table is already encrypted by default");
  if (wanted.kms_master_key_id && *wanted.kms_master_key_id == schema->sse_key_arn) {
    return Invalid(
        "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you want to "
        "change Master Key");
  }
  SetEncryption(context, wanted, schema);
  return Ok{};
}

std::optional<SseDescription> DescribeEncryption(Context& context, const engine::TableSchema& schema) {
  if (schema.sse_key_arn.empty()) return std::nullopt;
  SseDescription description;
  bool updating = context.engine->encryption() != engine::Encryption::kOn;
  description.status = updating ? SseStatus::kUpdating : SseStatus::kEnabled;
  description.sse_type = SseType::kKms;
  description.kms_master_key_arn = schema.sse_key_arn;
  return description;
}

}  // namespace holdfast::ops
