// Whether bytes stand within bytes, in time that grows with their sum, whatever they are:
// std::string_view::find takes the product for texts made to that end.
#pragma once

#include "base/bytes.h"

namespace holdfast::base {

bool Contains(ByteView text, ByteView wanted);

}  // namespace holdfast::base
