#include "ops/table_access.h"

#include "base/limits.h"
#include "engine/index/vector_value.h"

namespace holdfast::ops {
namespace {

using engine::IndexSchema;
using engine::KeyAttribute;
using engine::KeyFault;
using engine::TableSchema;
using value::MapView;

Error NotFound() {
  return Error(ErrorCode::kResourceNotFound, "Requested resource not found");
}

Error SchemaMismatch() {
  return ValidationError("The provided key element does not match the schema");
}

Error EmptyKey(const KeyAttribute& attribute) {
  std::string_view what = attribute.type == value::Type::kString ? "string" : "binary";
  return ValidationError(
      "One or more parameter values are not valid. The AttributeValue for a key attribute cannot "
      "contain an empty " +
      std::string(what) + " value. Key: " + attribute.name);
}

Error KeyTooLong(bool is_partition) {
  return ValidationError(
      std::string("One or more parameter values were invalid: ") +
      (is_partition ? "Size of hashkey has exceeded the maximum size limit of2048 bytes"
                    : "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"));
}

// What an update came to for an index key, known only once it was carried out.
Error UnfitUpdate(std::string_view how) {
  return ValidationError("The update expression attempted to update the secondary index key " +
                         std::string(how));
}

size_t BytesMax(bool is_partition) {
  return is_partition ? limits::kPartitionKeyBytesMax : limits::kSortKeyBytesMax;
}

// Calls `check(attribute, is_partition)` for each key attribute of the table.
template <class Check>
Status ForEachKey(const TableSchema& schema, const Check& check) {
  HF_CHECK_OK(check(schema.partition, true));
  if (schema.sort) HF_CHECK_OK(check(*schema.sort, false));
  return Ok{};
}

}  // namespace

std::string TableNameOf(const std::string& name_or_arn) {
  if (!name_or_arn.starts_with("arn:")) return name_or_arn;
  size_t slash = name_or_arn.find(":table/");
  return slash == std::string::npos ? name_or_arn : name_or_arn.substr(slash + 7);
}

std::string TableArn(Context& context, const std::string& table) {
  const Options& options = context.engine->options();
  return "arn:aws:dynamodb:" + options.region + ":" + options.account + ":table/" + table;
}

Status CheckOwner(Context& context, const std::string& name_or_arn) {
  if (!name_or_arn.starts_with("arn:") || name_or_arn.starts_with(TableArn(context, ""))) return Ok{};
  if (name_or_arn.find(":table/") == std::string::npos) return Ok{};  // it names nothing
  return Error(ErrorCode::kAccessDenied,
               "User: arn:aws:iam::" + context.engine->options().account +
                   ":root is not authorized to perform this action on resource: " + name_or_arn);
}

Result<TableRef> OpenForItems(Context& context, const std::string& name_or_arn) {
  bool is_arn = name_or_arn.starts_with("arn:");
  if (is_arn) HF_CHECK_OK(CheckOwner(context, name_or_arn));
  engine::TablePtr table = context.engine->catalog().Find(is_arn ? TableNameOf(name_or_arn) : name_or_arn);
  if (table == nullptr) return NotFound();
  if (context.table == nullptr) context.table = table;
  TableRef ref{table, table->schema()};
  if (ref.schema->status == TableStatus::kCreating || ref.schema->status == TableStatus::kDeleting)
    return NotFound();
  return ref;
}

Result<TableRef> OpenForTable(Context& context, const std::string& name_or_arn) {
  HF_CHECK_OK(CheckOwner(context, name_or_arn));
  std::string name = TableNameOf(name_or_arn);
  engine::TablePtr table = context.engine->catalog().Find(name);
  if (table == nullptr) {
    return Error(ErrorCode::kResourceNotFound, "Requested resource not found: Table: " + name + " not found");
  }
  if (context.table == nullptr) context.table = table;
  return TableRef{table, table->schema()};
}

Status CheckSettled(const TableSchema& table) {
  if (table.status != TableStatus::kCreating && table.status != TableStatus::kDeleting) return Ok{};
  return Error(ErrorCode::kResourceInUse,
               "Attempt to change a resource which is still in use: Table is being " +
                   std::string(table.status == TableStatus::kCreating ? "created: " : "deleted: ") +
                   table.name);
}

Result<std::string> KeyFromParameter(const TableSchema& schema, const Item& key, bool* empty_value) {
  MapView attributes(key);
  if (attributes.size() != (schema.sort ? 2u : 1u)) return SchemaMismatch();
  ByteView payloads[2];
  HF_CHECK_OK(ForEachKey(schema, [&](const KeyAttribute& attribute, bool is_partition) -> Status {
    auto value = attributes.Find(attribute.name);
    if (!value) return SchemaMismatch();
    switch (CheckKeyValue(attribute, *value, BytesMax(is_partition))) {
      case KeyFault::kNone: break;
      case KeyFault::kWrongType: return SchemaMismatch();
      case KeyFault::kEmpty:
        if (empty_value != nullptr) *empty_value = true;
        return EmptyKey(attribute);
      case KeyFault::kTooLong: return KeyTooLong(is_partition);
    }
    payloads[is_partition ? 0 : 1] = value->payload();
    return Ok{};
  }));
  return ItemKey(schema, payloads[0], schema.sort ? std::optional(payloads[1]) : std::nullopt);
}

Result<std::string> KeyFromItem(const TableSchema& schema, const Item& item, bool* empty_value) {
  MapView attributes(item);
  ByteView payloads[2];
  HF_CHECK_OK(ForEachKey(schema, [&](const KeyAttribute& attribute, bool is_partition) -> Status {
    auto value = attributes.Find(attribute.name);
    if (!value) {
      return ValidationError("One or more parameter values were invalid: Missing the key " + attribute.name +
                             " in the item");
    }
    switch (CheckKeyValue(attribute, *value, BytesMax(is_partition))) {
      case KeyFault::kNone: break;
      case KeyFault::kWrongType:
        return ValidationError("One or more parameter values were invalid: Type mismatch for key " +
                               attribute.name + " expected: " + std::string(value::TypeName(attribute.type)) +
                               " actual: " + std::string(value::TypeName(value->type())));
      case KeyFault::kEmpty:
        if (empty_value != nullptr) *empty_value = true;
        return EmptyKey(attribute);
      case KeyFault::kTooLong: return KeyTooLong(is_partition);
    }
    payloads[is_partition ? 0 : 1] = value->payload();
    return Ok{};
  }));
  return ItemKey(schema, payloads[0], schema.sort ? std::optional(payloads[1]) : std::nullopt);
}

Status CheckKeyOperand(const KeyAttribute& partition, value::ValueView value) {
  switch (CheckKeyValue(partition, value, BytesMax(/*is_partition=*/true))) {
    case KeyFault::kEmpty: return EmptyKey(partition);
    case KeyFault::kTooLong: return KeyTooLong(/*is_partition=*/true);
    default: return Ok{};
  }
}

Error IndexKeyMismatch(const KeyAttribute& attribute, value::Type actual, const std::string& index) {
  return ValidationError("One or more parameter values were invalid: Type mismatch for Index Key " +
                         attribute.name + " Expected: " + std::string(value::TypeName(attribute.type)) +
                         " Actual: " + std::string(value::TypeName(actual)) + " IndexName: " + index);
}

namespace {

// The filters and the vector of one index, as far as the item carries them.
Status CheckVectorAttributes(const IndexSchema& index, MapView item) {
  for (const KeyAttribute& filter : index.vector->filters) {
    auto value = item.Find(filter.name);
    if (value && value->type() != filter.type) return IndexKeyMismatch(filter, value->type(), index.name);
  }
  const std::string& attribute = index.vector->attribute;
  auto value = item.Find(attribute);
  if (!value) return Ok{};
  using Kind = engine::VectorFault::Kind;
  engine::VectorFault fault = engine::CheckVector(*value, index.vector->dimensions);
  std::string text = "One or more parameter values were invalid. Invalid ";
  switch (fault.kind) {
    case Kind::kNone: return Ok{};
    case Kind::kNotAList:
      text += "type for parameter " + attribute + ", Expected: 32-bit floating point number list";
      break;
    case Kind::kWrongSize:
      text += "size for parameter " + attribute + ", Expected: " + std::to_string(index.vector->dimensions) +
              ", Actual: " + std::to_string(fault.size);
      break;
    case Kind::kNotANumber:
      text +=
          "type for parameter " + attribute + "[" + std::to_string(fault.position) +
          "], Expected: 32-bit floating point number, Actual: " + std::string(value::TypeName(fault.type)) +
          ".";
      break;
  }
  return ValidationError(text + " IndexName: " + index.name);
}

}  // namespace

Status CheckIndexKeys(const TableSchema& schema, MapView item, IndexKeyCheck check, bool* empty_value) {
  for (const IndexSchema& index : schema.indexes) {
    for (bool is_partition : {true, false}) {
      for (const KeyAttribute& attribute : is_partition ? index.partition : index.sort) {
        auto value = item.Find(attribute.name);
        if (!value) continue;
        switch (CheckKeyValue(attribute, *value, BytesMax(is_partition))) {
          case KeyFault::kNone: break;
          case KeyFault::kWrongType:
            if (check == IndexKeyCheck::kUpdate) return UnfitUpdate("to unsupported type");
            return IndexKeyMismatch(attribute, value->type(), index.name);
          case KeyFault::kEmpty: {
            if (empty_value != nullptr) *empty_value = true;
            std::string what = attribute.type == value::Type::kString ? "string" : "binary";
            if (check == IndexKeyCheck::kUpdate) {
              return ValidationError(
                  "One or more parameter values are not valid. The update expression attempted to "
                  "update a secondary index key to a value that is not supported. The "
                  "AttributeValue for a key attribute cannot contain an empty " +
                  what + " value.");
            }
            return ValidationError(
                "One or more parameter values are not valid. A value specified for a secondary "
                "index key is not supported. The AttributeValue for a key attribute cannot contain "
                "an empty " +
                what + " value. IndexName: " + index.name + ", IndexKey: " + attribute.name);
          }
          case KeyFault::kTooLong:
            if (check == IndexKeyCheck::kUpdate) return UnfitUpdate("beyond allowed size limits");
            return KeyTooLong(is_partition);
        }
      }
    }
    if (index.vector) HF_CHECK_OK(CheckVectorAttributes(index, item));
  }
  return Ok{};
}

Status CheckKeyPath(const TableSchema& schema, std::string_view attribute, bool nested) {
  if (!nested) return Ok{};
  std::string message =
      "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: ";
  if (attribute == schema.partition.name || (schema.sort && attribute == schema.sort->name)) {
    return ValidationError(message + "Key: " + std::string(attribute));
  }
  for (const IndexSchema& index : schema.indexes) {
    for (const auto* keys : {&index.partition, &index.sort}) {
      for (const KeyAttribute& key : *keys) {
        if (key.name == attribute) return ValidationError(message + "IndexKey: " + std::string(attribute));
      }
    }
  }
  return Ok{};
}

}  // namespace holdfast::ops
