// HTTP/1.1 requests out of a stream of bytes: request line, headers, and a body of known length or in chunks.
//
// Strict where leniency has hurt others: one meaning for every message or none. A request with both a length
// and a transfer encoding, with two lengths or two hosts, with a folded header or with bare line feeds is
// refused.
//
//   HttpParser parser;
//   switch (parser.Parse(buffer, &consumed)) …   // call again with more bytes while it says kMore
//
// The views in request() point into the buffer that was last given, which must have kBodyPaddingBytes of room
// after its content. The parser joins the chunks of a body inside that buffer, so that no body is held twice.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::wire {

// Bytes that can be read after the end of every body, because the JSON parser does read them.
inline constexpr size_t kBodyPaddingBytes = 64;

struct Header {
  std::string_view name;   // as sent
  std::string_view value;  // without the blanks around it
};

struct HttpRequest {
  std::string_view method;
  std::string_view path;   // before '?'
  std::string_view query;  // after it
  std::vector<Header> headers;
  std::string_view body;
  bool keep_alive = true;

  // The first header of that name, compared without regard to case; null when there is none.
  const std::string_view* Find(std::string_view name) const;
  std::string_view Get(std::string_view name) const {
    const std::string_view* value = Find(name);
    return value == nullptr ? std::string_view() : *value;
  }
};

bool EqualsIgnoringCase(std::string_view a, std::string_view b);
// Whether a comma-separated header holds `token`, compared without regard to case.
bool HasToken(std::string_view list, std::string_view token);
// What a Content-Type names before its parameters.
std::string_view MediaType(std::string_view content_type);

class HttpParser {
 public:
  enum class Outcome : uint8_t {
    kMore,          // not enough bytes yet
    kContinue,      // the same, and the client waits for "100 Continue"
    kRequest,       // request() is complete; `*consumed` bytes are its own
    kBadRequest,    // 400, then close
    kTooLargeHead,  // 400, then close
    kTooLargeBody,  // 413, then close
    kNotSupported,  // 501, then close
  };

  explicit HttpParser(size_t body_bytes_max) : body_bytes_max_(body_bytes_max) {}

  // `bytes` starts where the last complete request ended, and between calls grows at its end. While the
  // chunks of a body come in, a call may write to `bytes` and make it shorter, by dropped_bytes().
  Outcome Parse(std::span<char> bytes, size_t* consumed);
  const HttpRequest& request() const { return request_; }
  // By how much the last call that returned kMore shortened `bytes`.
  size_t dropped_bytes() const { return dropped_bytes_; }
  // Total bytes the request is known to need; 0 when unknown.
  size_t expected_bytes() const { return state_ == State::kLengthBody ? head_size_ + content_length_ : 0; }
  // True once a request line has begun and the request is not complete.
  bool mid_request() const { return seen_ > 0; }
  void Reset();

 private:
  enum class State : uint8_t { kHead, kLengthBody, kChunkedBody };

  Outcome ParseHead(std::string_view bytes);
  Outcome ParseChunks(std::span<char> bytes, size_t* consumed);
  // One step of it; kRequest here means: there may be another.
  Outcome ParseChunk(std::span<char> bytes, size_t* consumed);
  Outcome ParseChunkLine(std::string_view rest, size_t* consumed);
  bool ParseRequestLine(std::string_view line);
  bool ParseHeaders(std::string_view lines);
  Outcome Frame();
  bool NamesOneHost() const;

  const size_t body_bytes_max_;
  State state_ = State::kHead;
  size_t seen_ = 0;  // bytes already searched for the end of the head
  size_t head_size_ = 0;
  size_t content_length_ = 0;
  // Of a chunked body: the bytes that are in place end at body_end_; what is still to be looked at begins at
  // chunk_at_.
  size_t body_end_ = 0;
  size_t chunk_at_ = 0;
  size_t chunk_left_ = 0;    // bytes of the present chunk that are still to come
  bool chunk_ends_ = false;  // its line end is still to come
  bool body_complete_ = false;
  size_t extension_bytes_ = 0;
  size_t dropped_bytes_ = 0;
  bool continue_sent_ = false;
  bool expects_continue_ = false;
  bool version_1_0_ = false;
  std::string_view authority_;  // of a target in absolute form
  HttpRequest request_;
  const char* base_ = nullptr;  // of the buffer that the views point into
};

}  // namespace holdfast::wire
