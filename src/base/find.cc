#include "base/find.h"

#include <algorithm>
#include <cstring>

namespace holdfast::base {
namespace {

struct Suffix {
  size_t begin;
  size_t period;
};

// The largest suffix of `text` in the order of bytes, or in the reverse one, and its period.
template <class Before>
Suffix LargestSuffix(ByteView text, const Before& before) {
  size_t best = 0, next = 1, length = 0, period = 1;
  while (next + length < text.size()) {
    auto a = static_cast<unsigned char>(text[next + length]);
    auto b = static_cast<unsigned char>(text[best + length]);
    if (a == b) {
      if (length + 1 == period) {
        next += period;
        length = 0;
      } else {
        ++length;
      }
    } else if (before(a, b)) {
      next += length + 1;
      length = 0;
      period = next - best;
    } else {
      best = next++;
      length = 0;
      period = 1;
    }
  }
  return {best, period};
}

// Two-way string matching (Crochemore and Perrin, 1991): `wanted` is cut where the largest suffix in one of
// the two orders begins. Its right part is compared forwards and gives shifts of as much as was compared; its
// left part is compared only when the right one fits. Two comparisons a byte at most, no memory.
bool ContainsTwoWay(ByteView text, ByteView wanted) {
  Suffix up = LargestSuffix(wanted, [](unsigned char a, unsigned char b) { return a < b; });
  Suffix down = LargestSuffix(wanted, [](unsigned char a, unsigned char b) { return a > b; });
  Suffix cut = up.begin > down.begin ? up : down;
  bool periodic = cut.begin + cut.period <= wanted.size() &&
                  std::memcmp(wanted.data(), wanted.data() + cut.period, cut.begin) == 0;
  size_t shift = periodic ? cut.period : std::max(cut.begin, wanted.size() - cut.begin) + 1;
  size_t known = 0;  // of a periodic one: so many of its first bytes are known to fit where it stands now
  for (size_t at = 0; at + wanted.size() <= text.size();) {
    size_t i = std::max(cut.begin, known);
    while (i < wanted.size() && wanted[i] == text[at + i]) ++i;
    if (i < wanted.size()) {
      at += i - cut.begin + 1;
      known = 0;
      continue;
    }
    size_t j = cut.begin;
    while (j > known && wanted[j - 1] == text[at + j - 1]) --j;
    if (j <= known) return true;
    at += shift;
    known = periodic ? wanted.size() - shift : 0;
  }
  return false;
}

}  // namespace

bool Contains(ByteView text, ByteView wanted) {
  if (wanted.empty()) return true;
  // Texts of people: the first byte is found fast, and what follows it decides at once. Not for ever, though.
  constexpr int kTries = 64;
  size_t at = 0;
  for (int i = 0; i < kTries; ++i) {
    if (text.size() - at < wanted.size()) return false;
    size_t places = text.size() - at - wanted.size() + 1;
    const void* found = std::memchr(text.data() + at, wanted[0], places);
    if (found == nullptr) return false;
    at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    if (std::memcmp(text.data() + at, wanted.data(), wanted.size()) == 0) return true;
    ++at;
  }
  return ContainsTwoWay(text.substr(at), wanted);
}

}  // namespace holdfast::base
