// Frames of a client: however their bytes are cut into pieces, they mean the same messages, within the bound.
#include "tests/fuzz/fuzz.h"
#include "wire/websocket_testing.h"

FUZZ(bytes) {
  using holdfast::wire::testing::FeedFrames;
  constexpr size_t kMessageMax = 300;
  std::string_view stream = bytes;
  PieceSizes sizes{TakeLine(&stream)};
  std::string in_pieces = FeedFrames(stream, kMessageMax, sizes);
  HF_ASSERT(in_pieces == FeedFrames(stream, kMessageMax, [&] { return stream.size(); }));

  // What the server writes is what a client would read.
  std::string_view payload = stream.substr(0, kMessageMax);
  std::string frame = holdfast::wire::testing::ClientFrame(holdfast::wire::Opcode::kBinary, payload);
  HF_ASSERT(FeedFrames(frame, kMessageMax, [] { return 7; }) == "binary(" + std::string(payload) + ")");
}
