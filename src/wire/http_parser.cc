#include "wire/http_parser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/limits.h"

namespace holdfast::wire {
namespace {

constexpr size_t kChunkLineBytesMax = 1024;
constexpr size_t kChunkExtensionBytesMax = 16 << 10;  // of a whole body

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// RFC 9110 token characters.
bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool IsFieldText(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
  });
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<size_t> ParseDecimal(std::string_view text) {
  if (text.empty() || text.size() > 15) return std::nullopt;
  size_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<size_t>(c - '0');
  }
  return value;
}

std::optional<size_t> ParseHex(std::string_view text) {
  if (text.empty() || text.size() > 8) return std::nullopt;
  size_t value = 0;
  for (char c : text) {
    c = Lower(c);
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<size_t>(digit);
  }
  return value;
}

// Calls visit(name, value) for each line; false when one is no header or visit says so.
template <class Visit>
bool VisitFields(std::string_view lines, const Visit& visit) {
  while (!lines.empty()) {
    size_t end = lines.find("\r\n");
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 2);
    if (line.empty()) continue;
    size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    std::string_view name = line.substr(0, colon);
    std::string_view value = Trim(line.substr(colon + 1));
    // A folded line starts with a blank and so has no token for a name.
    if (!IsToken(name) || !IsFieldText(value)) return false;
    visit(name, value);
  }
  return true;
}

}  // namespace

bool HasToken(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    if (EqualsIgnoringCase(Trim(one), token)) return true;
  }
  return false;
}

std::string_view MediaType(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type;
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return Lower(x) == Lower(y); });
}

const std::string_view* HttpRequest::Find(std::string_view name) const {
  for (const Header& header : headers) {
    if (EqualsIgnoringCase(header.name, name)) return &header.value;
  }
  return nullptr;
}

void HttpParser::Reset() {
  state_ = State::kHead;
  seen_ = head_size_ = content_length_ = 0;
  body_end_ = chunk_at_ = chunk_left_ = extension_bytes_ = dropped_bytes_ = 0;
  continue_sent_ = expects_continue_ = chunk_ends_ = body_complete_ = false;
  authority_ = {};
  request_.headers.clear();
  request_.body = {};
}

HttpParser::Outcome HttpParser::Parse(std::span<char> buffer, size_t* consumed) {
  std::string_view bytes(buffer.data(), buffer.size());
  dropped_bytes_ = 0;
  if (state_ == State::kHead) {
    Outcome outcome = ParseHead(bytes);
    if (outcome != Outcome::kRequest) return outcome;
  } else if (bytes.data() != base_) {
    // The buffer moved while the body was coming in: the views of the head move with it.
    bool keep_alive = request_.keep_alive;  // from the headers: the request line alone does not say
    request_.headers.clear();
    bool again = ParseRequestLine(bytes.substr(0, bytes.find("\r\n"))) &&
                 ParseHeaders(bytes.substr(0, head_size_ - 2).substr(bytes.find("\r\n") + 2));
    if (!again) return Outcome::kBadRequest;
    request_.keep_alive = keep_alive;
    base_ = bytes.data();
  }
  if (state_ == State::kChunkedBody) return ParseChunks(buffer, consumed);
  if (bytes.size() < head_size_ + content_length_) {
    if (expects_continue_ && !continue_sent_ && bytes.size() == head_size_) {
      continue_sent_ = true;
      return Outcome::kContinue;
    }
    return Outcome::kMore;
  }
  request_.body = bytes.substr(head_size_, content_length_);
  *consumed = head_size_ + content_length_;
  return Outcome::kRequest;
}

