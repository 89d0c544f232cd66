// What the tests of WebSockets share: frames as a client writes them, and a stream of them as text that can
// be compared.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "wire/websocket.h"

namespace holdfast::wire::testing {

// A frame of a client: what EncodeFrame gives, masked. `fin` false: the message goes on in another frame.
inline std::string ClientFrame(Opcode opcode, std::string_view payload, bool fin = true) {
  constexpr std::string_view kMask = "\x11\xfe\x5a\x80";
  std::string frame = EncodeFrame(opcode, payload);
  if (!fin) frame[0] = static_cast<char>(frame[0] & 0x7f);
  frame[1] = static_cast<char>(frame[1] | 0x80);
  size_t head = frame.size() - payload.size();
  frame.insert(head, kMask);
  for (size_t i = 0; i < payload.size(); ++i) frame[head + 4 + i] ^= kMask[i % 4];
  return frame;
}

// What the stream says, fed in pieces of next_step() bytes: "text(hi) ping() broken 1002".
template <class NextStep>
std::string FeedFrames(std::string_view stream, size_t message_bytes_max, const NextStep& next_step) {
  using Event = FrameParser::Event;
  static constexpr std::string_view kNames[] = {"more", "text", "binary", "ping", "pong", "close", "broken"};
  FrameParser parser(message_bytes_max);
  std::string all;
  while (!stream.empty()) {
    std::string piece(stream.substr(0, next_step()));
    stream.remove_prefix(piece.size());
    std::string_view bytes = piece;
    for (Event event; (event = parser.Next(&bytes)) != Event::kMore;) {
      if (!all.empty()) all += " ";
      all += kNames[static_cast<size_t>(event)];
      if (event != Event::kBroken) all += "(" + std::string(parser.payload()) + ")";
      if (event == Event::kClose || event == Event::kBroken)
        return all + " " + std::to_string(parser.close_code());
    }
  }
  return all;
}

}  // namespace holdfast::wire::testing
