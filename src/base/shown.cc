#include "base/shown.h"

#include "base/limits.h"

namespace holdfast::base {

std::string Shown(std::string_view text) {
  return Shown(text, limits::kShownBytesMax);
}

std::string Shown(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  std::string shown(text.substr(0, end));
  shown.append("...");
  if (text.front() == '\'' && text.back() == '\'') shown.push_back('\'');
  return shown;
}

}  // namespace holdfast::base
