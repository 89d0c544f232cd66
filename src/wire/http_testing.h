// A client for tests of what speaks HTTP: one request a connection, nothing assumed of the answer.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "wire/http_parser.h"

namespace holdfast::wire::testing {

struct Answered {
  int status = 0;  // 0: none came
  std::string head;
  std::string body;

  // Without regard to case; empty when there is none.
  std::string Header(std::string_view name) const {
    std::string_view rest = head;
    while (!rest.empty()) {
      size_t end = rest.find("\r\n");
      std::string_view line = rest.substr(0, end);
      size_t colon = line.find(": ");
      if (colon != std::string_view::npos && EqualsIgnoringCase(line.substr(0, colon), name))
        return std::string(line.substr(colon + 2));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
    }
    return {};
  }
};

// `headers` without line ends; Content-Length and Connection are added, and a Host where there is none.
inline Answered Ask(int port, const std::string& method, const std::string& target,
                    const std::vector<std::string>& headers = {}, const std::string& body = {}) {
  std::string text = method + " " + target + " HTTP/1.1\r\nConnection: close\r\n";
  bool named = false;
  for (const std::string& header : headers) {
    named = named || header.starts_with("Host:");
    text += header + "\r\n";
  }
  if (!named) text += "Host: localhost\r\n";
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  text += "\r\n" + body;

  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string got;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size())) {
    char piece[4096];
    for (ssize_t size; (size = ::recv(fd, piece, sizeof piece, 0)) > 0;)
      got.append(piece, static_cast<size_t>(size));
  }
  ::close(fd);
  Answered answered;
  size_t end = got.find("\r\n\r\n");
  if (end == std::string::npos) return answered;
  answered.head = got.substr(0, end);
  answered.body = got.substr(end + 4);
  answered.status = std::atoi(answered.head.c_str() + std::string_view("HTTP/1.1 ").size());
  return answered;
}

}  // namespace holdfast::wire::testing
