#include "sdk/link.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "base/base64.h"
#include "base/bytes.h"
#include "sdk/protocol.h"

namespace holdfast::sdk {
namespace {

constexpr int64_t kHandshakeMillis = 10'000;
constexpr size_t kHeadBytesMax = 64 << 10;
// 16 events and a checkpoint, each as large as the server lets them be.
constexpr size_t kTextBytesMax = 16 << 20;
// From one to the next, a loop serves others.
constexpr int kReadsMax = 4;

Error SocketError(const std::string& what, int code) {
  return Error(ErrorCode::kIo, what + ": " + std::strerror(code));
}

// A peer that vanished without a word is noticed within a minute.
void SetUp(int fd) {
  auto set = [&](int level, int name, int value) { ::setsockopt(fd, level, name, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 20);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 50'000);
}

// A number after `name` in the head of an answer, or at its status; `none` when there is none.
int64_t NumberAfter(std::string_view head, std::string_view name, int64_t none) {
  auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  auto at = std::search(head.begin(), head.end(), name.begin(), name.end(), same);
  if (at == head.end()) return none;
  const char* begin = &*at + name.size();
  while (*begin == ' ') ++begin;
  std::from_chars(begin, head.data() + head.size(), none);
  return none;
}

}  // namespace

Result<Address> ParseServerUrl(std::string_view url) {
  auto bad = [&] {
    return ValidationError("the server's address " + std::string(url) +
                           " is not of the form http://host:port");
  };
  size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return bad();
  std::string_view scheme = url.substr(0, scheme_end);
  if (scheme == "https" || scheme == "wss") {
    return Error(ErrorCode::kNotSupported,
                 "the C++ SDK speaks no TLS: give it the http:// address of a proxy "
                 "beside it that does");
  }
  if (scheme != "http" && scheme != "ws") return bad();
  std::string_view rest = url.substr(scheme_end + 3);
  Address address;
  address.authority = rest.substr(0, rest.find('/'));
  address.prefix = rest.substr(address.authority.size());
  while (address.prefix.ends_with('/')) address.prefix.pop_back();
  if (std::any_of(url.begin(), url.end(),
                  [](char c) { return c <= ' ' || c == '?' || c == '#' || c == '@'; }))
    return bad();
  std::string_view authority = address.authority;
  size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return bad();
  size_t colon = authority.find(':', bracket);
  address.host = bracket > 0 ? authority.substr(1, bracket - 1) : authority.substr(0, colon);
  address.port = colon == std::string_view::npos ? "80" : authority.substr(colon + 1);
  if (address.host.empty() || address.port.empty() ||
      address.port.find_first_not_of("0123456789") != std::string::npos)
    return bad();
  return address;
}

void Link::Open(const std::string& target, const std::string& token) {
  deadline_ = loop_->After(kHandshakeMillis, [this] { Fail("the server does not answer"); });
  if (Status connecting = Connect(target, token); !connecting) {
    loop_->Cancel(deadline_);
    bool refused = connecting.error().code() == ErrorCode::kValidation;
    deadline_ = loop_->After(0, [this, why = connecting.error(), refused] { End(why, refused); });
  }
}

Status Link::Connect(const std::string& target, const std::string& token) {
  if (std::any_of(token.begin(), token.end(), [](char c) { return c <= ' ' || c > '~'; }))
    return ValidationError("the token holds what no token holds");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (int code = ::getaddrinfo(address_.host.c_str(), address_.port.c_str(), &hints, &found); code != 0)
    return Error(ErrorCode::kIo, "cannot find " + address_.host + ": " + ::gai_strerror(code));
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> freed(found, &::freeaddrinfo);
  int fd = -1, code = 0;
  for (addrinfo* one = found; one != nullptr && fd < 0; one = one->ai_next) {
    fd = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && (::connect(fd, one->ai_addr, one->ai_addrlen) == 0 || errno == EINPROGRESS)) break;
    code = errno;
    if (fd >= 0) ::close(std::exchange(fd, -1));
  }
  if (fd < 0) return SocketError("cannot connect to " + address_.authority, code);
  SetUp(fd);

