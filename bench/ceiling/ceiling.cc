// The ceiling: a bare epoll server that answers every request with the same bytes, as many as a GetItem of
// the bench's items gets. Nothing that speaks HTTP on sockets can be much faster; the distance to it is what
// the database costs.
//
//   holdfast_ceiling PORT

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string MakeAnswer() {
  std::string body(660, 'x');
  return "HTTP/1.1 200 OK\r\nServer: ceiling\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: "
         "application/x-amz-json-1.0\r\nContent-Length: " +
         std::to_string(body.size()) +
         "\r\nConnection: keep-alive\r\nx-amzn-RequestId: "
         "0123456789ABCDEFGHIJ0123456789ABCDEFGHIJ0123456789AB\r\n"
         "x-amz-crc32: 1234567890\r\n\r\n" +
         body;
}

void Serve(int listen_fd, const std::string& answer) {
  int epoll = ::epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLEXCLUSIVE;
  event.data.fd = listen_fd;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, listen_fd, &event);
  std::vector<char> buffer(1 << 16);
  epoll_event events[64];
  while (true) {
    int count = ::epoll_wait(epoll, events, 64, -1);
    for (int i = 0; i < count; ++i) {
      int fd = events[i].data.fd;
      if (fd == listen_fd) {
        int accepted = ::accept4(listen_fd, nullptr, nullptr, SOCK_NONBLOCK);
        if (accepted < 0) continue;
        int on = 1;
        ::setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        event.events = EPOLLIN;
        event.data.fd = accepted;
        ::epoll_ctl(epoll, EPOLL_CTL_ADD, accepted, &event);
        continue;
      }
      ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
      if (got <= 0) {
        ::close(fd);
        continue;
      }
      ssize_t sent = ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      static_cast<void>(sent);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int port = argc > 1 ? std::atoi(argv[1]) : 8009;
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 128) != 0) {
    std::perror("holdfast_ceiling");
    return 1;
  }
  std::string answer = MakeAnswer();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { Serve(fd, answer); });
  for (std::thread& thread : threads) thread.join();
}
