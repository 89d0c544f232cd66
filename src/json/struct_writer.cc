#include "json/struct_writer.h"

namespace holdfast::json {

void Write(const Timestamp& value, std::string* out) {
  AppendInteger(value.millis / 1000, out);
  char fraction[8];
  std::snprintf(fraction, sizeof fraction, ".%03d", static_cast<int>(value.millis % 1000));
  out->append(fraction);
}

void Write(const SearchResultItem& value, std::string* out) {
  value::MapView item(value);
  out->push_back('{');
  for (uint32_t i = 0; i < item.size(); ++i) {
    if (i > 0) out->push_back(',');
    value::Attribute attribute = item.At(i);
    AppendString(attribute.name, out);
    out->push_back(':');
    if (attribute.name == value.vector_attribute) {
      AppendVector(attribute.value, out);
    } else {
      AppendValue(attribute.value, out);
    }
  }
  out->push_back('}');
}

}  // namespace holdfast::json
