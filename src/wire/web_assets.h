// The files of the page that a browser gets, compiled into the program from web/.
#pragma once

#include <span>
#include <string_view>

namespace holdfast::wire {

struct EmbeddedFile {
  std::string_view path;  // as requested: "/", "/web/app.js"
  std::string_view content_type;
  std::string_view bytes;
  std::string_view etag;  // in its quotes; the same bytes have the same one
};

// The page needs no inline script or style, so it is served under this policy.
inline constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

std::span<const EmbeddedFile> WebAssets();

// nullptr when there is no such file.
inline const EmbeddedFile* FindWebAsset(std::string_view path) {
  for (const EmbeddedFile& file : WebAssets()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

}  // namespace holdfast::wire
