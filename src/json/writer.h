// JSON out: straight into a string, no tree. Keys and values are written in the order of the calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "value/flat.h"

namespace holdfast::json {

// "…", escaped. The text is UTF-8 and stays so.
void AppendString(std::string_view text, std::string* out);
// The shortest decimal that reads back: 2, 0.5, 1794778283.466.
void AppendDouble(double value, std::string* out);
// The shortest decimal that reads back as this float: 0.4, 1.0.
void AppendFloat(float value, std::string* out);
void AppendInteger(int64_t value, std::string* out);

// DynamoDB's typed form: {"S":"text"}, {"N":"1"}, ….
void AppendValue(value::ValueView value, std::string* out);
// A list of numbers as an index gives back its vector: {"L":[{"N":"0.6"},{"N":"1.0"}]}.
void AppendVector(value::ValueView list, std::string* out);
// [{"N":"0.6"},{"N":"1.0"}]
void AppendVector(const std::vector<float>& values, std::string* out);
// {"name":{"S":"text"},…}. The attribute `vector`, if there is one, is written by AppendVector.
void AppendItem(value::MapView item, std::string* out, std::string_view vector = {});

}  // namespace holdfast::json
