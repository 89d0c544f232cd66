// DynamoDB JSON in: {"name":{"S":"text"},…} to the flat form.
//
// Two kinds of wrong are kept apart. JSON that has not the shape of an attribute value is a
// SerializationException and ends the reading of the whole request. A value of the right shape that DynamoDB
// does not accept (an empty set, a text that is no number) is kept with the item as its defect: the operation
// reports it when its turn comes.
#pragma once

#include <optional>
#include <string_view>

#include <simdjson.h>

#include "holdfast/result.h"
#include "holdfast/value.h"
#include "value/flat.h"

namespace holdfast::json {

using Element = simdjson::dom::element;

// The Java-flavoured texts of AWS's own decoder.
Error WrongJsonType(const Element& element, std::string_view java_type);
Error SerializationError(std::string message);

Result<Item> ReadItem(const Element& element);
// The same for ExpressionAttributeValues, whose defects name the key.
Result<Item> ReadExpressionValues(const Element& element);

}  // namespace holdfast::json
