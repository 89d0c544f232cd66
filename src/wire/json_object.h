// Objects of JSON written straight into a string:
//
//   JsonObject object(&out);
//   object.Text("id", id).Number("seq", 7);
//
// It is closed when it goes out of scope. Names are written as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/writer.h"
#include "model/instant.h"

namespace holdfast::wire {

class JsonObject {
 public:
  explicit JsonObject(std::string* out) : out_(out) { out_->push_back('{'); }
  ~JsonObject() { out_->push_back('}'); }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  // The value is to be appended to what is returned.
  std::string* Name(std::string_view name) {
    if (out_->back() != '{') out_->push_back(',');
    out_->append("\"").append(name).append("\":");
    return out_;
  }
  // A value that is JSON already.
  JsonObject& Raw(std::string_view name, std::string_view json) {
    Name(name)->append(json);
    return *this;
  }
  // Members that `append` writes, one at least.
  template <class Append>
  JsonObject& More(const Append& append) {
    if (out_->back() != '{') out_->push_back(',');
    append(out_);
    return *this;
  }
  JsonObject& Text(std::string_view name, std::string_view text) {
    json::AppendString(text, Name(name));
    return *this;
  }
  JsonObject& TextOrNull(std::string_view name, std::string_view text) {
    return text.empty() ? Raw(name, "null") : Text(name, text);
  }
  // Left out when there is none.
  JsonObject& TextIfAny(std::string_view name, std::string_view text) {
    return text.empty() ? *this : Text(name, text);
  }
  JsonObject& Number(std::string_view name, int64_t number) {
    json::AppendInteger(number, Name(name));
    return *this;
  }
  JsonObject& NumberOrNull(std::string_view name, std::optional<int64_t> number) {
    return number ? Number(name, *number) : Raw(name, "null");
  }
  JsonObject& Flag(std::string_view name, bool flag) { return Raw(name, flag ? "true" : "false"); }
  // 2026-02-04T10:30:00.000Z
  JsonObject& Instant(std::string_view name, int64_t millis) {
    return Text(name, model::FormatInstant(millis));
  }
  JsonObject& InstantOrNull(std::string_view name, std::optional<int64_t> millis) {
    return millis ? Instant(name, *millis) : Raw(name, "null");
  }

 private:
  std::string* const out_;
};

// [a,b]
template <class Elements, class Append>
void AppendJsonList(const Elements& elements, std::string* out, const Append& append) {
  out->push_back('[');
  for (const auto& element : elements) {
    if (out->back() != '[') out->push_back(',');
    append(element, out);
  }
  out->push_back(']');
}

}  // namespace holdfast::wire
