// The small notations inside a model file: attribute lines, computed values, sort key conditions.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "model/model.h"

namespace holdfast::model {

// Without the blanks around it.
std::string_view Trim(std::string_view text);
// "S! = P3 {P1|P2|…}" into kind, required, default and choices.
Status ParseAttributeLine(std::string_view line, Attribute* attribute);
// "30d", "24h", "15m", "60s"; in seconds.
Result<int64_t> ParseDuration(std::string_view text);
// "now() - 24h as date", "createdAt + 30d".
Result<Computed> ParseComputed(std::string_view text);
// "begins_with EVENT#", "between A#{from} and A#{to}", "A#{id}".
Result<SortCondition> ParseSortCondition(std::string_view text);
// A plain scalar as YAML understands it: true, 3.5, null, text.
AttributeValue ParsePlainScalar(const std::string& text);

}  // namespace holdfast::model
