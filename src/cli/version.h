#pragma once

#include <string_view>

namespace holdfast::cli {

inline constexpr std::string_view kVersion = HOLDFAST_VERSION;

}  // namespace holdfast::cli
