// SHA-256, and HMAC with it, which proves to whoever shares a secret that a text is unchanged.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::auth {

// 32 bytes each.
std::string Sha256(std::string_view text);
std::string HmacSha256(std::string_view key, std::string_view text);
// In lower case.
std::string Hex(std::string_view bytes);

}  // namespace holdfast::auth
