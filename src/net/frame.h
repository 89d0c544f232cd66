// WebSocket (RFC 6455): frames out of and into a stream of bytes, for either side.
//
//   FrameParser parser(Side::kClient, kMessageBytesMax);  // reads what clients send
//   while ((event = parser.Next(&bytes)) != FrameParser::Event::kMore) …
//
// Strict: frames of clients must be masked and those of servers must not, lengths as short as they can be,
// texts UTF-8. No extensions. What breaks a rule ends the stream with the close code that the RFC gives it.
//
// Thread safety: one thread for each parser.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::net {

// --- close codes ---
inline constexpr uint16_t kCloseNormal = 1000;
inline constexpr uint16_t kCloseGoingAway = 1001;
inline constexpr uint16_t kCloseProtocolError = 1002;
inline constexpr uint16_t kCloseUnsupported = 1003;
inline constexpr uint16_t kCloseNoCode = 1005;  // stands for a close frame without one; never sent
inline constexpr uint16_t kCloseNotText = 1007;
inline constexpr uint16_t kClosePolicy = 1008;
inline constexpr uint16_t kCloseTooLarge = 1009;
inline constexpr uint16_t kCloseInternal = 1011;
inline constexpr uint16_t kCloseTryLater = 1013;

inline constexpr size_t kMessageBytesMax = 1 << 20;

enum class Opcode : uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

// Who sent a frame.
enum class Side : uint8_t { kServer, kClient };

class FrameParser {
 public:
  enum class Event : uint8_t {
    kMore,    // all bytes are taken, and nothing is complete yet
    kText,    // payload() is a whole message, whatever the number of its frames
    kBinary,  // likewise
    kPing,    // payload() goes into the pong
    kPong,
    kClose,   // close_code() and payload() are the peer's code and reason
    kBroken,  // close_code() says why; nothing more can be read
  };

  FrameParser(Side from, size_t message_bytes_max) : from_(from), message_bytes_max_(message_bytes_max) {}

  // Takes bytes off the front of `*bytes` until something is complete. After kClose and kBroken it must not
  // be called again.
  Event Next(std::string_view* bytes);
  // Of the last event, until the next call.
  std::string_view payload() const { return payload_; }
  uint16_t close_code() const { return close_code_; }
  // What an unfinished message holds in memory.
  size_t held_bytes() const { return message_.capacity(); }

 private:
  Event Broken(uint16_t code) {
    close_code_ = code;
    return Event::kBroken;
  }
  Event BeginFrame();
  Event EndFrame();
  Event EndControl(Opcode opcode);

  const Side from_;
  const size_t message_bytes_max_;
  std::string head_;     // of the frame under way: 2 to 14 bytes
  bool in_head_ = true;  // it is not complete yet
  uint64_t left_ = 0;    // of its payload
  uint32_t mask_ = 0;    // as it stands in memory; of the next byte of the payload first
  std::string control_;
  std::string message_;
  Opcode message_opcode_ = Opcode::kContinuation;  // of the message under way; kContinuation: there is none
  std::string_view payload_;
  uint16_t close_code_ = 0;
};

// A frame of the server, whole, ready to be sent to one peer or to many.
using Frame = std::shared_ptr<const std::string>;
std::string EncodeFrame(Opcode opcode, std::string_view payload);
inline Frame TextFrame(std::string_view text) {
  return std::make_shared<const std::string>(EncodeFrame(Opcode::kText, text));
}
// The same for a text that was written behind kFrameRoom bytes, without a copy of it.
inline constexpr size_t kFrameRoom = 4;
Frame TakeTextFrame(std::string text);
// The reason is cut to what a control frame holds.
std::string EncodeClose(uint16_t code, std::string_view reason);

// A frame of a client, behind what `out` holds. The mask is random: a new one for each frame.
void AppendMaskedFrame(Opcode opcode, std::string_view payload, uint32_t mask, std::string* out);

// Sec-WebSocket-Accept for Sec-WebSocket-Key: how a server shows that it understood the handshake.
std::string AcceptKey(std::string_view key);

}  // namespace holdfast::net
