#include "value/difference.h"

namespace holdfast::value {
namespace {

void AppendText(ByteView text, std::string* bytes) {
  base::AppendVarint(bytes, text.size());
  bytes->append(text);
}

bool ReadText(ByteView* bytes, ByteView* text) {
  uint64_t size = 0;
  if (!base::ReadVarint(bytes, &size) || size > bytes->size()) return false;
  *text = bytes->substr(0, size);
  bytes->remove_prefix(size);
  return true;
}

}  // namespace

void AppendDifference(MapView item, MapView other, std::string* bytes) {
  uint32_t at = 0;  // in `other`: names ascend in both
  for (uint32_t i = 0; i < item.size(); ++i) {
    Attribute attribute = item.At(i);
    while (at < other.size() && other.At(at).name < attribute.name) ++at;
    if (at < other.size()) {
      Attribute same = other.At(at);
      if (same.name == attribute.name && same.value == attribute.value) {
        base::AppendVarint(bytes, ++at);
        continue;
      }
    }
    base::AppendVarint(bytes, 0);
    AppendText(attribute.name, bytes);
    AppendText(attribute.value.bytes(), bytes);
  }
}

std::optional<std::string> ApplyDifference(ByteView difference, MapView other) {
  FlatWriter writer;
  writer.BeginMap();
  while (!difference.empty()) {
    uint64_t position = 0;
    if (!base::ReadVarint(&difference, &position) || position > other.size()) return std::nullopt;
    ByteView name, value;
    if (position > 0) {
      Attribute same = other.At(static_cast<uint32_t>(position - 1));
      name = same.name;
      value = same.value.bytes();
    } else if (!ReadText(&difference, &name) || !ReadText(&difference, &value) || value.empty()) {
      return std::nullopt;
    }
    writer.Name(name);
    writer.Copy(ValueView(value));
  }
  writer.EndMap();
  return writer.TakeMap();
}

}  // namespace holdfast::value
