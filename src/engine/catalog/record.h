// Records of the catalog: items, read with defaults, so that a later version can add attributes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/fields.h"
#include "holdfast/result.h"
#include "holdfast/value.h"
#include "value/flat.h"

namespace holdfast::engine {

// Reads of a record written by this or an older version: what is missing, or of a type that was never
// written, keeps its default.
class CatalogRecord {
 public:
  // kCorruption, with `what` in its message, when the bytes are not an item.
  static Result<CatalogRecord> Read(std::string bytes, const std::string& what) {
    if (!value::IsWellFormedItem(bytes)) return Error(ErrorCode::kCorruption, what + " is damaged");
    return CatalogRecord(Item::FromFlat(std::move(bytes)).ToMap());
  }

  explicit CatalogRecord(AttributeMap attributes) : attributes_(std::move(attributes)) {}
  explicit CatalogRecord(const AttributeValue& value)
      : attributes_(value.type() == value::Type::kMap ? value.AsMap() : AttributeMap()) {}

  const AttributeValue* Find(std::string_view name) const {
    auto found = attributes_.find(name);
    return found == attributes_.end() ? nullptr : &found->second;
  }
  // Of an S or a B.
  std::string Text(std::string_view name) const {
    const AttributeValue* value = Find(name);
    bool fit =
        value != nullptr && (value->type() == value::Type::kString || value->type() == value::Type::kBinary);
    return fit ? value->AsText() : "";
  }
  int64_t Integer(std::string_view name) const {
    const AttributeValue* value = Find(name);
    return value == nullptr ? 0 : value->AsInt64().value_or(0);
  }
  uint64_t Unsigned(std::string_view name) const { return static_cast<uint64_t>(Integer(name)); }
  bool Flag(std::string_view name) const {
    const AttributeValue* value = Find(name);
    return value != nullptr && value->AsBool();
  }
  // Of one that is stored by its wire name.
  template <class E>
  E Enum(std::string_view name, E fallback) const {
    std::string text = Text(name);
    for (const auto& [value, known] : EnumNames<E>::kAll) {
      if (known == text) return value;
    }
    return fallback;
  }
  std::vector<AttributeValue> Elements(std::string_view name) const {
    const AttributeValue* value = Find(name);
    bool fit = value != nullptr && value->type() == value::Type::kList;
    return fit ? value->AsList() : std::vector<AttributeValue>();
  }

 private:
  AttributeMap attributes_;
};

}  // namespace holdfast::engine
