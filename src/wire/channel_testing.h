// A WebSocket client for tests: blocking, over TCP or TLS, as simple as can be.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/bytes.h"
#include "base/check.h"
#include "net/frame_testing.h"
#include "wire/websocket.h"

namespace holdfast::wire::testing {

using net::testing::ClientFrame;

// Waits until it does, but not for ever.
inline bool Becomes(const std::function<bool()>& holds) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// A key and its own certificate, in one PEM file each.
inline void WriteCertificate(const std::string& certificate_file, const std::string& key_file) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  std::FILE* file = std::fopen(certificate_file.c_str(), "w");
  PEM_write_X509(file, certificate);
  std::fclose(file);
  file = std::fopen(key_file.c_str(), "w");
  PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

class Client {
 public:
  struct Message {
    Opcode opcode = Opcode::kContinuation;  // kContinuation: the connection ended
    std::string payload;
  };

  // Connects. With `tls`, whatever certificate the server has.
  explicit Client(int port, bool tls = false, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    HF_ASSERT(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    if (!tls) return;
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to a socket that may be closed
    context_ = SSL_CTX_new(TLS_client_method());
    tls_ = SSL_new(context_);
    SSL_set_fd(tls_, fd_);
    HF_ASSERT(SSL_connect(tls_) == 1);
  }
  ~Client() {
    if (tls_ != nullptr) SSL_free(tls_);
    if (context_ != nullptr) SSL_CTX_free(context_);
    ::close(fd_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Asks for a WebSocket and returns the head of the answer.
  std::string Upgrade(std::string_view path = "/", std::string_view headers = {}) {
    SendRaw("GET " + std::string(path) +
            " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" +
            std::string(headers) + "\r\n");
    return ReadUntil("\r\n\r\n");
  }

  bool SendRaw(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t sent = tls_ != nullptr ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                                     : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Says that nothing more will be sent; answers can still be read.
  void EndSending() { ::shutdown(fd_, SHUT_WR); }
  bool Send(std::string_view text) { return SendRaw(ClientFrame(Opcode::kText, text)); }

  Message Receive() {
    std::string head = Take(2);
    if (head.size() < 2) return {};
    size_t size = static_cast<uint8_t>(head[1]);
    if (size > 125) {
      int width = size == 126 ? 2 : 8;
      size = base::ReadBigEndian(Take(static_cast<size_t>(width)), width);
    }
    return {static_cast<Opcode>(head[0] & 0x0f), Take(size)};
  }
  // The next text; "" at the end.
  std::string ReceiveText() {
    Message message = Receive();
    return message.opcode == Opcode::kText ? message.payload : "";
  }
  // Skips what comes before it; 0 when the connection ended without.
  uint16_t ReceiveClose() {
    while (true) {
      Message message = Receive();
      if (message.opcode == Opcode::kContinuation) return 0;
      if (message.opcode == Opcode::kClose && message.payload.size() >= 2)
        return static_cast<uint16_t>(base::ReadBigEndian(message.payload, 2));
    }
  }
  // Whatever comes up to and with `end`.
  std::string ReadUntil(std::string_view end) {
    while (in_.find(end) == std::string::npos) {
      if (!Fill()) return std::exchange(in_, {});
    }
    return Take(in_.find(end) + end.size());
  }
  // So many bytes; none when the connection ends before.
  std::string Take(size_t size) {
    while (in_.size() < size) {
      if (!Fill()) return {};
    }
    std::string taken = in_.substr(0, size);
    in_.erase(0, size);
    return taken;
  }
  // True when the server has closed the connection without another byte.
  bool Ended() { return in_.empty() && !Fill(); }

 private:
  bool Fill() {
    char buffer[16 << 10];
    ssize_t got =
        tls_ != nullptr ? SSL_read(tls_, buffer, sizeof buffer) : ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    in_.append(buffer, static_cast<size_t>(got));
    return true;
  }

  const int fd_;
  SSL_CTX* context_ = nullptr;
  SSL* tls_ = nullptr;
  std::string in_;
};

}  // namespace holdfast::wire::testing
