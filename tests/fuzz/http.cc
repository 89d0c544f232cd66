// A stream of bytes: however it is cut into pieces, it means the same requests.
#include "tests/fuzz/fuzz.h"
#include "wire/testing.h"

FUZZ(bytes) {
  using holdfast::wire::testing::Feed;
  constexpr size_t kBodyMax = 64;
  std::string_view stream = bytes;
  std::string_view steps = TakeLine(&stream);  // the first line says how large the pieces are
  size_t next = 0;
  std::string in_pieces = Feed(stream, kBodyMax, [&]() -> size_t {
    if (steps.empty()) return 1;
    return static_cast<uint8_t>(steps[next++ % steps.size()]) % 32 + 1;
  });
  HF_ASSERT(in_pieces == Feed(stream, kBodyMax, [&] { return stream.size(); }));
}
