// A server of WebSockets for tests: blocking, one connection after the other, and as wilful as the test
// wants.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "holdfast/value.h"
#include "json/plain.h"
#include "net/frame.h"

namespace holdfast::sdk::testing {

// A client's connection. Waits for at most 20 s.
class Connection {
 public:
  // Reads the request's head.
  explicit Connection(int fd) : fd_(fd) {
    timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while (head_.find("\r\n\r\n") == std::string::npos && Fill(&head_)) {
    }
  }
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::string& head() const { return head_; }
  void SendRaw(std::string_view bytes) {
    HF_ASSERT(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  void Accept(std::string_view with = {}) {
    constexpr std::string_view kName = "Sec-WebSocket-Key: ";
    size_t at = head_.find(kName) + kName.size();
    std::string key = head_.substr(at, head_.find("\r\n", at) - at);
    SendRaw("HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: " + net::AcceptKey(key) + "\r\n\r\n" +
            std::string(with));
  }
  void Send(std::string_view text) { SendRaw(net::EncodeFrame(net::Opcode::kText, text)); }
  // The next text; "" at the end.
  std::string ReceiveText() {
    using Event = net::FrameParser::Event;
    while (texts_.empty()) {
      std::string bytes;
      if (!Fill(&bytes)) return "";
      std::string_view rest = bytes;
      for (Event event; (event = parser_.Next(&rest)) != Event::kMore;) {
        if (event == Event::kText) texts_.emplace_back(parser_.payload());
        if (event == Event::kClose || event == Event::kBroken) return "";
      }
    }
    std::string text = std::move(texts_.front());
    texts_.pop_front();
    return text;
  }
  // The same, read; empty at the end.
  Item Receive() { return json::ReadPlainItem(ReceiveText()).value_or(Item()); }

 private:
  bool Fill(std::string* out) const {
    char buffer[64 << 10];
    ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got > 0) out->append(buffer, static_cast<size_t>(got));
    return got > 0;
  }

  const int fd_;
  std::string head_;
  net::FrameParser parser_{net::Side::kClient, net::kMessageBytesMax};
  std::deque<std::string> texts_;
};

class Server {
 public:
  Server() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    HF_ASSERT(::bind(fd_, generic, size) == 0 && ::listen(fd_, 128) == 0);
    ::getsockname(fd_, generic, &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~Server() { ::close(fd_); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& url() const { return url_; }
  // The next connection, with its request read and not answered.
  std::unique_ptr<Connection> Next() { return std::make_unique<Connection>(::accept(fd_, nullptr, nullptr)); }

 private:
  const int fd_;
  std::string url_;
};

// "" for what is not there or no text.
inline std::string TextOf(const Item& item, std::string_view name) {
  std::optional<AttributeValue> value = item.Get(name);
  return value && value->type() == AttributeValue::Type::kString ? value->AsText() : "";
}
// -1 for what is not there or no number.
inline int64_t NumberOf(const Item& item, std::string_view name) {
  std::optional<AttributeValue> value = item.Get(name);
  return value ? value->AsInt64().value_or(-1) : -1;
}

}  // namespace holdfast::sdk::testing
