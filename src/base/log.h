// The program's log: one line of key=value fields an event, on stderr unless told otherwise.
//
//   HF_LOG(log, kInfo, "listening", {"address", address}, {"port", port});
//   2026-01-01T12:00:00.000Z info  listening address=127.0.0.1 port=8000
//
// Values with blanks or quotes are written as JSON strings, so that a line can always be taken apart again.
// Thread-safe: lines never mix.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace holdfast::base {

enum class LogLevel : unsigned char { kDebug, kInfo, kWarning, kError, kNone };

struct LogField {
  std::string_view name;
  std::string value;

  LogField(std::string_view name, std::string_view text) : name(name), value(text) {}
  LogField(std::string_view name, const char* text) : name(name), value(text) {}
  LogField(std::string_view name, const std::string& text) : name(name), value(text) {}
  template <class T>
  requires std::integral<T> LogField(std::string_view name, T number)
      : name(name), value(std::to_string(number)) {}
};

class Log {
 public:
  // Receives finished lines, without the line break.
  using Sink = std::function<void(std::string_view line)>;

  explicit Log(LogLevel level, Sink sink = {}) : level_(level), sink_(std::move(sink)) {}

  bool Wants(LogLevel level) const { return level >= level_; }
  void Write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) const;

 private:
  const LogLevel level_;
  const Sink sink_;  // empty: stderr
};

}  // namespace holdfast::base

#define HF_LOG(log, level, event, ...)                                      \
  do {                                                                      \
    if ((log).Wants(::holdfast::base::LogLevel::level))                     \
      (log).Write(::holdfast::base::LogLevel::level, event, {__VA_ARGS__}); \
  } while (false)
