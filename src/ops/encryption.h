// SSESpecification and SSEDescription. Encryption is of the whole store (docs/encryption.md): a table only
// says that it wants it, and under which name a key of KMS would be known.
#pragma once

#include <optional>

#include "engine/catalog/schema.h"
#include "holdfast/ops/table.h"
#include "ops/context.h"

namespace holdfast::ops {

// What is wrong whatever the table is.
Status CheckEncryption(const SseSpecification& wanted);
// Puts what is wanted of a new table, or of one that is there.
void SetEncryption(Context& context, const SseSpecification& wanted, engine::TableSchema* schema);
Status ChangeEncryption(Context& context, const SseSpecification& wanted, engine::TableSchema* schema);

std::optional<SseDescription> DescribeEncryption(Context& context, const engine::TableSchema& schema);

}  // namespace holdfast::ops
