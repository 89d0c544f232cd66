// What the tests of WebSockets share: frames as a client writes them, and a stream of them as text that can
// be compared.
#pragma once

#include <string>
#include <string_view>

#include "net/frame.h"

namespace holdfast::net::testing {

// A frame of a client. `fin` false: the message goes on in another frame.
inline std::string ClientFrame(Opcode opcode, std::string_view payload, bool fin = true) {
  std::string frame;
  AppendMaskedFrame(opcode, payload, 0x805afe11, &frame);
  if (!fin) frame[0] = static_cast<char>(frame[0] & 0x7f);
  return frame;
}

// What the stream says, fed in pieces of next_step() bytes: "text(hi) ping() broken 1002".
template <class NextStep>
std::string FeedFrames(std::string_view stream, size_t message_bytes_max, const NextStep& next_step,
                       Side from = Side::kClient) {
  using Event = FrameParser::Event;
  static constexpr std::string_view kNames[] = {"more", "text", "binary", "ping", "pong", "close", "broken"};
  FrameParser parser(from, message_bytes_max);
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

}  // namespace holdfast::net::testing
