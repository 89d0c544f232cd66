// WebSockets: a request that ends in a channel.

#include "model/refusal.h"
#include "wire/rest_call.h"
#include "wire/websocket.h"

namespace holdfast::wire {

Status OpenSocket(Call* call) {
  constexpr std::string_view kProtocol = "holdfast";
  if (!call->options.open) return model::Refuse("NotFound", "this server opens no WebSockets");
  if (int refused = CheckHandshake(call->request); refused == 426)
    return model::Refuse("UpgradeRequired", "this is a WebSocket: ask for an upgrade, version 13");
  else if (refused != 0)
    return model::RefuseField("Sec-WebSocket-Key", "is no proper handshake");
  HF_TRY(std::shared_ptr<ChannelHandler> handler,
         call->options.open(call->application, call->caller, call->identity));
  bool offered = call->request.Get("Sec-WebSocket-Protocol").find(kProtocol) != std::string_view::npos;
  call->response.content_type = {};
  AcceptChannel(call->request, offered ? kProtocol : std::string_view(), std::move(handler), &call->response);
  return Ok{};
}

}  // namespace holdfast::wire
