// A stream of bytes: however it is cut into pieces, it means the same requests.
#include "tests/fuzz/fuzz.h"
#include "wire/testing.h"

FUZZ(bytes) {
  using holdfast::wire::testing::Feed;
  constexpr size_t kBodyMax = 64;
  std::string_view stream = bytes;
  PieceSizes sizes{TakeLine(&stream)};
  std::string in_pieces = Feed(stream, kBodyMax, sizes);
  HF_ASSERT(in_pieces == Feed(stream, kBodyMax, [&] { return stream.size(); }));
}
