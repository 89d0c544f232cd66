#include "wire/channel.h"

#include "wire/exchange.h"

namespace holdfast::wire {

bool AcceptChannel(const HttpRequest& request, std::string_view protocol,
                   std::shared_ptr<ChannelHandler> handler, HttpResponse* response) {
  if (int refused = CheckHandshake(request); refused != 0) {
    response->status = refused;
    if (refused == 426) response->headers.append("Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
    return false;
  }
  response->status = 101;
  response->headers.append("Upgrade: websocket\r\nSec-WebSocket-Accept: ")
      .append(AcceptKey(request.Get("Sec-WebSocket-Key")))
      .append("\r\n");
  if (!protocol.empty()) response->headers.append("Sec-WebSocket-Protocol: ").append(protocol).append("\r\n");
  response->channel = std::move(handler);
  return true;
}

}  // namespace holdfast::wire
