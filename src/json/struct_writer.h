// Requests and responses to JSON, by their field lists (holdfast/fields.h): WriteStruct(response, &text).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "holdfast/fields.h"
#include "holdfast/ops/common.h"
#include "holdfast/ops/legacy.h"
#include "holdfast/ops/search_vectors.h"
#include "holdfast/ops/table.h"
#include "json/writer.h"

namespace holdfast::json {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

inline void Write(const std::string& value, std::string* out) {
  AppendString(value, out);
}
inline void Write(bool value, std::string* out) {
  out->append(value ? "true" : "false");
}
inline void Write(int64_t value, std::string* out) {
  AppendInteger(value, out);
}
inline void Write(double value, std::string* out) {
  AppendDouble(value, out);
}
inline void Write(const Item& value, std::string* out) {
  AppendItem(value::MapView(value), out);
}
void Write(const SingleValue& value, std::string* out);
void Write(const SearchVector& value, std::string* out);
void Write(const Timestamp& value, std::string* out);
inline void Write(float value, std::string* out) {
  AppendFloat(value, out);
}
inline void Write(const SearchResultItem& value, std::string* out) {
  AppendItem(value::MapView(value), out, value.vector_attribute);
}

template <class E>
requires std::is_enum_v<E>
void Write(E value, std::string* out) {
  AppendString(NameOf(value), out);
}

template <Described T>
void WriteStruct(const T& value, std::string* out);
template <Described T>
void Write(const T& value, std::string* out) {
  WriteStruct(value, out);
}

template <class T>
void Write(const std::map<std::string, T>& values, std::string* out);

template <class T>
void Write(const std::vector<T>& values, std::string* out) {
  out->push_back('[');
  for (const T& value : values) {
    if (&value != &values.front()) out->push_back(',');
    Write(value, out);
  }
  out->push_back(']');
}

template <class T>
void Write(const std::map<std::string, T>& values, std::string* out) {
  out->push_back('{');
  bool first = true;
  for (const auto& [name, value] : values) {
    if (!std::exchange(first, false)) out->push_back(',');
    AppendString(name, out);
    out->push_back(':');
    Write(value, out);
  }
  out->push_back('}');
}

template <class S, class M>
void WriteField(const Field<S, M>& field, const auto& value, bool* first, std::string* out) {
  auto open = [&] {
    if (!std::exchange(*first, false)) out->push_back(',');
    out->push_back('"');
    out->append(field.name);
    out->append("\":");
  };
  if constexpr (IsOptional<M>::value) {
    if (!(value.*field.member)) return;
    open();
    Write(*(value.*field.member), out);
  } else {
    open();
    Write(value.*field.member, out);
  }
}
template <class S>
void WriteField(const Refused&, const S&, bool*, std::string*) {}

template <Described T>
void WriteStruct(const T& value, std::string* out) {
  static constexpr auto kFields = T::Fields();
  out->push_back('{');
  bool first = true;
  kFields.ForEach([&](const auto& field) { WriteField(field, value, &first, out); });
  out->push_back('}');
}

}  // namespace holdfast::json
