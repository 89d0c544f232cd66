// WebSocket (RFC 6455), server side: the handshake. Frames are in net/frame.h.
#pragma once

#include <string_view>

#include "net/frame.h"
#include "wire/http_parser.h"

namespace holdfast::wire {

using net::AcceptKey;
using net::EncodeClose;
using net::EncodeFrame;
using net::Frame;
using net::FrameParser;
using net::kCloseGoingAway;
using net::kCloseNormal;
using net::kClosePolicy;
using net::kCloseProtocolError;
using net::kCloseTryLater;
using net::kCloseUnsupported;
using net::kFrameRoom;
using net::kMessageBytesMax;
using net::Opcode;
using net::TakeTextFrame;
using net::TextFrame;

// True when the request asks for a WebSocket at all: whether rightly is for CheckHandshake to say.
bool WantsWebSocket(const HttpRequest& request);
// The status to refuse the handshake with: 400, or 426 for another version of the protocol; 0 when it is in
// order.
int CheckHandshake(const HttpRequest& request);

}  // namespace holdfast::wire