  char nonce[16];
  for (size_t at = 0; at < sizeof nonce; at += 8) {
    uint64_t bits = random_.Next();
    std::memcpy(nonce + at, &bits, 8);
  }
  std::string key = base::Base64({nonce, sizeof nonce});
  accept_ = net::AcceptKey(key);
  head_.clear();
  parser_.emplace(net::Side::kServer, kTextBytesMax);
  state_ = State::kConnecting;
  base::MutexLock lock(&mu_);
  fd_ = fd;
  out_ = "GET " + address_.prefix + target + " HTTP/1.1\r\nHost: " + address_.authority +
         "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
         key + "\r\nAuthorization: Bearer " + token + "\r\n\r\n";
  waits_ = true;
  watch_ = loop_->Watch(fd_, EPOLLIN | EPOLLOUT, this);
  return Ok{};
}

void Link::Close() {
  loop_->Cancel(deadline_);
  state_ = State::kClosed;
  base::MutexLock lock(&mu_);
  if (fd_ < 0) return;
  if (open_) {  // as politeness asks for; whether it arrives does not matter
    std::string code;
    base::AppendBigEndian(&code, net::kCloseNormal, 2);
    net::AppendMaskedFrame(net::Opcode::kClose, code, static_cast<uint32_t>(random_.Next()), &out_);
    static_cast<void>(::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  loop_->Forget(fd_, watch_);
  ::close(std::exchange(fd_, -1));
  open_ = waits_ = flushes_ = false;
  out_.clear();
}

void Link::End(const Error& why, bool refused) {
  Close();
  handler_->OnClosed(why, refused);
}

void Link::Fail(std::string why) {
  End(Error(ErrorCode::kIo, std::move(why)), false);
}

void Link::OnReady(uint32_t events) {
  if (state_ == State::kConnecting) {
    int code = 0;
    socklen_t size = sizeof code;
    {
      base::MutexLock lock(&mu_);
      ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &code, &size);
    }
    if (code != 0) return End(SocketError("cannot connect to " + address_.authority, code), false);
    state_ = State::kHandshake;
  }
  if ((events & EPOLLOUT) != 0) OnRoundEnd();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  Read();
  if (state_ == State::kOpen) handler_->OnBatch();
}

void Link::OnRoundEnd() {
  base::MutexLock lock(&mu_);
  flushes_ = false;
  Flush();
}

void Link::Read() {
  std::string* scratch = loop_->scratch();
  for (int reads = 0; reads < kReadsMax; ++reads) {
    ssize_t got = 0;
    {
      base::MutexLock lock(&mu_);
      if (fd_ < 0) return;
      got = ::recv(fd_, scratch->data(), scratch->size(), 0);
    }
    if (got == 0) return Fail("the server closed the connection");
    if (got < 0) {
      if (errno == EAGAIN || errno == EINTR) return;
      return End(SocketError("the connection is lost", errno), false);
    }
    std::string_view bytes(scratch->data(), static_cast<size_t>(got));
    if (state_ == State::kHandshake)
      TakeHead(bytes);
    else
      TakeFrames(bytes);
    if (state_ == State::kClosed || static_cast<size_t>(got) < scratch->size()) return;
  }
}

// What follows the head of a 101 is frames; of any other answer, why the server will not have us.
void Link::TakeHead(std::string_view bytes) {
  head_.append(bytes);
  size_t end = head_.find("\r\n\r\n");
  if (end == std::string::npos) {
    if (head_.size() > kHeadBytesMax) Fail("the server speaks no HTTP");
    return;
  }
  std::string_view head = std::string_view(head_).substr(0, end + 2);
  auto status = static_cast<int>(NumberAfter(head, "http/1.1 ", 0));
  if (status == 101) {
    if (head.find(accept_) == std::string_view::npos) return Fail("the server speaks no WebSocket");
    loop_->Cancel(deadline_);
    state_ = State::kOpen;
    {
      base::MutexLock lock(&mu_);
      open_ = true;
    }
    std::string rest = head_.substr(end + 4);
    handler_->OnOpen();
    if (state_ == State::kOpen && !rest.empty()) TakeFrames(rest);
    return;
  }
  std::string_view body = std::string_view(head_).substr(end + 4);
  auto expected = static_cast<size_t>(std::max<int64_t>(NumberAfter(head, "\r\ncontent-length:", 0), 0));
  if (body.size() < expected && head_.size() < kHeadBytesMax) return;
  bool for_good = status >= 400 && status < 500 && status != 408 && status != 425 && status != 429;
  End(RefusalIn(body, status), for_good);
}

void Link::TakeFrames(std::string_view bytes) {
  using Event = net::FrameParser::Event;
  while (state_ == State::kOpen) {
    switch (parser_->Next(&bytes)) {
      case Event::kMore: return;
      case Event::kText: handler_->OnText(parser_->payload()); break;
      case Event::kPing: SendFrame(net::Opcode::kPong, parser_->payload()); break;
      case Event::kPong: break;
      case Event::kBinary: return Fail("the server sends what is no text");
      case Event::kBroken: return Fail("the server breaks the rules of WebSockets");
      case Event::kClose:
        return Fail("the server closed the connection: " + std::to_string(parser_->close_code()) + " " +
                    std::string(parser_->payload()));
    }
  }
}

bool Link::SendFrame(net::Opcode opcode, std::string_view payload) {
  base::MutexLock lock(&mu_);
  if (!open_) return false;
  net::AppendMaskedFrame(opcode, payload, static_cast<uint32_t>(random_.Next()), &out_);
  if (waits_ || flushes_) return true;
  if (loop_->OnThread()) {
    flushes_ = true;
    loop_->AtRoundEnd(watch_);
  } else {
    Flush();
  }
  return true;
}

void Link::Flush() {
  if (fd_ < 0) return;
  size_t sent = 0;
  while (sent < out_.size()) {
    ssize_t took = ::send(fd_, out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
    if (took < 0 && errno == EINTR) continue;
    if (took < 0) {
      // The loop's thread finds out what it is by reading.
      if (errno != EAGAIN) {
        open_ = false;
        ::shutdown(fd_, SHUT_RDWR);
        return;
      }
      break;
    }
    sent += static_cast<size_t>(took);
  }
  out_.erase(0, sent);
  if (bool waits = !out_.empty(); waits != waits_) {
    waits_ = waits;
    loop_->Rearm(fd_, watch_, EPOLLIN | (waits ? EPOLLOUT : 0U));
  }
}

}  // namespace holdfast::sdk
