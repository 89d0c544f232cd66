#include "wire/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <functional>
#include <list>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "wire/channel_queue.h"
#include "wire/tls.h"

namespace holdfast::wire {
namespace {

constexpr size_t kReadSize = 16 << 10;
constexpr int64_t kTickMillis = 500;
constexpr size_t kLingerBytesMax = 64 << 20;
constexpr int64_t kLingerMicrosMax = 5'000'000;

std::string_view StatusText(int status) {
  switch (status) {
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Request Entity Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Entity";
    case 426: return "Upgrade Required";
    case 429: return "Too Many Requests";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    default: return "Unknown";
  }
}

class Loop;

// What all loops of one server share.
struct Shared {
  HttpServerOptions options;
  HttpHandler* handler;
  const base::Log* log;
  std::unique_ptr<TlsContext> tls;
  std::atomic<size_t> connections{0};
  std::atomic<size_t> buffered_bytes{0};
  std::atomic<bool> draining{false};
};

// A growable buffer that always keeps kBodyPaddingBytes bytes of room after its content.
class ReadBuffer {
 public:
  std::string_view content() const { return {bytes_.get() + begin_, end_ - begin_}; }
  size_t capacity() const { return capacity_; }

  // Room for at least `size` more bytes after the content.
  char* Reserve(size_t size) {
    if (end_ + size + kBodyPaddingBytes > capacity_) {
      size_t used = end_ - begin_;
      // At least twofold: a body in chunks does not say how long it will be.
      size_t wanted = std::max(kReadSize, used + std::max(size, used)) + kBodyPaddingBytes;
      if (wanted <= capacity_) {
        std::memmove(bytes_.get(), bytes_.get() + begin_, used);
      } else {
        std::unique_ptr<char[]> larger(new char[wanted]);
        if (used > 0) std::memcpy(larger.get(), bytes_.get() + begin_, used);
        bytes_ = std::move(larger);
        capacity_ = wanted;
      }
      begin_ = 0;
      end_ = used;
    }
    return bytes_.get() + end_;
  }
  size_t room() const { return capacity_ - end_ - kBodyPaddingBytes; }
  void Commit(size_t size) { end_ += size; }
  void Consume(size_t size) {
    begin_ += size;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  // Gives back the memory of an unusually large request.
  void Shrink() {
    if (begin_ == end_ && capacity_ > (256 << 10)) {
      bytes_.reset();
      begin_ = end_ = capacity_ = 0;
    }
  }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t begin_ = 0, end_ = 0, capacity_ = 0;
};

class Connection final : public Exchange {
 public:
  Connection(Loop* loop, Shared* shared, int fd);
  ~Connection() override;

  const HttpRequest& request() const override { return parser_.request(); }
  void Finish() override;
  bool abandoned() const override { return abandoned_.load(std::memory_order_relaxed); }
  void Done(const Status& durable) override {
    shared_->handler->Durable(this, durable);
    Finish();
  }

  // On the loop's thread.
  void OnEvents(uint32_t events);
  void OnFinished();
  void CheckTime(int64_t now_micros);
  void StartDraining();
  void Close();

  bool closed() const { return fd_ < 0; }
  bool busy() const { return busy_; }
  int fd() const { return fd_; }
  std::list<std::unique_ptr<Connection>>::iterator self;

 private:
  enum class Io : uint8_t { kProgress, kBlocked, kClosed };

  void Drive();
  Io Read();
  void HandleRequests();
  void HandleOne(size_t consumed);
  void QueueResponse();
  void Refuse(int status);
  void Linger();
  Io Write();
  void Account();

  // --- once it is a WebSocket ---
  void OpenChannel();
  // False when nothing moves any more; `blocked`: the peer does not take what is in out_.
  bool MoveChannel(bool blocked);
  void Receive(std::string_view* bytes);
  void CheckChannelTime(int64_t now_micros);
  void EndChannel();

