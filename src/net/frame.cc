#include "net/frame.h"

#include <openssl/sha.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/base64.h"
#include "base/bytes.h"

namespace holdfast::net {
namespace {

constexpr size_t kControlBytesMax = 125;
constexpr size_t kKeptBytesMax = 64 << 10;  // of memory, from one message to the next
constexpr uint8_t kFin = 0x80, kReserved = 0x70, kMasked = 0x80;

bool IsUtf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

bool IsControl(Opcode opcode) {
  return opcode >= Opcode::kClose;
}

// What a peer may give as the reason of its close: not the codes that only stand for something.
bool IsCloseCode(uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

// How long the head of a frame is, from its second byte.
size_t HeadSize(uint8_t second) {
  size_t length = second & 0x7f;
  return 2 + (length == 126 ? 2 : length == 127 ? 8 : 0) + ((second & kMasked) != 0 ? 4 : 0);
}

// Masks or unmasks in place. Returns the mask for the bytes that follow.
uint32_t Mask(char* bytes, size_t size, uint32_t mask) {
  uint64_t wide = uint64_t{mask} << 32 | mask;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, 8);
    word ^= wide;
    std::memcpy(bytes, &word, 8);
  }
  char each[4];
  std::memcpy(each, &mask, 4);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(bytes[i] ^ each[i % 4]);
  std::rotate(each, each + size % 4, each + 4);
  std::memcpy(&mask, each, 4);
  return mask;
}

void AppendHead(Opcode opcode, size_t size, uint8_t masked, std::string* out) {
  out->push_back(static_cast<char>(kFin | static_cast<uint8_t>(opcode)));
  size_t length = size < 126 ? size : size <= 0xffff ? 126 : 127;
  out->push_back(static_cast<char>(masked | length));
  if (length > 125) base::AppendBigEndian(out, size, length == 126 ? 2 : 8);
}

}  // namespace

FrameParser::Event FrameParser::Next(std::string_view* bytes) {
  payload_ = {};
  if (message_opcode_ == Opcode::kContinuation && message_.capacity() > kKeptBytesMax)
    std::string().swap(message_);
  while (true) {
    if (in_head_) {
      while (head_.size() < 2 || head_.size() < HeadSize(static_cast<uint8_t>(head_[1]))) {
        if (bytes->empty()) return Event::kMore;
        head_.push_back(bytes->front());
        bytes->remove_prefix(1);
      }
      if (BeginFrame() == Event::kBroken) return Event::kBroken;
    }
    auto opcode = static_cast<Opcode>(head_[0] & 0x0f);
    std::string& to = IsControl(opcode) ? control_ : message_;
    auto size = static_cast<size_t>(std::min<uint64_t>(left_, bytes->size()));
    to.append(*bytes, 0, size);
    if (from_ == Side::kClient) mask_ = Mask(to.data() + to.size() - size, size, mask_);
    bytes->remove_prefix(size);
    left_ -= size;
    if (left_ > 0) return Event::kMore;
    in_head_ = true;
    Event event = IsControl(opcode) ? EndControl(opcode) : EndFrame();
    head_.clear();
    if (event != Event::kMore) return event;
  }
}

// Judges the head, which is complete.
FrameParser::Event FrameParser::BeginFrame() {
  auto first = static_cast<uint8_t>(head_[0]), second = static_cast<uint8_t>(head_[1]);
  auto opcode = static_cast<Opcode>(first & 0x0f);
  bool known = opcode <= Opcode::kBinary || (opcode >= Opcode::kClose && opcode <= Opcode::kPong);
  bool masked = (second & kMasked) != 0;
  if ((first & kReserved) != 0 || !known || masked != (from_ == Side::kClient))
    return Broken(kCloseProtocolError);
  left_ = second & 0x7f;
  if (left_ == 126) {
    left_ = base::ReadBigEndian(std::string_view(head_).substr(2), 2);
    if (left_ < 126) return Broken(kCloseProtocolError);
  } else if (left_ == 127) {
    left_ = base::ReadBigEndian(std::string_view(head_).substr(2), 8);
    if (left_ <= 0xffff || left_ >> 63 != 0) return Broken(kCloseProtocolError);
  }
  if (IsControl(opcode)) {
    if ((first & kFin) == 0 || left_ > kControlBytesMax) return Broken(kCloseProtocolError);
    control_.clear();
  } else {
    bool continues = opcode == Opcode::kContinuation;
    if (continues != (message_opcode_ != Opcode::kContinuation)) return Broken(kCloseProtocolError);
    if (!continues) {
      message_opcode_ = opcode;
      message_.clear();
    }
    if (left_ > message_bytes_max_ - message_.size()) return Broken(kCloseTooLarge);
  }
  if (masked) std::memcpy(&mask_, head_.data() + head_.size() - 4, 4);
  in_head_ = false;
  return Event::kMore;
}

FrameParser::Event FrameParser::EndFrame() {
  if ((static_cast<uint8_t>(head_[0]) & kFin) == 0) return Event::kMore;
  Opcode opcode = std::exchange(message_opcode_, Opcode::kContinuation);
  payload_ = message_;
  if (opcode == Opcode::kBinary) return Event::kBinary;
  return IsUtf8(payload_) ? Event::kText : Broken(kCloseNotText);
}

FrameParser::Event FrameParser::EndControl(Opcode opcode) {
  payload_ = control_;
  if (opcode == Opcode::kPing) return Event::kPing;
  if (opcode == Opcode::kPong) return Event::kPong;
  close_code_ = kCloseNoCode;
  if (payload_.empty()) return Event::kClose;
  if (payload_.size() == 1) return Broken(kCloseProtocolError);
  close_code_ = static_cast<uint16_t>(base::ReadBigEndian(payload_, 2));
  payload_.remove_prefix(2);
  if (!IsCloseCode(close_code_)) return Broken(kCloseProtocolError);
  return IsUtf8(payload_) ? Event::kClose : Broken(kCloseNotText);
}

std::string EncodeFrame(Opcode opcode, std::string_view payload) {
  std::string frame;
  frame.reserve(payload.size() + 10);
  AppendHead(opcode, payload.size(), 0, &frame);
  return frame.append(payload);
}

Frame TakeTextFrame(std::string text) {
  std::string head;
  AppendHead(Opcode::kText, text.size() - kFrameRoom, 0, &head);
  text.replace(0, kFrameRoom, head);
  return std::make_shared<const std::string>(std::move(text));
}

void AppendMaskedFrame(Opcode opcode, std::string_view payload, uint32_t mask, std::string* out) {
  AppendHead(opcode, payload.size(), kMasked, out);
  out->append(reinterpret_cast<const char*>(&mask), sizeof mask);
  out->append(payload);
  Mask(out->data() + out->size() - payload.size(), payload.size(), mask);
}

std::string EncodeClose(uint16_t code, std::string_view reason) {
  std::string payload;
  if (code != kCloseNoCode) {
    base::AppendBigEndian(&payload, code, 2);
    reason = reason.substr(0, kControlBytesMax - 2);
    while (!IsUtf8(reason)) reason.remove_suffix(1);
    payload.append(reason);
  }
  return EncodeFrame(Opcode::kClose, payload);
}

std::string AcceptKey(std::string_view key) {
  std::string text(key);
  text.append("258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  unsigned char digest[SHA_DIGEST_LENGTH];
  ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return base::Base64({reinterpret_cast<const char*>(digest), sizeof digest});
}

}  // namespace holdfast::net
