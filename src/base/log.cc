#include "base/log.h"

#include <cstdio>
#include <ctime>

#include <chrono>

namespace holdfast::base {
namespace {

std::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info ";
    case LogLevel::kWarning: return "warn ";
    case LogLevel::kError: return "error";
    case LogLevel::kNone: break;
  }
  return "";
}

void AppendTimestamp(std::string* line) {
  auto now = std::chrono::system_clock::now();
  auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  std::time_t seconds = static_cast<std::time_t>(millis / 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(millis % 1000));
  line->append(text);
}

// Control bytes and quotes are escaped: what a stranger sent can never forge a line or a field.
void AppendValue(std::string* line, std::string_view value) {
  bool plain = !value.empty();
  for (char c : value) plain = plain && c > ' ' && c != '"' && c != '=' && c != '\\' && c != 0x7f;
  if (plain) {
    line->append(value);
    return;
  }
  line->push_back('"');
  for (char c : value) {
    if (c == '"' || c == '\\') {
      line->push_back('\\');
      line->push_back(c);
    } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned char>(c));
      line->append(escaped);
    } else {
      line->push_back(c);
    }
  }
  line->push_back('"');
}

}  // namespace

void Log::Write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) const {
  std::string line;
  line.reserve(128);
  AppendTimestamp(&line);
  line.append(" ").append(LevelName(level)).append(" ").append(event);
  for (const LogField& field : fields) {
    line.append(" ").append(field.name).append("=");
    AppendValue(&line, field.value);
  }
  if (sink_) {
    sink_(line);
    return;
  }
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: stdio locks the stream
}

}  // namespace holdfast::base