// kRequest here means: the head is complete and framed.
HttpParser::Outcome HttpParser::ParseHead(std::string_view bytes) {
  size_t from = seen_ < 3 ? 0 : seen_ - 3;
  size_t end = bytes.find("\r\n\r\n", from);
  seen_ = bytes.size();
  if (end == std::string_view::npos) {
    return bytes.size() > limits::kHttpHeaderBytesMax ? Outcome::kTooLargeHead : Outcome::kMore;
  }
  if (end + 4 > limits::kHttpHeaderBytesMax) return Outcome::kTooLargeHead;
  head_size_ = end + 4;
  size_t line_end = bytes.find("\r\n");
  if (!ParseRequestLine(bytes.substr(0, line_end))) return Outcome::kBadRequest;
  request_.headers.clear();
  if (!ParseHeaders(bytes.substr(line_end + 2, head_size_ - 2 - (line_end + 2)))) return Outcome::kBadRequest;
  base_ = bytes.data();
  return Frame();
}

bool HttpParser::ParseRequestLine(std::string_view line) {
  size_t first = line.find(' ');
  size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return false;
  request_.method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  std::string_view version = line.substr(last + 1);
  if (!IsToken(request_.method) || target.empty() || target.find(' ') != std::string_view::npos) return false;
  if (!IsFieldText(target)) return false;
  version_1_0_ = version == "HTTP/1.0";
  if (!version_1_0_ && version != "HTTP/1.1") return false;
  request_.keep_alive = !version_1_0_;
  // The absolute form, which proxies are sent, names us again; beyond that we only want the path.
  if (target[0] != '/' && target != "*") {
    size_t scheme = target.find("://");
    if (scheme == std::string_view::npos) return false;
    size_t slash = target.find('/', scheme + 3);
    authority_ = target.substr(scheme + 3, slash == std::string_view::npos ? slash : slash - (scheme + 3));
    if (authority_.empty()) return false;
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  size_t question = target.find('?');
  request_.path = target.substr(0, question);
  request_.query = question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  return true;
}

bool HttpParser::ParseHeaders(std::string_view lines) {
  return VisitFields(lines, [this](std::string_view name, std::string_view value) {
    request_.headers.push_back({name, value});
  });
}

// What a proxy in front of us goes by must be what we go by.
bool HttpParser::NamesOneHost() const {
  const std::string_view* host = nullptr;
  for (const Header& header : request_.headers) {
    if (!EqualsIgnoringCase(header.name, "Host")) continue;
    if (host != nullptr) return false;
    host = &header.value;
  }
  if (host == nullptr) return version_1_0_;
  return authority_.empty() || EqualsIgnoringCase(authority_, *host);
}

HttpParser::Outcome HttpParser::Frame() {
  bool chunked = false, closes = false;
  std::optional<size_t> length;
  for (const Header& header : request_.headers) {
    if (EqualsIgnoringCase(header.name, "Content-Length")) {
      auto parsed = ParseDecimal(header.value);
      if (!parsed || (length && *length != *parsed)) return Outcome::kBadRequest;
      length = parsed;
    } else if (EqualsIgnoringCase(header.name, "Transfer-Encoding")) {
      if (!EqualsIgnoringCase(header.value, "chunked")) return Outcome::kNotSupported;
      if (chunked) return Outcome::kBadRequest;
      chunked = true;
    } else if (EqualsIgnoringCase(header.name, "Connection")) {
      closes = closes || HasToken(header.value, "close");
      if (HasToken(header.value, "keep-alive")) request_.keep_alive = true;
    } else if (EqualsIgnoringCase(header.name, "Expect")) {
      expects_continue_ = EqualsIgnoringCase(header.value, "100-continue");
    }
  }
  if (closes) request_.keep_alive = false;
  if (chunked && (length || version_1_0_)) return Outcome::kBadRequest;
  if (!NamesOneHost()) return Outcome::kBadRequest;
  if (length && *length > body_bytes_max_) return Outcome::kTooLargeBody;
  state_ = chunked ? State::kChunkedBody : State::kLengthBody;
  content_length_ = length.value_or(0);
  chunk_at_ = body_end_ = head_size_;
  return Outcome::kRequest;
}

HttpParser::Outcome HttpParser::ParseChunks(std::span<char> bytes, size_t* consumed) {
  Outcome outcome = Outcome::kRequest;
  while (outcome == Outcome::kRequest && !body_complete_) outcome = ParseChunk(bytes, consumed);
  if (outcome == Outcome::kRequest) {
    request_.body = {bytes.data() + head_size_, body_end_ - head_size_};
  } else {
    // What framed the chunks is of no more use.
    std::memmove(bytes.data() + body_end_, bytes.data() + chunk_at_, bytes.size() - chunk_at_);
    dropped_bytes_ = chunk_at_ - body_end_;
    chunk_at_ = body_end_;
  }
  return outcome;
}

HttpParser::Outcome HttpParser::ParseChunk(std::span<char> bytes, size_t* consumed) {
  std::string_view rest(bytes.data() + chunk_at_, bytes.size() - chunk_at_);
  if (chunk_left_ > 0) {
    size_t size = std::min(chunk_left_, rest.size());
    std::memmove(bytes.data() + body_end_, rest.data(), size);
    body_end_ += size;
    chunk_at_ += size;
    chunk_left_ -= size;
    chunk_ends_ = chunk_left_ == 0;
    return chunk_ends_ ? Outcome::kRequest : Outcome::kMore;
  }
  if (!chunk_ends_) return ParseChunkLine(rest, consumed);
  if (rest.size() < 2) return Outcome::kMore;
  if (!rest.starts_with("\r\n")) return Outcome::kBadRequest;
  chunk_at_ += 2;
  chunk_ends_ = false;
  return Outcome::kRequest;
}

// A chunk's size and, after the last one, the trailers.
HttpParser::Outcome HttpParser::ParseChunkLine(std::string_view rest, size_t* consumed) {
  size_t line_end = rest.find("\r\n");
  // The bounds hold whether or not the end has come (its first byte may have): how the bytes were cut up must
  // not show.
  bool too_long = line_end == std::string_view::npos ? rest.size() > kChunkLineBytesMax + 1
                                                     : line_end > kChunkLineBytesMax;
  if (too_long) return Outcome::kBadRequest;
  if (line_end == std::string_view::npos) {
    bool waits = rest.empty() && body_end_ == head_size_;
    return expects_continue_ && waits && !std::exchange(continue_sent_, true) ? Outcome::kContinue
                                                                              : Outcome::kMore;
  }
  std::string_view line = rest.substr(0, line_end);
  std::string_view digits = Trim(line.substr(0, line.find(';')));  // extensions mean nothing to us
  size_t extension_bytes = extension_bytes_ + line.size() - digits.size();
  auto size = ParseHex(digits);
  if (!size || !IsFieldText(line) || extension_bytes > kChunkExtensionBytesMax) return Outcome::kBadRequest;
  if (body_end_ - head_size_ + *size > body_bytes_max_) return Outcome::kTooLargeBody;
  if (*size > 0) {
    extension_bytes_ = extension_bytes;
    chunk_left_ = *size;
    chunk_at_ += line_end + 2;
    return Outcome::kRequest;
  }
  std::string_view trailers = rest.substr(line_end + 2);
  size_t end = 0;
  if (!trailers.starts_with("\r\n")) {
    end = trailers.find("\r\n\r\n");
    bool too_large = end == std::string_view::npos ? trailers.size() > limits::kHttpHeaderBytesMax + 3
                                                   : end > limits::kHttpHeaderBytesMax;
    if (too_large) return Outcome::kTooLargeHead;
    if (end == std::string_view::npos) return Outcome::kMore;
    end += 2;
    if (!VisitFields(trailers.substr(0, end), [](std::string_view, std::string_view) {}))
      return Outcome::kBadRequest;
  }
  *consumed = chunk_at_ + line_end + 2 + end + 2;
  body_complete_ = true;
  return Outcome::kRequest;
}

}  // namespace holdfast::wire
