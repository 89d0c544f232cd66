// The flat form of values and items: one buffer, read in place, equal bytes exactly when equal values.
//
// Reading:
//   MapView item(bytes);
//   if (std::optional<ValueView> v = item.Find("Year"); v && v->type() == Type::kNumber) ...
// Writing (names and elements in any order, containers closed innermost first):
//   FlatWriter writer;
//   writer.BeginMap();
//   writer.Name("Year"); writer.Number(number);
//   writer.EndMap();
//   std::string bytes = writer.TakeMap();
//
// Layout (docs/format.md): value = tag byte ‖ payload; a container's payload = offset width w (1, 2 or 4) ‖
// count (w bytes) ‖ end offset of each entry (w bytes each, little-endian) ‖ entries. A map's entry = varint
// name length ‖ name ‖ value, sorted by name; a list's = value; a set's = payload of the member, sorted. An
// item is the payload of a map. The end of a value is known from outside, so scalars carry no length.
//
// Thread safety: views are values and read-only; a writer belongs to one thread. Views own nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "holdfast/value.h"
#include "value/number.h"

namespace holdfast::value {

using Type = AttributeValue::Type;

// "S", "NS", "BOOL", …: what the wire calls the type.
std::string_view TypeName(Type type);
inline bool IsSet(Type type) {
  return type >= Type::kStringSet && type <= Type::kBinarySet;
}
inline bool IsBool(Type type) {
  return type == Type::kFalse || type == Type::kTrue;
}
inline bool IsContainer(Type type) {
  return type >= Type::kStringSet;
}
// True when both are of the same DynamoDB type: both tags of BOOL count as one.
inline bool SameType(Type a, Type b) {
  return a == b || (IsBool(a) && IsBool(b));
}

// The entries of any container.
class ContainerView {
 public:
  // Requires: `payload` is a well-formed container payload.
  explicit ContainerView(ByteView payload) : base_(payload.data()), width_(static_cast<uint8_t>(payload[0])) {
    count_ = Load(base_ + 1);
    entries_ = base_ + 1 + width_ + static_cast<size_t>(count_) * width_;
    HF_DASSERT(entries_ + (count_ ? End(count_ - 1) : 0) == payload.data() + payload.size());
  }

  uint32_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  // Requires: i < size().
  ByteView Entry(uint32_t i) const {
    uint32_t begin = i == 0 ? 0 : End(i - 1);
    return {entries_ + begin, End(i) - begin};
  }
  // Calls `visit(i, entry)` for each, while it returns true: cheaper than asking for one after the other.
  // Returns whether all were visited.
  template <class Visit>
  bool VisitAll(const Visit& visit) const {
    uint32_t begin = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      uint32_t end = End(i);
      if (!visit(i, ByteView(entries_ + begin, end - begin))) return false;
      begin = end;
    }
    return true;
  }

 private:
  uint32_t Load(const char* p) const {
    // Each width by itself: a memcpy of a length known only at run time would be a call.
    if (width_ == 1) return static_cast<uint8_t>(*p);
    uint16_t low = 0;
    std::memcpy(&low, p, 2);
    if (width_ == 2) return low;
    uint32_t value = 0;
    std::memcpy(&value, p, 4);
    return value;
  }
  uint32_t End(uint32_t i) const { return Load(base_ + 1 + width_ + static_cast<size_t>(i) * width_); }

  const char* base_;
  const char* entries_;
  uint32_t count_;
  uint8_t width_;
};

class MapView;

class ValueView {
 public:
  // Requires: `bytes` is a well-formed value, at least its tag.
  explicit ValueView(ByteView bytes) : bytes_(bytes) {}

  Type type() const { return static_cast<Type>(bytes_[0]); }
  ByteView payload() const { return bytes_.substr(1); }
  ByteView bytes() const { return bytes_; }

  // Requires the type.
  Number number() const { return Number::Decode(payload()); }
  ContainerView entries() const { return ContainerView(payload()); }
  MapView map() const;
  // Requires: kList and i < entries().size().
  ValueView element(uint32_t i) const { return ValueView(entries().Entry(i)); }

  friend bool operator==(ValueView a, ValueView b) { return a.bytes_ == b.bytes_; }

 private:
  ByteView bytes_;
};

struct Attribute {
  ByteView name;
  ValueView value;
};

