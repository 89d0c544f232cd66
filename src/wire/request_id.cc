#include "wire/request_id.h"

#include "base/random.h"

namespace holdfast::wire {

std::string NewRequestId() {
  constexpr char kAlphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  thread_local base::Random random;
  std::string id(52, '0');
  uint64_t bits = 0;
  int left = 0;
  for (char& c : id) {
    if (left == 0) bits = random.Next(), left = 10;
    c = kAlphabet[bits % 36];
    bits /= 36;
    --left;
  }
  return id;
}

}  // namespace holdfast::wire