  // What a connection has beyond HTTP when it is a WebSocket.
  struct Talk {
    std::shared_ptr<ChannelHandler> handler;
    std::shared_ptr<ChannelQueue> queue;
    std::shared_ptr<Connection*> self;  // null once the talk is over
    FrameParser parser{net::Side::kClient, kMessageBytesMax};
    int64_t heard_micros;
    int64_t pinged_micros;
  };

  Loop* const loop_;
  Shared* const shared_;
  int fd_;
  SSL* tls_ = nullptr;
  ReadBuffer in_;
  size_t accounted_ = 0;  // of shared_->buffered_bytes
  std::string out_;
  size_t out_at_ = 0;
  HttpParser parser_;
  size_t request_bytes_ = 0;
  bool readable_ = false;
  bool pipelined_ = false;  // bytes of a further request are in in_
  bool peer_done_ = false;  // has sent its last byte
  bool busy_ = false;       // the handler has the exchange
  bool closing_ = false;    // after out_ has been sent
  bool lingers_ = false;    // and after the client has noticed
  bool shut_down_ = false;
  std::atomic<bool> abandoned_{false};
  size_t linger_bytes_ = 0;
  int64_t active_micros_;  // last sign of life
  int64_t request_began_micros_ = 0;
  int64_t close_by_micros_ = 0;
  std::unique_ptr<Talk> talk_;
};

class Loop {
 public:
  Loop(Shared* shared, int number);
  ~Loop();

  void Start() {
    thread_ = std::thread([this] { Run(); });
  }
  void Stop();
  // From any thread: a task for the loop's thread.
  void Post(std::function<void()> task);
  // From any thread: the exchange's answer is ready.
  void PostFinished(Connection* connection);
  void AddConnection(int fd);
  void Listen(int listen_fd, std::function<void(int fd)> accepted);
  void StopListening();
  void Drain();

  int epoll_fd() const { return epoll_fd_; }
  std::string_view date_header();
  void Remove(Connection* connection);

 private:
  void Run();
  void Wake();
  void RunPosted();
  void Accept();
  void Tick();

  Shared* const shared_;
  const int number_;
  int epoll_fd_;
  int wake_fd_;
  int listen_fd_ = -1;
  std::function<void(int fd)> accepted_;
  std::list<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> doomed_;  // closed in this round, deleted at its end
  int64_t next_tick_micros_ = 0;
  time_t date_seconds_ = 0;
  char date_[64] = {};

