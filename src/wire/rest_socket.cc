// WebSockets: a request that ends in a channel.

#include "model/refusal.h"
#include "wire/rest_call.h"
#include "wire/websocket.h"

namespace holdfast::wire {

Status CheckSocket(const HttpRequest& request) {
  int refused = CheckHandshake(request);
  if (refused == 0) return Ok{};
  if (refused == 426)
    return model::Refuse("UpgradeRequired", "this is a WebSocket: ask for an upgrade, version 13");
  return model::RefuseField("Sec-WebSocket-Key", "is no proper handshake");
}

void AcceptSocket(const HttpRequest& request, std::shared_ptr<ChannelHandler> handler,
                  HttpResponse* response) {
  constexpr std::string_view kProtocol = "holdfast";
  bool offered = request.Get("Sec-WebSocket-Protocol").find(kProtocol) != std::string_view::npos;
  response->content_type = {};
  AcceptChannel(request, offered ? kProtocol : std::string_view(), std::move(handler), response);
}

Status OpenSocket(Call* call) {
  if (!call->options.open) return model::Refuse("NotFound", "this server opens no WebSockets");
  HF_CHECK_OK(CheckSocket(call->request));
  HF_TRY(std::shared_ptr<ChannelHandler> handler,
         call->options.open(call->application, call->caller, call->identity));
  AcceptSocket(call->request, std::move(handler), &call->response);
  return Ok{};
}

}  // namespace holdfast::wire
