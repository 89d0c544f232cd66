// Writes rows and the values of expressions in their stored form, without values in between; reads them back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/value.h"
#include "value/flat.h"
#include "value/number.h"

namespace holdfast::agent {

// Names must live until Take(): they are literals.
class RowWriter {
 public:
  RowWriter() { writer_.BeginMap(); }
  RowWriter(std::string_view pk, std::string_view sk) : RowWriter() { Text("pk", pk).Text("sk", sk); }

  RowWriter& Text(std::string_view name, std::string_view text) {
    writer_.Name(name);
    writer_.String(text);
    return *this;
  }
  RowWriter& Number(std::string_view name, int64_t number) {
    writer_.Name(name);
    writer_.Number(value::Number::FromInt(number));
    return *this;
  }
  RowWriter& Flag(std::string_view name, bool flag) {
    writer_.Name(name);
    writer_.Bool(flag);
    return *this;
  }
  RowWriter& Null(std::string_view name) {
    writer_.Name(name);
    writer_.Null();
    return *this;
  }
  RowWriter& Bytes(std::string_view name, std::string_view bytes) {
    writer_.Name(name);
    writer_.Binary(bytes);
    return *this;
  }
  // A map.
  RowWriter& Map(std::string_view name, const Item& item) {
    // The payload of a map is an item; its tag stands before it.
    scratch_.assign(1, static_cast<char>(AttributeValue::Type::kMap));
    scratch_.append(item.flat());
    writer_.Name(name);
    writer_.Copy(value::ValueView(scratch_));
    return *this;
  }
  RowWriter& Value(std::string_view name, value::ValueView value) {
    writer_.Name(name);
    writer_.Copy(value);
    return *this;
  }
  value::FlatWriter& writer() { return writer_; }

  Item Take() {
    writer_.EndMap();
    return Item::FromFlat(writer_.TakeMap());
  }

 private:
  value::FlatWriter writer_;
  std::string scratch_;
};

// A row as it was read. The item must outlive it.
class RowReader {
 public:
  static constexpr int64_t kCountMax = 999'999'999'999;       // twelve digits
  static constexpr int64_t kMillisMax = 253'402'300'799'999;  // the end of the year 9999

  explicit RowReader(const Item& item) : map_(item) {}
  explicit RowReader(value::MapView map) : map_(map) {}

  std::string Text(std::string_view name) const {
    auto found = map_.Find(name);
    return found && found->type() == AttributeValue::Type::kString ? std::string(found->payload())
                                                                   : std::string();
  }
  std::optional<int64_t> Maybe(std::string_view name) const {
    auto found = map_.Find(name);
    int64_t number = 0;
    if (!found || found->type() != AttributeValue::Type::kNumber || !found->number().ToInt64(&number))
      return std::nullopt;
    return number;
  }
  int64_t Number(std::string_view name) const { return Maybe(name).value_or(0); }
  // Rows are written by anybody who may write the table. Counters and times stay where arithmetic on them
  // cannot overflow and keys made of them keep their width.
  int64_t Count(std::string_view name) const { return std::clamp<int64_t>(Number(name), 0, kCountMax); }
  int64_t Millis(std::string_view name) const { return std::clamp<int64_t>(Number(name), 0, kMillisMax); }
  bool Flag(std::string_view name) const {
    auto found = map_.Find(name);
    return found && found->type() == AttributeValue::Type::kTrue;
  }
  Item Map(std::string_view name) const {
    auto found = map_.Find(name);
    if (!found || found->type() != AttributeValue::Type::kMap) return Item();
    return Item::FromFlat(std::string(found->payload()));
  }
  std::optional<value::ValueView> Value(std::string_view name) const { return map_.Find(name); }
  value::MapView map() const { return map_; }

 private:
  value::MapView map_;
};

}  // namespace holdfast::agent