class MapView {
 public:
  explicit MapView(ByteView payload) : entries_(payload), bytes_(payload) {}
  explicit MapView(const Item& item) : MapView(item.flat()) {}

  uint32_t size() const { return entries_.size(); }
  ByteView bytes() const { return bytes_; }
  // In order of name. Requires: i < size().
  Attribute At(uint32_t i) const {
    ByteView entry = entries_.Entry(i);
    size_t length = static_cast<uint8_t>(entry[0]);
    size_t header = 1;
    if (length >= 0x80) [[unlikely]] {
      ByteView rest = entry;
      uint64_t long_length = 0;
      bool read = base::ReadVarint(&rest, &long_length);
      HF_DASSERT(read);
      static_cast<void>(read);
      length = static_cast<size_t>(long_length);
      header = entry.size() - rest.size();
    }
    return {entry.substr(header, length), ValueView(entry.substr(header + length))};
  }
  std::optional<ValueView> Find(ByteView name) const {
    auto position = IndexOf(name);
    if (!position) return std::nullopt;
    return At(*position).value;
  }
  std::optional<uint32_t> IndexOf(ByteView name) const;

 private:
  ContainerView entries_;
  ByteView bytes_;
};

inline MapView ValueView::map() const {
  return MapView(payload());
}

// What an item or a value adds to an item's size by DynamoDB's rule.
size_t ItemSize(MapView item);
size_t ValueSize(ValueView value);

// Builds values bottom-up in one reusable buffer. Names are not copied: they must stay valid until EndMap().
class FlatWriter {
 public:
  // Exactly one value per list element, per Name() in a map, or at the top.
  void Null() { Scalar(Type::kNull, {}); }
  void Bool(bool value) { Scalar(value ? Type::kTrue : Type::kFalse, {}); }
  void String(ByteView text) { Scalar(Type::kString, text); }
  void Binary(ByteView bytes) { Scalar(Type::kBinary, bytes); }
  void Number(const class Number& number);
  // A value that is flat already.
  void Copy(ValueView value);

  void BeginMap() { Begin(); }
  void Name(ByteView name) { name_ = name; }
  // Of attributes with one name the last wins.
  void EndMap();
  // A name that stood twice in one of the maps so far; empty: none did.
  const std::optional<std::string>& repeated_name() const { return repeated_name_; }
  void BeginList() { Begin(); }
  void EndList();
  void BeginSet() { Begin(); }
  void Member(ByteView payload);
  // Returns false when a member came twice; the set then holds it once.
  bool EndSet(Type type);

  // How much there is so far, without what open containers add for their entries.
  size_t bytes() const { return buffer_.size(); }
  // The finished top-level value; the writer is empty again and keeps its memory, unless there is much of it.
  ByteView value() const { return buffer_; }
  std::string TakeValue();
  // The payload of the finished top-level map: an item.
  std::string TakeMap();
  void Clear();

 private:
  struct EntryRef {
    ByteView name;
    uint32_t begin;
    uint32_t end;
  };
  struct Frame {
    ByteView name;  // under which the container itself will stand in its parent
    uint32_t begin;
    uint32_t first_entry;
  };

  void Scalar(Type type, ByteView payload);
  void Begin();
  void Finish(uint32_t begin);
  void Assemble(Type type, size_t first_entry, bool with_names);

  std::string buffer_;
  std::string assembled_;
  std::vector<EntryRef> entries_;
  std::vector<Frame> frames_;
  ByteView name_;
  std::optional<std::string> repeated_name_;
};

// Writes one set from its members (number texts for NS, raw bytes otherwise), refusing what DynamoDB refuses:
// an empty set, a member twice, a text that is no number.
Status WriteSet(Type type, const std::vector<ByteView>& members, FlatWriter* writer);

// The error for documents nested deeper than limits::kDocumentDepthMax.
Error NestingTooDeep();
// The error for items larger than limits::kItemSizeBytesMax.
Error ItemTooLarge();

// Checks bytes of unknown origin completely: structure, order, canonical widths, UTF-8 left alone.
bool IsWellFormedItem(ByteView bytes);

// Conversions for the public types.
AttributeValue ToAttributeValue(ValueView value);
// Fails as DynamoDB would: bad number, empty set, duplicate member, nesting too deep.
Status WriteAttributeValue(const AttributeValue& value, FlatWriter* writer);

}  // namespace holdfast::value
