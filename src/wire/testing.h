// What the tests of the HTTP parser share: a stream, fed in pieces, as text that can be compared.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "wire/http_parser.h"

namespace holdfast::wire::testing {

// What is left of a request once its buffer is gone.
inline std::string Summary(const HttpRequest& request) {
  std::string text = std::string(request.method) + " " + std::string(request.path) + "?" +
                     std::string(request.query) + (request.keep_alive ? " keep" : " close");
  for (const Header& header : request.headers)
    text += " " + std::string(header.name) + "=" + std::string(header.value);
  return text + " [" + std::string(request.body) + "]";
}

inline std::string Name(HttpParser::Outcome outcome) {
  static constexpr std::string_view kNames[] = {
      "more", "continue", "request", "bad request", "too large head", "too large body", "not supported"};
  return std::string(kNames[static_cast<size_t>(outcome)]);
}

// Every request in `stream`, then how it ended. The buffer grows by next_step() bytes at a time, and each
// time lies somewhere else, as it may when the buffer of a connection grows.
template <class NextStep>
std::string Feed(std::string_view stream, size_t body_bytes_max, const NextStep& next_step) {
  using Outcome = HttpParser::Outcome;
  HttpParser parser(body_bytes_max);
  std::string all, buffer;
  size_t fed = 0;
  while (true) {
    size_t end = std::min(stream.size(), fed + next_step());
    std::string moved = buffer + std::string(stream.substr(fed, end - fed));
    fed = end;
    buffer.swap(moved);
    size_t consumed = 0;
    Outcome outcome = parser.Parse(buffer, &consumed);
    while (outcome == Outcome::kRequest) {
      all += Summary(parser.request()) + "\n";
      parser.Reset();
      buffer.erase(0, consumed);
      outcome = parser.Parse(buffer, &consumed);
    }
    buffer.resize(buffer.size() - parser.dropped_bytes());
    bool waits = outcome == Outcome::kMore || outcome == Outcome::kContinue;
    if (!waits || end == stream.size()) return all + (waits ? "" : Name(outcome));
  }
}

}  // namespace holdfast::wire::testing
