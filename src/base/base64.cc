#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace holdfast::base {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kInvalid = 0xff;

constexpr std::array<uint8_t, 256> MakeReverse() {
  std::array<uint8_t, 256> reverse{};
  for (uint8_t& entry : reverse) entry = kInvalid;
  for (uint8_t i = 0; i < 64; ++i) reverse[static_cast<uint8_t>(kAlphabet[i])] = i;
  return reverse;
}
constexpr std::array<uint8_t, 256> kReverse = MakeReverse();

}  // namespace

void AppendBase64(ByteView bytes, std::string* out) {
  size_t start = out->size();
  out->resize(start + (bytes.size() + 2) / 3 * 4);
  char* to = out->data() + start;
  const auto* from = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  for (; left >= 3; left -= 3, from += 3) {
    uint32_t triple = static_cast<uint32_t>(from[0] << 16 | from[1] << 8 | from[2]);
    *to++ = kAlphabet[triple >> 18];
    *to++ = kAlphabet[triple >> 12 & 63];
    *to++ = kAlphabet[triple >> 6 & 63];
    *to++ = kAlphabet[triple & 63];
  }
  if (left == 0) return;
  uint32_t triple = static_cast<uint32_t>(from[0] << 16 | (left == 2 ? from[1] << 8 : 0));
  *to++ = kAlphabet[triple >> 18];
  *to++ = kAlphabet[triple >> 12 & 63];
  *to++ = left == 2 ? kAlphabet[triple >> 6 & 63] : '=';
  *to++ = '=';
}

bool DecodeBase64(std::string_view text, std::string* out) {
  if (text.size() % 4 != 0) return false;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  size_t start = out->size();
  out->resize(start + text.size() / 4 * 3 - padding);
  size_t at = start;
  for (size_t i = 0; i < text.size(); i += 4) {
    bool last = i + 4 == text.size();
    uint32_t bits = 0;
    size_t used = last ? 4 - padding : 4;
    for (size_t j = 0; j < used; ++j) {
      uint8_t digit = kReverse[static_cast<uint8_t>(text[i + j])];
      if (digit == kInvalid) return out->resize(start), false;
      bits |= static_cast<uint32_t>(digit) << (18 - 6 * j);
    }
    for (size_t j = 0; j + 1 < used; ++j) (*out)[at++] = static_cast<char>(bits >> (16 - 8 * j));
    // Bits past the last byte must be zero, or two texts would name one value.
    if (last && padding > 0 && (bits & ((1u << (8 * padding)) - 1)) != 0) return out->resize(start), false;
  }
  return true;
}

std::string Base64Url(ByteView bytes) {
  std::string text = Base64(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  while (text.ends_with('=')) text.pop_back();
  return text;
}

bool DecodeBase64Url(std::string_view text, std::string* out) {
  if (text.find_first_of("+/=") != std::string_view::npos) return false;
  std::string standard(text);
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  standard.append((4 - text.size() % 4) % 4, '=');
  return DecodeBase64(standard, out);
}

}  // namespace holdfast::base
