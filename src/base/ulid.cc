#include "base/ulid.h"

namespace holdfast::base {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

std::string Encode(uint64_t millis, uint16_t high, uint64_t low) {
  std::string text(26, '0');
  // 128 bits as 26 digits of 5, from the right; the first digit has 3.
  unsigned __int128 bits = static_cast<unsigned __int128>(millis << 16 | high) << 64 | low;
  for (size_t i = text.size(); i-- > 0; bits >>= 5) text[i] = kAlphabet[static_cast<size_t>(bits & 31)];
  return text;
}

}  // namespace

std::string UlidSource::Next() {
  int64_t now = clock_->NowMillis();
  MutexLock lock(&mu_);
  if (now > millis_) {
    millis_ = now;
    // The top bit stays free, so that counting up does not run over.
    high_ = static_cast<uint16_t>(random_->Next() & 0x7fff);
    low_ = random_->Next();
  } else if (++low_ == 0) {
    ++high_;
  }
  return Encode(static_cast<uint64_t>(millis_), high_, low_);
}

bool IsUlid(std::string_view text) {
  return text.size() == 26 && text[0] <= '7' && text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

}  // namespace holdfast::base
