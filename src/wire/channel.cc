#include "wire/channel.h"

#include "wire/exchange.h"

namespace holdfast::wire {

bool AcceptChannel(const HttpRequest& request, std::string_view protocol,
                   std::shared_ptr<ChannelHandler> handler, HttpResponse* response) {
  if (int refused = CheckHandshake(request); refused != 0) {
    response->status = refused;
    if (refused == 426) response->AddHeaderLines("Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
    return false;
  }
  response->status = 101;
  response->AddHeader("Upgrade", "websocket");
  response->AddHeader("Sec-WebSocket-Accept", AcceptKey(request.Get("Sec-WebSocket-Key")));
  if (!protocol.empty()) response->AddHeader("Sec-WebSocket-Protocol", protocol);
  response->channel = std::move(handler);
  return true;
}

}  // namespace holdfast::wire
