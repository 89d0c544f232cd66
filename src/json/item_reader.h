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

#include "holdfast/ops/search_vectors.h"
#include "holdfast/result.h"
#include "holdfast/value.h"
#include "value/flat.h"

namespace holdfast::json {

using Element = simdjson::dom::element;

// The Java-flavoured texts of AWS's own decoder.
Error WrongJsonType(const Element& element, std::string_view java_type);
Error SerializationError(std::string message);
// true and false may also come as words; AWS takes these.
Result<bool> ReadFlag(const Element& element);
// What AWS's decoder says of a scalar where a collection inside a collection belongs.
Error NestedCollectionExpected();

// Where a map stands decides how AWS words a wrong type.
enum class Place : uint8_t { kField, kElement };

Result<Item> ReadItem(const Element& element, Place place);
// The same for ExpressionAttributeValues, whose defects name the key.
Result<Item> ReadExpressionValues(const Element& element);
// One value, as an item that holds it under the empty name.
Result<Item> ReadSingleValue(const Element& element, Place place);

// [{"N":"0.1"},…], straight to floats. Anything else in the list makes the vector unsound.
Result<SearchVector> ReadSearchVector(const Element& element);

}  // namespace holdfast::json
