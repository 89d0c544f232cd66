#include "value/flat.h"

#include <algorithm>
#include <charconv>

#include "base/base64.h"
#include "base/limits.h"
#include "base/shown.h"

namespace holdfast::value {
namespace {

constexpr std::string_view kEmptyMap("\x01\x00", 2);

uint8_t OffsetWidth(size_t entry_bytes, size_t count) {
  size_t largest = std::max(entry_bytes, count);
  return largest < 0x100 ? 1 : largest < 0x10000 ? 2 : 4;
}

char* Store(char* out, uint32_t value, uint8_t width) {
  std::memcpy(out, &value, width);  // little-endian, see base/md5.cc
  return out + width;
}

}  // namespace

std::string_view TypeName(Type type) {
  switch (type) {
    case Type::kNull: return "NULL";
    case Type::kFalse:
    case Type::kTrue: return "BOOL";
    case Type::kNumber: return "N";
    case Type::kString: return "S";
    case Type::kBinary: return "B";
    case Type::kStringSet: return "SS";
    case Type::kNumberSet: return "NS";
    case Type::kBinarySet: return "BS";
    case Type::kList: return "L";
    case Type::kMap: return "M";
  }
  return "?";
}

std::optional<uint32_t> MapView::IndexOf(ByteView name) const {
  uint32_t low = 0, high = size();
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    Attribute attribute = At(middle);
    int order = attribute.name.compare(name);
    if (order == 0) return middle;
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return std::nullopt;
}

size_t ItemSize(MapView item) {
  size_t size = 0;
  for (uint32_t i = 0; i < item.size(); ++i) {
    Attribute attribute = item.At(i);
    size += attribute.name.size() + ValueSize(attribute.value);
  }
  return size;
}

size_t ValueSize(ValueView value) {
  switch (value.type()) {
    case Type::kNull:
    case Type::kFalse:
    case Type::kTrue: return 1;
    case Type::kNumber:
    case Type::kString:
    case Type::kBinary: return value.payload().size();
    case Type::kStringSet:
    case Type::kNumberSet:
    case Type::kBinarySet: {
      ContainerView members = value.entries();
      size_t size = 0;
      for (uint32_t i = 0; i < members.size(); ++i) size += members.Entry(i).size();
      return size;
    }
    case Type::kList: {
      ContainerView elements = value.entries();
      size_t size = 3 + elements.size();
      elements.VisitAll([&](uint32_t, ByteView entry) {
        ValueView element(entry);
        // Numbers and texts, the usual elements, without a call.
        size += element.type() >= Type::kNumber && element.type() <= Type::kBinary ? entry.size() - 1
                                                                                   : ValueSize(element);
        return true;
      });
      return size;
    }
    case Type::kMap: {
      MapView map = value.map();
      return 3 + map.size() + ItemSize(map);
    }
  }
  HF_ASSERT(false);
}

void FlatWriter::Scalar(Type type, ByteView payload) {
  auto begin = static_cast<uint32_t>(buffer_.size());
  buffer_.push_back(static_cast<char>(type));
  buffer_.append(payload);
  Finish(begin);
}

void FlatWriter::Number(const class Number& number) {
  auto begin = static_cast<uint32_t>(buffer_.size());
  buffer_.push_back(static_cast<char>(Type::kNumber));
  number.Encode(&buffer_);
  Finish(begin);
}

void FlatWriter::Copy(ValueView value) {
  auto begin = static_cast<uint32_t>(buffer_.size());
  buffer_.append(value.bytes());
  Finish(begin);
}

void FlatWriter::Member(ByteView payload) {
  auto begin = static_cast<uint32_t>(buffer_.size());
  buffer_.append(payload);
  Finish(begin);
}

void FlatWriter::Begin() {
  frames_.push_back({name_, static_cast<uint32_t>(buffer_.size()), static_cast<uint32_t>(entries_.size())});
}

void FlatWriter::Finish(uint32_t begin) {
  if (!frames_.empty()) entries_.push_back({name_, begin, static_cast<uint32_t>(buffer_.size())});
}

void FlatWriter::EndMap() {
  HF_ASSERT(!frames_.empty());
  auto first = entries_.begin() + frames_.back().first_entry;
  auto by_name = [](const EntryRef& a, const EntryRef& b) { return a.name < b.name; };
  if (!std::is_sorted(first, entries_.end(), by_name)) std::stable_sort(first, entries_.end(), by_name);
  // Of equal names the last one given wins, as in the JSON parsers of AWS's clients.
  auto kept = first;
  for (auto it = first; it != entries_.end(); ++it) {
    if (kept != first && (kept - 1)->name == it->name) {
      --kept;
      if (!repeated_name_) repeated_name_ = it->name;
    }
    *kept++ = *it;
  }
  entries_.erase(kept, entries_.end());
  Assemble(Type::kMap, frames_.back().first_entry, true);
}

void FlatWriter::EndList() {
  HF_ASSERT(!frames_.empty());
  Assemble(Type::kList, frames_.back().first_entry, false);
}

bool FlatWriter::EndSet(Type type) {
  HF_ASSERT(!frames_.empty() && IsSet(type));
  auto first = entries_.begin() + frames_.back().first_entry;
  auto member = [this](const EntryRef& e) { return ByteView(buffer_).substr(e.begin, e.end - e.begin); };
  std::sort(first, entries_.end(),
            [&](const EntryRef& a, const EntryRef& b) { return member(a) < member(b); });
  auto last = std::unique(first, entries_.end(),
                          [&](const EntryRef& a, const EntryRef& b) { return member(a) == member(b); });
  bool distinct = last == entries_.end();
  entries_.erase(last, entries_.end());
  Assemble(type, frames_.back().first_entry, false);
  return distinct;
}

void FlatWriter::Assemble(Type type, size_t first_entry, bool with_names) {
  Frame frame = frames_.back();
  frames_.pop_back();
  size_t count = entries_.size() - first_entry;
  size_t entry_bytes = 0;
  for (size_t i = first_entry; i < entries_.size(); ++i) {
    const EntryRef& entry = entries_[i];
    entry_bytes += entry.end - entry.begin;
    if (with_names) entry_bytes += base::VarintSize(entry.name.size()) + entry.name.size();
  }
  uint8_t width = OffsetWidth(entry_bytes, count);
  assembled_.resize(2 + width + count * width + entry_bytes);
  char* out = assembled_.data();
  *out++ = static_cast<char>(type);
  *out++ = static_cast<char>(width);
  out = Store(out, static_cast<uint32_t>(count), width);
  char* offsets = out;
  char* body = out + count * width;
  char* at = body;
  for (size_t i = first_entry; i < entries_.size(); ++i) {
    const EntryRef& entry = entries_[i];
    if (with_names) {
      at = base::WriteVarint(at, entry.name.size());
      std::memcpy(at, entry.name.data(), entry.name.size());
      at += entry.name.size();
    }
    std::memcpy(at, buffer_.data() + entry.begin, entry.end - entry.begin);
    at += entry.end - entry.begin;
    offsets = Store(offsets, static_cast<uint32_t>(at - body), width);
  }
  entries_.resize(first_entry);
  buffer_.resize(frame.begin);
  buffer_.append(assembled_);
  name_ = frame.name;
  Finish(frame.begin);
}

std::string FlatWriter::TakeValue() {
  HF_ASSERT(frames_.empty() && !buffer_.empty());
  std::string taken(buffer_);
  Clear();
  return taken;
}

std::string FlatWriter::TakeMap() {
  HF_ASSERT(frames_.empty() && !buffer_.empty() && static_cast<Type>(buffer_[0]) == Type::kMap);
  std::string taken(buffer_, 1);
  Clear();
  return taken;
}

void FlatWriter::Clear() {
  // By swapping: a string that is assigned an empty one keeps its memory.
  if (buffer_.capacity() > limits::kKeptBytesMax) std::string().swap(buffer_);
  if (assembled_.capacity() > limits::kKeptBytesMax) std::string().swap(assembled_);
  if (entries_.capacity() > limits::kKeptBytesMax / sizeof(EntryRef)) std::vector<EntryRef>().swap(entries_);
  buffer_.clear();
  entries_.clear();
  frames_.clear();
  name_ = {};
  repeated_name_.reset();
}

// --- checking ---

namespace {

bool IsWellFormedValue(ByteView bytes, int depth);

// Calls `check(entry, previous entry or null)` for each entry; false when the frame itself is not sound.
template <class Check>
bool CheckContainer(ByteView payload, const Check& check) {
  if (payload.size() < 2) return false;
  auto width = static_cast<uint8_t>(payload[0]);
  if (width != 1 && width != 2 && width != 4) return false;
  if (payload.size() < 1u + width) return false;
  auto load = [&](size_t position) {
    uint32_t value = 0;
    std::memcpy(&value, payload.data() + position, width);
    return value;
  };
  size_t count = load(1);
  if (count > payload.size()) return false;
  size_t header = 1 + width + count * width;
  if (header > payload.size()) return false;
  ByteView body = payload.substr(header);
  if (OffsetWidth(body.size(), count) != width) return false;
  size_t begin = 0;
  ByteView previous;
  for (size_t i = 0; i < count; ++i) {
    size_t end = load(1 + width + i * width);
    if (end < begin || end > body.size()) return false;
    ByteView entry = body.substr(begin, end - begin);
    if (!check(entry, i == 0 ? nullptr : &previous)) return false;
    previous = entry;
    begin = end;
  }
  return begin == body.size();
}

bool IsWellFormedMap(ByteView payload, int depth) {
  std::string_view last_name;
  return CheckContainer(payload, [&](ByteView entry, const ByteView* previous) {
    uint64_t length = 0;
    ByteView rest = entry;
    if (!base::ReadVarint(&rest, &length) || length > limits::kAttributeNameBytesMax ||
        length >= rest.size()) {
      return false;
    }
    if (entry.size() - rest.size() != base::VarintSize(length)) return false;
    ByteView name = rest.substr(0, length);
    if (previous != nullptr && last_name >= name) return false;
    last_name = name;
    return IsWellFormedValue(rest.substr(length), depth);
  });
}

bool IsWellFormedValue(ByteView bytes, int depth) {
  // One level beyond the API's limit: expression values may be that deep before the limit is reported.
  if (bytes.empty() || depth > limits::kDocumentDepthMax + 1) return false;
  ByteView payload = bytes.substr(1);
  switch (static_cast<Type>(bytes[0])) {
    case Type::kNull:
    case Type::kFalse:
    case Type::kTrue: return payload.empty();
    case Type::kNumber: return IsEncodedNumber(payload);
    case Type::kString:
    case Type::kBinary: return true;
    case Type::kStringSet:
    case Type::kNumberSet:
    case Type::kBinarySet: {
      bool numbers = static_cast<Type>(bytes[0]) == Type::kNumberSet;
      bool sound = CheckContainer(payload, [numbers](ByteView entry, const ByteView* previous) {
        return (!numbers || IsEncodedNumber(entry)) && (previous == nullptr || *previous < entry);
      });
      return sound && !ContainerView(payload).empty();
    }
    case Type::kList:
      return CheckContainer(
          payload, [&](ByteView entry, const ByteView*) { return IsWellFormedValue(entry, depth + 1); });
    case Type::kMap: return IsWellFormedMap(payload, depth + 1);
  }
  return false;
}

}  // namespace

bool IsWellFormedItem(ByteView bytes) {
  return IsWellFormedMap(bytes, 0);
}

// --- public types ---

AttributeValue ToAttributeValue(ValueView value) {
  switch (value.type()) {
    case Type::kNull: return {};
    case Type::kFalse: return false;
    case Type::kTrue: return true;
    case Type::kNumber: return AttributeValue::Number(value.number().ToString());
    case Type::kString: return value.payload();
    case Type::kBinary: return AttributeValue::Binary(std::string(value.payload()));
    case Type::kStringSet:
    case Type::kNumberSet:
    case Type::kBinarySet: {
      ContainerView members = value.entries();
      std::vector<std::string> texts;
      texts.reserve(members.size());
      for (uint32_t i = 0; i < members.size(); ++i) {
        if (value.type() == Type::kNumberSet) {
          texts.push_back(Number::Decode(members.Entry(i)).ToString());
        } else {
          texts.emplace_back(members.Entry(i));
        }
      }
      if (value.type() == Type::kStringSet) return AttributeValue::StringSet(std::move(texts));
      if (value.type() == Type::kNumberSet) return AttributeValue::NumberSet(std::move(texts));
      return AttributeValue::BinarySet(std::move(texts));
    }
    case Type::kList: {
      ContainerView entries = value.entries();
      std::vector<AttributeValue> elements;
      elements.reserve(entries.size());
      for (uint32_t i = 0; i < entries.size(); ++i)
        elements.push_back(ToAttributeValue(ValueView(entries.Entry(i))));
      return AttributeValue::List(std::move(elements));
    }
    case Type::kMap: {
      MapView map = value.map();
      AttributeMap entries;
      for (uint32_t i = 0; i < map.size(); ++i) {
        Attribute attribute = map.At(i);
        entries.emplace(std::string(attribute.name), ToAttributeValue(attribute.value));
      }
      return AttributeValue::Map(std::move(entries));
    }
  }
  HF_ASSERT(false);
}

Error NestingTooDeep() {
  return Error(
      ErrorCode::kValidation,
      "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond "
      "supported limit");
}

Error ItemTooLarge() {
  return ValidationError("Item size has exceeded the maximum allowed size");
}

namespace {

// The wording, with its blanks and its grammar, is DynamoDB's.
Error EmptySet(Type type) {
  std::string_view what = type == Type::kStringSet   ? "An string set  may not be empty"
                          : type == Type::kNumberSet ? "An number set  may not be empty"
                                                     : "Binary sets should not be empty";
  return RequestError("One or more parameter values were invalid: " + std::string(what));
}

Error DuplicateMember(Type type, const std::vector<ByteView>& members) {
  if (type == Type::kNumberSet) return RequestError("Input collection contains duplicates");
  std::string message = "One or more parameter values were invalid: Input collection [";
  for (const ByteView& member : members) {
    if (message.size() > limits::kShownBytesMax) {
      message = base::Shown(message);
      break;
    }
    if (&member != &members.front()) message += ", ";
    if (type == Type::kBinarySet) {
      base::AppendBase64(member, &message);
    } else {
      message += member;
    }
  }
  message += type == Type::kBinarySet ? "]of type BS contains duplicates." : "] contains duplicates.";
  return RequestError(std::move(message));
}

}  // namespace

Status WriteSet(Type type, const std::vector<ByteView>& members, FlatWriter* writer) {
  if (members.empty()) return EmptySet(type);
  writer->BeginSet();
  for (ByteView member : members) {
    if (type == Type::kNumberSet) {
      HF_TRY(Number number, Number::Parse(member));
      std::string encoded;
      number.Encode(&encoded);
      writer->Member(encoded);
    } else {
      writer->Member(member);
    }
  }
  if (!writer->EndSet(type)) return DuplicateMember(type, members);
  return Ok{};
}

namespace {

Status WriteValue(const AttributeValue& value, FlatWriter* writer, int depth) {
  if (depth > limits::kDocumentDepthMax) {
    return NestingTooDeep();
  }
  switch (value.type()) {
    case Type::kNull: writer->Null(); return Ok{};
    case Type::kFalse:
    case Type::kTrue: writer->Bool(value.AsBool()); return Ok{};
    case Type::kNumber: {
      HF_TRY(Number number, Number::Parse(value.AsText()));
      writer->Number(number);
      return Ok{};
    }
    case Type::kString: writer->String(value.AsText()); return Ok{};
    case Type::kBinary: writer->Binary(value.AsText()); return Ok{};
    case Type::kStringSet:
    case Type::kNumberSet:
    case Type::kBinarySet: {
      std::vector<ByteView> members(value.AsSet().begin(), value.AsSet().end());
      return WriteSet(value.type(), members, writer);
    }
    case Type::kList:
      writer->BeginList();
      for (const AttributeValue& element : value.AsList())
        HF_CHECK_OK(WriteValue(element, writer, depth + 1));
      writer->EndList();
      return Ok{};
    case Type::kMap:
      writer->BeginMap();
      for (const auto& [name, entry] : value.AsMap()) {
        writer->Name(name);
        HF_CHECK_OK(WriteValue(entry, writer, depth + 1));
      }
      writer->EndMap();
      return Ok{};
  }
  HF_ASSERT(false);
}

}  // namespace

Status WriteAttributeValue(const AttributeValue& value, FlatWriter* writer) {
  return WriteValue(value, writer, 1);
}

}  // namespace holdfast::value