  base::Mutex mu_;
  bool woken_ HF_GUARDED_BY(mu_) = false;
  std::vector<std::function<void()>> tasks_ HF_GUARDED_BY(mu_);
  std::vector<Connection*> finished_ HF_GUARDED_BY(mu_);
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// --- Connection ---

Connection::Connection(Loop* loop, Shared* shared, int fd)
    : loop_(loop),
      shared_(shared),
      fd_(fd),
      parser_(shared->options.body_bytes_max),
      active_micros_(base::SteadyMicros()) {
  if (shared_->tls != nullptr) tls_ = shared_->tls->NewConnection(fd);
  shared_->connections.fetch_add(1);
  shared_->handler->Connected(+1);
}

Connection::~Connection() {
  HF_ASSERT(!busy_);
  EndChannel();
  if (tls_ != nullptr) SSL_free(tls_);
  if (fd_ >= 0) ::close(fd_);
  shared_->buffered_bytes.fetch_sub(accounted_);
  shared_->handler->Connected(-1);
  shared_->connections.fetch_sub(1);
}

void Connection::Close() {
  if (fd_ < 0) return;
  ::close(fd_);
  fd_ = -1;
  abandoned_ = true;
  EndChannel();
  if (!busy_) loop_->Remove(this);
}

void Connection::Finish() {
  loop_->PostFinished(this);
}

void Connection::OnEvents(uint32_t events) {
  if (closed()) return;
  if ((events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0) abandoned_ = true;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0 && (events & EPOLLIN) == 0) return Close();
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) readable_ = true;
  Drive();
}

void Connection::OnFinished() {
  busy_ = false;
  if (closed()) {
    loop_->Remove(this);
    return;
  }
  QueueResponse();
  Drive();
}

// Does whatever can be done now: send, read, handle, until nothing moves.
void Connection::Drive() {
  while (!closed()) {
    Io wrote = Write();
    if (wrote == Io::kClosed) return Close();
    bool sending = out_at_ < out_.size();
    if (closing_ && !sending && !busy_) {
      if (!lingers_) return Close();
      return Linger();
    }
    if (talk_ != nullptr) {
      if (!MoveChannel(wrote == Io::kBlocked)) return;
      continue;
    }
    // A client that does not read its answers is not read from either.
    if (busy_ || closing_ || sending) return;
    if (std::exchange(pipelined_, false)) {
      HandleRequests();
      continue;
    }
    if (!readable_) {
      if (peer_done_) Close();
      return;
    }
    switch (Read()) {
      case Io::kClosed: return Close();
      case Io::kBlocked: readable_ = false; break;
      case Io::kProgress: break;
    }
    HandleRequests();
  }
}

Connection::Io Connection::Read() {
  while (true) {
    size_t expected = parser_.expected_bytes();
    size_t have = in_.content().size();
    char* to = in_.Reserve(std::max(kReadSize, expected > have ? expected - have : 0));
    size_t room = in_.room();
    ssize_t got;
    if (tls_ != nullptr) {
      ERR_clear_error();  // of another connection: SSL_get_error would take it for one of this
      got = SSL_read(tls_, to, static_cast<int>(std::min<size_t>(room, INT32_MAX)));
      if (got <= 0) {
        int why = SSL_get_error(tls_, static_cast<int>(got));
        if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return Io::kBlocked;
        return Io::kClosed;
      }
    } else {
      got = ::recv(fd_, to, room, 0);
      if (got < 0) {
        if (errno == EINTR) continue;
        return errno == EAGAIN ? Io::kBlocked : Io::kClosed;
      }
      if (got == 0) {
        peer_done_ = true;
        return have == 0 && out_at_ == out_.size() ? Io::kClosed : Io::kBlocked;
      }
    }
    in_.Commit(static_cast<size_t>(got));
    active_micros_ = base::SteadyMicros();
    if (request_began_micros_ == 0) request_began_micros_ = active_micros_;
    Account();
    // Less than there was room for: the socket is drained, and new bytes will bring a new event.
    bool drained = tls_ == nullptr && static_cast<size_t>(got) < room;
    if (drained) readable_ = false;
    return Io::kProgress;
  }
}

void Connection::Account() {
  size_t now = in_.capacity() + (talk_ == nullptr ? 0 : talk_->parser.held_bytes());
  if (now == accounted_) return;
  shared_->buffered_bytes.fetch_add(now - accounted_);  // wraps around where it shrinks
  accounted_ = now;
}

void Connection::HandleRequests() {
  while (!busy_ && !closing_ && !closed() && talk_ == nullptr) {
    size_t consumed = 0;
    std::string_view content = in_.content();
    if (content.empty()) break;
    switch (parser_.Parse(content, &consumed)) {
      case HttpParser::Outcome::kMore:
        if (accounted_ > kReadSize * 2 &&
            shared_->buffered_bytes.load(std::memory_order_relaxed) > shared_->options.buffered_bytes_max) {
          return Refuse(503);
        }
        return;
      case HttpParser::Outcome::kContinue: out_.append("HTTP/1.1 100 Continue\r\n\r\n"); return;
      case HttpParser::Outcome::kRequest: HandleOne(consumed); break;
      case HttpParser::Outcome::kBadRequest:
      case HttpParser::Outcome::kTooLargeHead: return Refuse(400);
      case HttpParser::Outcome::kTooLargeBody: return Refuse(413);
      case HttpParser::Outcome::kNotSupported: return Refuse(501);
    }
  }
  if (!busy_ && in_.content().empty()) {
    in_.Shrink();
    Account();
    request_began_micros_ = 0;
  }
}

void Connection::HandleOne(size_t consumed) {
  request_bytes_ = consumed;
  response_.Clear();
  started_micros = base::SteadyMicros();
  busy_ = true;
  if (shared_->handler->Handle(this) == HttpHandler::Handled::kPending) return;
  busy_ = false;
  QueueResponse();
}

// The answer into out_, and the request out of in_.
void Connection::QueueResponse() {
  bool upgrades = response_.channel != nullptr;
  bool keep = upgrades || (parser_.request().keep_alive && !response_.close &&
                           !shared_->draining.load(std::memory_order_relaxed));
  size_t before = out_.size();
  out_.reserve(before + 320 + response_.headers.size() + response_.body.size());
  out_.append("HTTP/1.1 ")
      .append(std::to_string(response_.status))
      .append(" ")
      .append(StatusText(response_.status));
  out_.append("\r\nServer: holdfast\r\nDate: ").append(loop_->date_header());
  if (!response_.content_type.empty()) out_.append("\r\nContent-Type: ").append(response_.content_type);
  if (!upgrades && response_.status != 204 && response_.status != 304)
    out_.append("\r\nContent-Length: ").append(std::to_string(response_.body.size()));
  out_.append("\r\nConnection: ").append(upgrades ? "Upgrade\r\n" : keep ? "keep-alive\r\n" : "close\r\n");
  out_.append(response_.headers).append("\r\n");
  if (parser_.request().method != "HEAD") out_.append(response_.body);
  shared_->handler->Answered(this, request_bytes_, out_.size() - before);
  in_.Consume(request_bytes_);
  parser_.Reset();
  pipelined_ = !in_.content().empty();
  request_began_micros_ = pipelined_ ? base::SteadyMicros() : 0;
  if (!keep) closing_ = true;
  if (response_.body.capacity() > (1 << 20)) response_.body = {};
  if (upgrades) OpenChannel();
}

// An answer to something that is no request.
void Connection::Refuse(int status) {
  out_.append("HTTP/1.1 ").append(std::to_string(status)).append(" ").append(StatusText(status));
  out_.append("\r\nServer: holdfast\r\nConnection: close\r\n");
  if (status == 413) {
    // As AWS sends it.
    out_.append("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  } else {
    out_.append("Content-Length: 0\r\n\r\n");
  }
  closing_ = true;
  lingers_ = true;
}

// The client is still sending what we refused. Closing now would reset the connection under the answer it has
// yet to read: so say that we are done, and throw away what comes, for a while.
void Connection::Linger() {
  if (!std::exchange(shut_down_, true)) {
    if (tls_ != nullptr) SSL_shutdown(tls_);
    ::shutdown(fd_, SHUT_WR);
  }
  char discarded[kReadSize];
  while (linger_bytes_ < kLingerBytesMax) {
    ssize_t got = ::recv(fd_, discarded, sizeof discarded, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      readable_ = false;
      return;
    }
    if (got <= 0) break;
    linger_bytes_ += static_cast<size_t>(got);
  }
  Close();
}

Connection::Io Connection::Write() {
  while (out_at_ < out_.size()) {
    ssize_t sent;
    if (tls_ != nullptr) {
      size_t size = std::min<size_t>(out_.size() - out_at_, 1 << 30);
      ERR_clear_error();
      sent = SSL_write(tls_, out_.data() + out_at_, static_cast<int>(size));
      if (sent <= 0) {
        int why = SSL_get_error(tls_, static_cast<int>(sent));
        if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return Io::kBlocked;
        return Io::kClosed;
      }
    } else {
      sent = ::send(fd_, out_.data() + out_at_, out_.size() - out_at_, MSG_NOSIGNAL);
      if (sent < 0) {
        if (errno == EINTR) continue;
        return errno == EAGAIN ? Io::kBlocked : Io::kClosed;
      }
    }
    out_at_ += static_cast<size_t>(sent);
    active_micros_ = base::SteadyMicros();
    if (talk_ != nullptr) talk_->queue->Moved();
  }
  out_.clear();
  out_at_ = 0;
  if (out_.capacity() > (1 << 20)) out_.shrink_to_fit();
  return Io::kProgress;
}

void Connection::CheckTime(int64_t now_micros) {
  if (closed() || busy_) return;
  if (talk_ != nullptr) return CheckChannelTime(now_micros);
  if (close_by_micros_ != 0 && now_micros > close_by_micros_) return Close();
  if (shut_down_ && now_micros - active_micros_ > kLingerMicrosMax) return Close();
  bool receiving = request_began_micros_ != 0;
  bool sending = out_at_ < out_.size();
  int64_t since = receiving && !sending ? request_began_micros_ : active_micros_;
  int64_t allowed =
      receiving || sending ? shared_->options.request_seconds_max : shared_->options.idle_seconds_max;
  if (now_micros - since > allowed * 1'000'000) Close();
}

void Connection::StartDraining() {
  if (closed() || busy_) return;
  if (talk_ != nullptr) return talk_->queue->Close(kCloseGoingAway, "the server stops");
  if (in_.content().empty() && out_at_ == out_.size()) return Close();
}

// --- Connection, once it is a WebSocket ---

void Connection::OpenChannel() {
  talk_ = std::make_unique<Talk>();
  talk_->handler = std::move(response_.channel);
  talk_->self = std::make_shared<Connection*>(this);
  talk_->pinged_micros = talk_->heard_micros = base::SteadyMicros();
  talk_->queue = std::make_shared<ChannelQueue>([loop = loop_, self = talk_->self] {
    loop->Post([self] {
      if (*self != nullptr) (*self)->Drive();
    });
  });
  pipelined_ = false;  // what came after the handshake are frames
  request_began_micros_ = 0;
  talk_->handler->OnOpen(talk_->queue);
  if (shared_->draining.load()) StartDraining();
}

bool Connection::MoveChannel(bool blocked) {
  if (talk_->queue->Take(&out_) == ChannelQueue::State::kEnding) {
    closing_ = lingers_ = true;
    close_by_micros_ = base::SteadyMicros() + kLingerMicrosMax;
    EndChannel();
    return true;
  }
  if (talk_->queue->TakeRoom()) talk_->handler->OnRoom(talk_->queue.get());
  if (!in_.content().empty()) {
    std::string_view bytes = in_.content();
    size_t size = bytes.size();
    Receive(&bytes);
    in_.Consume(size - bytes.size());
    in_.Shrink();
    Account();
    return true;
  }
  if (!blocked && !out_.empty()) return true;
  if (!readable_) {
    if (peer_done_) Close();
    return false;
  }
  switch (Read()) {
    case Io::kClosed: Close(); break;
    case Io::kBlocked: readable_ = false; break;
    case Io::kProgress: break;
  }
  return true;
}

void Connection::Receive(std::string_view* bytes) {
  ChannelQueue* queue = talk_->queue.get();
  FrameParser& parser = talk_->parser;
  talk_->heard_micros = base::SteadyMicros();
  while (!queue->ending()) {
    switch (parser.Next(bytes)) {
      case FrameParser::Event::kText: talk_->handler->OnMessage(queue, parser.payload()); break;
      case FrameParser::Event::kPing:
        queue->Send(std::make_shared<const std::string>(EncodeFrame(Opcode::kPong, parser.payload())));
        break;
      case FrameParser::Event::kPong: break;
      case FrameParser::Event::kBinary: queue->Close(kCloseUnsupported, "only texts are understood"); break;
      case FrameParser::Event::kClose: queue->Close(parser.close_code(), {}); break;
      case FrameParser::Event::kBroken: queue->Close(parser.close_code(), {}); break;
      case FrameParser::Event::kMore:
        if (parser.held_bytes() > kReadSize * 2 &&
            shared_->buffered_bytes.load(std::memory_order_relaxed) > shared_->options.buffered_bytes_max) {
          queue->Close(kCloseTryLater, "the server has no memory for this message");
        }
        return;
    }
  }
  *bytes = {};
}

void Connection::CheckChannelTime(int64_t now_micros) {
  if (now_micros - talk_->heard_micros > shared_->options.silence_millis_max * 1000) return Close();
  if (now_micros - talk_->pinged_micros < shared_->options.ping_millis * 1000) return;
  talk_->pinged_micros = now_micros;
  talk_->queue->Send(std::make_shared<const std::string>(EncodeFrame(Opcode::kPing, {})));
}

void Connection::EndChannel() {
  if (talk_ == nullptr) return;
  std::unique_ptr<Talk> over = std::move(talk_);
  *over->self = nullptr;
  over->queue->End();
  over->handler->OnClosed(over->queue.get());
}

// --- Loop ---

Loop::Loop(Shared* shared, int number)
    : shared_(shared),
      number_(number),
      epoll_fd_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  HF_ASSERT(epoll_fd_ >= 0 && wake_fd_ >= 0);
  epoll_event event{};
  // Edge-triggered: each write is an event, and the counter never needs to be read.
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  HF_ASSERT(::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event) == 0);
}

Loop::~Loop() {
  Stop();
  RunPosted();  // whoever had an exchange has given it back by now
  connections_.clear();
  ::close(wake_fd_);
  ::close(epoll_fd_);
}

void Loop::Stop() {
  if (!thread_.joinable()) return;
  stop_ = true;
  Wake();
  thread_.join();
}

void Loop::Wake() {
  uint64_t one = 1;
  ssize_t written = ::write(wake_fd_, &one, sizeof one);
  static_cast<void>(written);  // full means that a wake-up is due anyway
}

void Loop::Post(std::function<void()> task) {
  bool wake;
  {
    base::MutexLock lock(&mu_);
    tasks_.push_back(std::move(task));
    wake = !std::exchange(woken_, true);
  }
  if (wake) Wake();
}

void Loop::PostFinished(Connection* connection) {
  bool wake;
  {
    base::MutexLock lock(&mu_);
    finished_.push_back(connection);
    wake = !std::exchange(woken_, true);
  }
  if (wake) Wake();
}

void Loop::AddConnection(int fd) {
  connections_.push_back(std::make_unique<Connection>(this, shared_, fd));
  Connection* connection = connections_.back().get();
  connection->self = std::prev(connections_.end());
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = connection;
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) connection->Close();
}

void Loop::Listen(int listen_fd, std::function<void(int fd)> accepted) {
  listen_fd_ = listen_fd;
  accepted_ = std::move(accepted);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = this;
  HF_ASSERT(::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, listen_fd, &event) == 0);
}

