// Frames of a client: however their bytes are cut into pieces, they mean the same messages, within the bound.
#include "net/frame_testing.h"
#include "tests/fuzz/fuzz.h"

FUZZ(bytes) {
  using holdfast::net::testing::FeedFrames;
  constexpr size_t kMessageMax = 300;
  std::string_view stream = bytes;
  PieceSizes sizes{TakeLine(&stream)};
  std::string in_pieces = FeedFrames(stream, kMessageMax, sizes);
  HF_ASSERT(in_pieces == FeedFrames(stream, kMessageMax, [&] { return stream.size(); }));

  // What one side writes is what the other reads.
  using holdfast::net::Opcode;
  std::string_view payload = stream.substr(0, kMessageMax);
  std::string meant = "binary(" + std::string(payload) + ")";
  auto step = [] { return 7; };
  std::string masked = holdfast::net::testing::ClientFrame(Opcode::kBinary, payload);
  HF_ASSERT(FeedFrames(masked, kMessageMax, step) == meant);
  std::string plain = holdfast::net::EncodeFrame(Opcode::kBinary, payload);
  HF_ASSERT(FeedFrames(plain, kMessageMax, step, holdfast::net::Side::kServer) == meant);
}
