// A text of a stranger's as messages show it.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::base {

// `text`, or the beginning of one that is longer than limits::kShownBytesMax (and of `bytes_max`), with "..."
// where it was cut, never within a character. A closing quote stays.
std::string Shown(std::string_view text);
std::string Shown(std::string_view text, size_t bytes_max);

}  // namespace holdfast::base
