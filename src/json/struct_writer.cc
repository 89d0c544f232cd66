#include "json/struct_writer.h"

namespace holdfast::json {

void Write(const Timestamp& value, std::string* out) {
  AppendInteger(value.millis / 1000, out);
  char fraction[8];
  std::snprintf(fraction, sizeof fraction, ".%03d", static_cast<int>(value.millis % 1000));
  out->append(fraction);
}

}  // namespace holdfast::json
