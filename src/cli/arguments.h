// Attributes and parameters as people write them on a command line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "holdfast/value.h"
#include "model/model.h"

namespace holdfast::cli {

// What the model says of a name; null: nothing.
using Declared = std::function<const model::Attribute*(std::string_view name)>;

// name=value, name:=json; for a whole object its JSON, @file.json or - (standard input). What comes later
// wins.
Result<AttributeMap> ReadFields(const std::vector<std::string>& words, const Declared& declared);
// --name value or --name=value.
Result<AttributeMap> ReadParameters(const std::vector<std::string>& words, const Declared& declared);

}  // namespace holdfast::cli
