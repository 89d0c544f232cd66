// What a fuzz target is: a function over bytes that stops the program where a property does not hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"

#define FUZZ(bytes)                                                        \
  static void Fuzz(std::string_view bytes);                                \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size); \
  int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {           \
    Fuzz({reinterpret_cast<const char*>(data), size});                     \
    return 0;                                                              \
  }                                                                        \
  static void Fuzz(std::string_view bytes)

// The part of `*text` before the next line break, taken off its front.
inline std::string_view TakeLine(std::string_view* text) {
  size_t end = text->find('\n');
  std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

// The sizes of pieces that a line asks for: 1 to 32 for each of its bytes, over and over; 1 when it is empty.
struct PieceSizes {
  std::string_view line;
  mutable size_t next = 0;

  size_t operator()() const {
    return line.empty() ? 1 : static_cast<uint8_t>(line[next++ % line.size()]) % 32 + 1;
  }
};
