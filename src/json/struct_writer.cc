#include "json/struct_writer.h"

namespace holdfast::json {

void Write(const SingleValue& value, std::string* out) {
  if (value.empty()) return static_cast<void>(out->append("{\"NULL\":true}"));  // as value() has it
  AppendValue(value::MapView(value).At(0).value, out);
}

void Write(const SearchVector& value, std::string* out) {
  AppendVector(value.values(), out);
}

void Write(const Timestamp& value, std::string* out) {
  AppendInteger(value.millis / 1000, out);
  char fraction[8];
  std::snprintf(fraction, sizeof fraction, ".%03d", static_cast<int>(value.millis % 1000));
  out->append(fraction);
}

}  // namespace holdfast::json