void Loop::StopListening() {
  if (listen_fd_ < 0) return;
  ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, listen_fd_, nullptr);
  ::close(listen_fd_);
  listen_fd_ = -1;
}

void Loop::Drain() {
  StopListening();
  for (auto at = connections_.begin(); at != connections_.end();) (at++)->get()->StartDraining();
}

void Loop::Remove(Connection* connection) {
  doomed_.push_back(connection);
}

std::string_view Loop::date_header() {
  time_t now = ::time(nullptr);
  if (now != date_seconds_) {
    date_seconds_ = now;
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::strftime(date_, sizeof date_, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  }
  return date_;
}

void Loop::Accept() {
  while (true) {
    int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;  // EAGAIN, or out of descriptors: the next round tries again
    }
    if (shared_->connections.load() >= shared_->options.connections_max) {
      static constexpr std::string_view kBusy =
          "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
      ssize_t sent = ::send(fd, kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      static_cast<void>(sent);
      ::close(fd);
      continue;
    }
    int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    accepted_(fd);
  }
}

void Loop::RunPosted() {
  std::vector<std::function<void()>> tasks;
  std::vector<Connection*> finished;
  {
    base::MutexLock lock(&mu_);
    woken_ = false;
    tasks.swap(tasks_);
    finished.swap(finished_);
  }
  for (Connection* connection : finished) connection->OnFinished();
  for (auto& task : tasks) task();
}

void Loop::Tick() {
  int64_t now = base::SteadyMicros();
  if (now < next_tick_micros_) return;
  next_tick_micros_ = now + kTickMillis * 1000;
  for (auto at = connections_.begin(); at != connections_.end();) (at++)->get()->CheckTime(now);
}

void Loop::Run() {
  base::NameThread(("io-" + std::to_string(number_)).c_str());
  std::vector<epoll_event> events(256);
  while (!stop_) {
    int count = ::epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), kTickMillis);
    for (int i = 0; i < count; ++i) {
      void* who = events[static_cast<size_t>(i)].data.ptr;
      if (who == nullptr) continue;  // a wake-up
      if (who == this) {
        Accept();
      } else {
        static_cast<Connection*>(who)->OnEvents(events[static_cast<size_t>(i)].events);
      }
    }
    RunPosted();
    Tick();
    for (Connection* connection : doomed_) connections_.erase(connection->self);
    doomed_.clear();
  }
  StopListening();
}

