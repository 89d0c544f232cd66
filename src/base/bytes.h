// Small byte helpers shared by the codecs: big-endian integers for keys, varints for lengths.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace holdfast {

// Bytes somebody else owns. Never outlives the call it is passed to unless a comment names the owner.
using ByteView = std::string_view;

namespace base {

inline void AppendBigEndian(std::string* out, uint64_t value, int width) {
  char buffer[8];
  for (int i = 0; i < width; ++i) buffer[i] = static_cast<char>(value >> (8 * (width - 1 - i)));
  out->append(buffer, static_cast<size_t>(width));
}

// Requires: bytes.size() >= width.
inline uint64_t ReadBigEndian(ByteView bytes, int width) {
  uint64_t value = 0;
  for (int i = 0; i < width; ++i) value = value << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
  return value;
}

inline size_t VarintSize(uint64_t value) {
  size_t size = 1;
  while (value >= 0x80) value >>= 7, ++size;
  return size;
}

// Returns the byte after the written varint. Requires room for VarintSize(value) bytes.
inline char* WriteVarint(char* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

inline void AppendVarint(std::string* out, uint64_t value) {
  char buffer[10];
  out->append(buffer, static_cast<size_t>(WriteVarint(buffer, value) - buffer));
}

// Reads a varint from the front of `*bytes` and removes it. Returns false when it is cut off or too long.
inline bool ReadVarint(ByteView* bytes, uint64_t* value) {
  uint64_t result = 0;
  for (size_t i = 0; i < bytes->size() && i < 10; ++i) {
    uint8_t byte = static_cast<uint8_t>((*bytes)[i]);
    result |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes->remove_prefix(i + 1);
      *value = result;
      return true;
    }
  }
  return false;
}

}  // namespace base
}  // namespace holdfast
