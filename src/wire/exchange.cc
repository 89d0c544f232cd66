#include "wire/exchange.h"

#include <algorithm>

namespace holdfast::wire {

void HttpResponse::AddHeader(std::string_view name, std::string_view value) {
  bool sound = std::none_of(value.begin(), value.end(), [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
  if (sound) headers_.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace holdfast::wire