// --- the server ---

Result<int> OpenListener(const HttpServerOptions& options) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  std::string port = std::to_string(options.port);
  if (int failed = ::getaddrinfo(options.address.c_str(), port.c_str(), &hints, &found); failed != 0) {
    return Error(ErrorCode::kIo, "cannot listen on " + options.address + ": " + ::gai_strerror(failed));
  }
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Error(ErrorCode::kIo, std::string("cannot open a socket: ") + std::strerror(errno));
  int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, 1024) != 0) {
    std::string why = std::strerror(errno);
    bool taken = errno == EADDRINUSE;
    ::close(fd);
    return Error(ErrorCode::kIo, "cannot listen on " + options.address + ":" + port + ": " + why +
                                     (taken ? "; another server has the port, choose one with --port" : ""));
  }
  return fd;
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port)
                                       : ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

class EpollServer final : public HttpServer {
 public:
  EpollServer(const HttpServerOptions& options, HttpHandler* handler, const base::Log* log,
              std::unique_ptr<TlsContext> tls, int listen_fd)
      : port_(PortOf(listen_fd)) {
    shared_.options = options;
    shared_.handler = handler;
    shared_.log = log;
    shared_.tls = std::move(tls);
    int threads = options.io_threads > 0 ? options.io_threads
                                         : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    for (int i = 0; i < threads; ++i) loops_.push_back(std::make_unique<Loop>(&shared_, i));
    loops_[0]->Listen(listen_fd, [this](int fd) {
      Loop* loop = loops_[next_++ % loops_.size()].get();
      if (loop == loops_[0].get()) {
        loop->AddConnection(fd);
      } else {
        loop->Post([loop, fd] { loop->AddConnection(fd); });
      }
    });
    for (auto& loop : loops_) loop->Start();
  }

  ~EpollServer() override { Stop(); }

  void Stop() override {
    for (auto& loop : loops_) loop->Stop();
  }

  int port() const override { return port_; }
  size_t connections() const override { return shared_.connections.load(); }

  void Drain(int64_t millis) override {
    shared_.draining = true;
    for (auto& loop : loops_) loop->Post([l = loop.get()] { l->Drain(); });
    int64_t deadline = base::SteadyMicros() + millis * 1000;
    while (shared_.connections.load() > 0 && base::SteadyMicros() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

 private:
  const int port_;
  Shared shared_;
  std::vector<std::unique_ptr<Loop>> loops_;
  size_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options, HttpHandler* handler,
                                                      const base::Log* log) {
  std::unique_ptr<TlsContext> tls;
  if (!options.tls_certificate.empty()) {
    HF_TRY(tls, TlsContext::Load(options.tls_certificate, options.tls_key));
  }
  HF_TRY(int listen_fd, OpenListener(options));
  return std::unique_ptr<HttpServer>(
      std::make_unique<EpollServer>(options, handler, log, std::move(tls), listen_fd));
}

}  // namespace holdfast::wire
