// The words that an attribute name in an expression may not be, in any case.
#pragma once

#include <string_view>

namespace holdfast::expression {

bool IsReservedWord(std::string_view name);

}  // namespace holdfast::expression
