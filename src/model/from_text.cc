#include "model/from_text.h"

#include "base/base64.h"
#include "json/plain.h"

namespace holdfast::model {
namespace {

using Type = AttributeValue::Type;

bool IsText(Kind kind) {
  return kind == Kind::kString || kind == Kind::kUuid || kind == Kind::kUlid || kind == Kind::kInstant ||
         kind == Kind::kDate;
}

}  // namespace

AttributeValue FromJson(const Attribute* attribute, AttributeValue value) {
  Kind kind = attribute == nullptr ? Kind::kAny : attribute->kind;
  if (kind == Kind::kBinary && value.type() == Type::kString) {
    std::string bytes;
    return base::DecodeBase64(value.AsText(), &bytes) ? AttributeValue::Binary(std::move(bytes)) : value;
  }
  bool is_set = kind == Kind::kStringSet || kind == Kind::kNumberSet;
  if (!is_set || value.type() != Type::kList) return value;
  Type wanted = kind == Kind::kStringSet ? Type::kString : Type::kNumber;
  std::vector<std::string> members;
  for (const AttributeValue& element : value.AsList()) {
    if (element.type() != wanted) return value;
    members.push_back(element.AsText());
  }
  return kind == Kind::kStringSet ? AttributeValue::StringSet(std::move(members))
                                  : AttributeValue::NumberSet(std::move(members));
}

void FromJson(const std::vector<Attribute>& declared, Item* item) {
  for (const Attribute& attribute : declared) {
    bool differs = attribute.kind == Kind::kStringSet || attribute.kind == Kind::kNumberSet ||
                   attribute.kind == Kind::kBinary;
    if (!differs) continue;
    if (auto value = item->Get(attribute.name)) item->Set(attribute.name, FromJson(&attribute, *value));
  }
}

AttributeValue FromText(const Attribute* attribute, std::string_view text) {
  Kind kind = attribute == nullptr ? Kind::kString : attribute->kind;
  // A secret that happens to be a number is a text all the same.
  if (IsText(kind) || (kind == Kind::kEncrypted && !text.starts_with('{'))) return text;
  if (kind == Kind::kBinary) return FromJson(attribute, text);
  Result<AttributeValue> json = json::ReadPlainValue(text);
  return json ? FromJson(attribute, *std::move(json)) : AttributeValue(text);
}

}  // namespace holdfast::model