namespace holdfast {

using value::FlatWriter;
using value::MapView;
using value::Number;

// By to_chars, as printf heeds the locale of the program that embeds us.
AttributeValue AttributeValue::Number(double value) {
  char text[32];
  return Number(std::string(text, std::to_chars(text, std::end(text), value).ptr));
}

AttributeValue AttributeValue::List(std::vector<AttributeValue> elements) {
  return {Type::kList, std::make_shared<const std::vector<AttributeValue>>(std::move(elements))};
}

AttributeValue AttributeValue::Map(AttributeMap entries) {
  return {Type::kMap, std::make_shared<const AttributeMap>(std::move(entries))};
}

const std::string& AttributeValue::AsText() const {
  static const std::string& none = *new std::string;
  const auto* text = std::get_if<std::string>(&data_);
  return text != nullptr ? *text : none;
}

const std::vector<std::string>& AttributeValue::AsSet() const {
  static const auto& none = *new std::vector<std::string>;
  const auto* members = std::get_if<std::vector<std::string>>(&data_);
  return members != nullptr ? *members : none;
}

const std::vector<AttributeValue>& AttributeValue::AsList() const {
  static const auto& none = *new std::vector<AttributeValue>;
  const auto* elements = std::get_if<std::shared_ptr<const std::vector<AttributeValue>>>(&data_);
  return elements != nullptr ? **elements : none;
}

const AttributeMap& AttributeValue::AsMap() const {
  static const auto& none = *new AttributeMap;
  const auto* entries = std::get_if<std::shared_ptr<const AttributeMap>>(&data_);
  return entries != nullptr ? **entries : none;
}

std::optional<int64_t> AttributeValue::AsInt64() const {
  if (type_ != Type::kNumber) return std::nullopt;
  Result<value::Number> number = value::Number::Parse(AsText());
  int64_t result = 0;
  if (!number || !number->ToInt64(&result)) return std::nullopt;
  return result;
}

double AttributeValue::AsDouble() const {
  if (type_ != Type::kNumber) return 0;
  Result<value::Number> number = value::Number::Parse(AsText());
  return number ? number->ToDouble() : 0;
}

bool operator==(const AttributeValue& a, const AttributeValue& b) {
  FlatWriter left, right;
  return WriteAttributeValue(a, &left) && WriteAttributeValue(b, &right) && left.value() == right.value();
}

Item::Item() : flat_(value::kEmptyMap) {}

Item::Item(std::initializer_list<std::pair<std::string_view, AttributeValue>> attributes) : Item() {
  FlatWriter writer;
  writer.BeginMap();
  for (const auto& [name, value] : attributes) {
    writer.Name(name);
    if (Status written = WriteAttributeValue(value, &writer); !written) {
      defect_ = std::make_shared<const Error>(written.error());
      return;
    }
  }
  writer.EndMap();
  flat_ = writer.TakeMap();
}

Item::Item(const AttributeMap& attributes) : Item() {
  FlatWriter writer;
  if (Status written = WriteAttributeValue(AttributeValue::Map(attributes), &writer); !written) {
    defect_ = std::make_shared<const Error>(written.error());
    return;
  }
  flat_ = writer.TakeMap();
}

Item Item::FromFlat(std::string bytes) {
  HF_DASSERT(value::IsWellFormedItem(bytes));
  Item item;
  item.flat_ = std::move(bytes);
  return item;
}

Item Item::Defective(Error why, std::string flat) {
  Item item;
  if (!flat.empty()) item.flat_ = std::move(flat);
  item.defect_ = std::make_shared<const Error>(std::move(why));
  return item;
}

size_t Item::size() const {
  return MapView(flat_).size();
}

bool Item::Has(std::string_view name) const {
  return MapView(flat_).Find(name).has_value();
}

std::optional<AttributeValue> Item::Get(std::string_view name) const {
  auto found = MapView(flat_).Find(name);
  if (!found) return std::nullopt;
  return ToAttributeValue(*found);
}

void Item::Set(std::string_view name, const AttributeValue& value) {
  FlatWriter writer;
  writer.BeginMap();
  MapView old(flat_);
  for (uint32_t i = 0; i < old.size(); ++i) {
    value::Attribute attribute = old.At(i);
    if (attribute.name == name) continue;
    writer.Name(attribute.name);
    writer.Copy(attribute.value);
  }
  writer.Name(name);
  if (Status written = WriteAttributeValue(value, &writer); !written) {
    defect_ = std::make_shared<const Error>(written.error());
    return;
  }
  writer.EndMap();
  flat_ = writer.TakeMap();
}

void Item::Remove(std::string_view name) {
  FlatWriter writer;
  writer.BeginMap();
  MapView old(flat_);
  for (uint32_t i = 0; i < old.size(); ++i) {
    value::Attribute attribute = old.At(i);
    if (attribute.name == name) continue;
    writer.Name(attribute.name);
    writer.Copy(attribute.value);
  }
  writer.EndMap();
  flat_ = writer.TakeMap();
}

AttributeMap Item::ToMap() const {
  MapView map(flat_);
  AttributeMap result;
  for (uint32_t i = 0; i < map.size(); ++i) {
    value::Attribute attribute = map.At(i);
    result.emplace(std::string(attribute.name), ToAttributeValue(attribute.value));
  }
  return result;
}

size_t Item::SizeBytes() const {
  return ItemSize(MapView(flat_));
}

}  // namespace holdfast
