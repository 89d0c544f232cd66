// Base64 as the DynamoDB protocol uses it, the standard alphabet with padding, and as URLs and tokens do:
// another alphabet without.
#pragma once

#include <string>

#include "base/bytes.h"

namespace holdfast::base {

void AppendBase64(ByteView bytes, std::string* out);
inline std::string Base64(ByteView bytes) {
  std::string text;
  AppendBase64(bytes, &text);
  return text;
}

// Appends the decoded bytes. Returns false, leaving `*out` alone, unless `text` is exactly what AppendBase64
// gives: length a multiple of four, no stray characters, no bits beyond the last byte.
bool DecodeBase64(std::string_view text, std::string* out);

// RFC 4648, section 5: '-' and '_' instead of '+' and '/', without padding. Decoding is as strict.
std::string Base64Url(ByteView bytes);
bool DecodeBase64Url(std::string_view text, std::string* out);

}  // namespace holdfast::base
