#include "base/random.h"

#include <cstdio>
#include <random>

namespace holdfast::base {

Random::Random() {
  std::random_device device;
  state_ = static_cast<uint64_t>(device()) << 32 | device();
}

// SplitMix64: passes BigCrush, one add and three multiplies, and any seed is a good seed.
uint64_t Random::Next() {
  MutexLock lock(&mu_);
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::string Random::Uuid() {
  uint64_t high = (Next() & ~0xf000ULL) | 0x4000;
  uint64_t low = (Next() & ~(3ULL << 62)) | 2ULL << 62;
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(high >> 32),
                static_cast<unsigned>(high >> 16 & 0xffff), static_cast<unsigned>(high & 0xffff),
                static_cast<unsigned>(low >> 48), static_cast<unsigned long long>(low & 0xffffffffffff));
  return text;
}

}  // namespace holdfast::base
