#include "wire/websocket.h"

#include <string>

#include "base/base64.h"

namespace holdfast::wire {

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
