// A WebSocket connection as those see it who talk over it: texts in, texts out.
//
//   // in an HttpHandler:
//   AcceptChannel(exchange->request(), "holdfast", std::make_shared<MyTalk>(), &exchange->response());
//   return Handled::kDone;
//
// A channel that nobody reads from holds at most kWaitingBytesMax and the frame that broke the bound: then it
// is closed with 1013. Senders with more to say than that pace themselves by waiting_bytes() and OnRoom().
//
// Thread safety: a Channel may be used from any thread, and after its end, when it takes nothing more. The
// calls of a handler come one at a time, on the connection's I/O thread: they must not block.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "wire/websocket.h"

namespace holdfast::wire {

// More than this waiting to be sent is taken for a peer that does not read.
inline constexpr size_t kWaitingBytesMax = 1 << 20;
// Below this much waiting there is room for more: OnRoom().
inline constexpr size_t kRoomBytes = 256 << 10;

class Channel {
 public:
  virtual ~Channel() = default;
  // Sends after all that was sent before. Never blocks. False: the channel is at its end.
  virtual bool Send(Frame frame) = 0;
  bool Send(std::string_view text) { return Send(TextFrame(text)); }
  // What was sent before still goes out. A second call does nothing.
  virtual void Close(uint16_t code, std::string_view reason) = 0;
  // Of frames that have not been handed to the operating system.
  virtual size_t waiting_bytes() const = 0;
  // For how long none of them has moved; 0 when none waits.
  virtual int64_t stalled_micros() const = 0;
};

class ChannelHandler {
 public:
  virtual ~ChannelHandler() = default;
  // First. The channel may be kept for as long as one likes.
  virtual void OnOpen(std::shared_ptr<Channel> channel) = 0;
  // A whole text, UTF-8. The view is gone when this returns.
  virtual void OnMessage(Channel* channel, std::string_view text) = 0;
  // Less than kRoomBytes wait again after it was more.
  virtual void OnRoom(Channel*) {}
  // Last, once, whoever ended it. When the server is destroyed, on the thread that does so.
  virtual void OnClosed(Channel* channel) = 0;
};

struct HttpResponse;
// Answers 101, after which the connection belongs to `handler`; or 400 or 426 when the request is no proper
// handshake: then false. `protocol` is the one to name in the answer; empty: none.
bool AcceptChannel(const HttpRequest& request, std::string_view protocol,
                   std::shared_ptr<ChannelHandler> handler, HttpResponse* response);

}  // namespace holdfast::wire
