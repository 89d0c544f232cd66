// Values as people write JSON: {"name": "Ann", "age": 41}, without the types that DynamoDB's own form spells
// out.
//
// Numbers keep all their digits. Bytes and sets have no plain form of their own: bytes are written as Base64
// text, sets as lists.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "holdfast/value.h"
#include "value/flat.h"

namespace holdfast::json {

void AppendPlain(value::ValueView value, std::string* out);
void AppendPlainItem(value::MapView item, std::string* out);

// Fails with a ValidationException that says where. Depth and number of digits are bounded as for items.
Result<Item> ReadPlainItem(std::string_view text);
Result<AttributeValue> ReadPlainValue(std::string_view text);

}  // namespace holdfast::json
