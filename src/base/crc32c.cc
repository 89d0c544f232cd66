#include "base/crc32c.h"

#include <array>
#include <cstring>

namespace holdfast::base {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // reversed

using Table = std::array<uint32_t, 256>;
constexpr Table MakeTable() {
  Table table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

uint32_t ByTable(uint32_t crc, ByteView bytes) {
  static constexpr Table kTable = MakeTable();
  for (char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t ByInstruction(uint32_t crc, ByteView bytes) {
  uint64_t wide = crc;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (char byte : bytes) crc = __builtin_ia32_crc32qi(crc, static_cast<uint8_t>(byte));
  return crc;
}
#endif

}  // namespace

uint32_t Crc32c(uint32_t before, ByteView bytes) {
#if defined(__x86_64__)
  static const bool kHasInstruction = __builtin_cpu_supports("sse4.2");
  if (kHasInstruction) return ~ByInstruction(~before, bytes);
#endif
  return ~ByTable(~before, bytes);
}

}  // namespace holdfast::base
