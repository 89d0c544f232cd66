// From what a request names to what the engine works on: tables by name or ARN, storage keys from key
// attributes, and the refusals on the way.
#pragma once

#include <string>

#include "engine/catalog/catalog.h"
#include "engine/item/stored_item.h"
#include "holdfast/value.h"
#include "ops/context.h"

namespace holdfast::ops {

struct TableRef {
  engine::TablePtr table;
  engine::SchemaPtr schema;
};

// For operations on items: an unknown table is "Requested resource not found", as is one still being created.
Result<TableRef> OpenForItems(Context& context, const std::string& name_or_arn);
// For operations on tables, which name the table in their refusal.
Result<TableRef> OpenForTable(Context& context, const std::string& name_or_arn);

// kResourceInUse while the table is being created or deleted.
Status CheckSettled(const engine::TableSchema& table);
// kAccessDenied for the ARN of a table in another account or region: this store's table of that name is not
// meant.
Status CheckOwner(Context& context, const std::string& name_or_arn);

// "arn:aws:dynamodb:us-east-1:123456789012:table/Music"
std::string TableArn(Context& context, const std::string& table);
// The table named by a name or a table ARN.
std::string TableNameOf(const std::string& name_or_arn);

// Why key attributes were refused. Inside a transaction an empty key ends the request, other faults only
// cancel it.
struct KeyRefusal {
  Error error;
  bool is_empty_value = false;
};

// The storage key for a Key parameter: exactly the key attributes, of the right types, not empty, not too
// long.
Result<std::string> KeyFromParameter(const engine::TableSchema& schema, const Item& key,
                                     bool* empty_value = nullptr);
// The storage key of an item to be written; the wording differs.
Result<std::string> KeyFromItem(const engine::TableSchema& schema, const Item& item,
                                bool* empty_value = nullptr);

// Index key attributes that an item carries must be of the index's type, not empty and not too long; vectors
// and their filters must fit their indexes.
enum class IndexKeyCheck : uint8_t { kPut, kUpdate };
Status CheckIndexKeys(const engine::TableSchema& schema, value::MapView item, IndexKeyCheck check,
                      bool* empty_value = nullptr);

// A value that an expression gives for a key attribute, of the right type: it must be one that a key can
// have.
Status CheckKeyOperand(const engine::KeyAttribute& partition, value::ValueView value);

Error IndexKeyMismatch(const engine::KeyAttribute& attribute, value::Type actual, const std::string& index);

// Document paths may not reach into key attributes of the table or its indexes: they are scalars.
Status CheckKeyPath(const engine::TableSchema& schema, std::string_view attribute, bool nested);

}  // namespace holdfast::ops
