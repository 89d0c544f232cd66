#include "wire/websocket.h"

#include <algorithm>
#include <string>

#include "base/base64.h"

namespace holdfast::wire {

bool HasToken(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    while (!one.empty() && (one.front() == ' ' || one.front() == '\t')) one.remove_prefix(1);
    while (!one.empty() && (one.back() == ' ' || one.back() == '\t')) one.remove_suffix(1);
    if (EqualsIgnoringCase(one, token)) return true;
  }
  return false;
}

bool WantsWebSocket(const HttpRequest& request) {
  return HasToken(request.Get("Upgrade"), "websocket");
}

int CheckHandshake(const HttpRequest& request) {
  std::string key;
  if (request.method != "GET" || !WantsWebSocket(request) ||
      !HasToken(request.Get("Connection"), "Upgrade") || !request.body.empty() ||
      !base::DecodeBase64(request.Get("Sec-WebSocket-Key"), &key) || key.size() != 16) {
    return 400;
  }
  return request.Get("Sec-WebSocket-Version") == "13" ? 0 : 426;
}

}  // namespace holdfast::wire
