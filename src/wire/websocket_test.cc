#include "wire/websocket.h"

#include <gtest/gtest.h>

#include <tuple>

namespace holdfast::wire {
namespace {

HttpRequest Handshake() {
  return {.method = "GET",
          .path = "/",
          .headers = {{"upgrade", "WebSocket"},
                      {"connection", "keep-alive, Upgrade"},
                      {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="},
                      {"sec-websocket-version", "13"}}};
}

TEST(Handshake, IsJudgedByItsHeaders) {
  EXPECT_EQ(CheckHandshake(Handshake()), 0);
  HttpRequest request = Handshake();
  request.method = "POST";
  EXPECT_EQ(CheckHandshake(request), 400);
  for (auto [header, value, status] : {std::tuple{0, "h2c", 400},
                                       {1, "close", 400},
                                       {2, "c2hvcnQ=", 400},
                                       {2, "not base64", 400},
                                       {3, "8", 426}}) {
    request = Handshake();
    request.headers[static_cast<size_t>(header)].value = value;
    EXPECT_EQ(CheckHandshake(request), status) << value;
  }
}

}  // namespace
}  // namespace holdfast::wire
