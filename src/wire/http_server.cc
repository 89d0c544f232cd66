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
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <functional>
#include <list>
#include <span>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/descriptors.h"
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

// Of a connection that waits for its client: larger buffers are given back after each request, these after a
// second without one.
constexpr size_t kKeptBytes = 64 << 10;
constexpr int64_t kIdleMicros = 1'000'000;
// With so much to be sent no further request of the connection is answered.
constexpr size_t kUnsentBytesMax = 64 << 10;
// From this size on a body is sent from where it was made instead of behind its head.
constexpr size_t kCopiedBytesMax = 16 << 10;
// What a pipelining client gets before others have their turn.
constexpr int kRequestsInTurn = 16;
constexpr int kStepsInTurn = 64;

// Clients must take their answers at least this fast, beyond the time that a stall may last. While there is
// no memory for answers a stall may not last long.
constexpr int64_t kSlowestBytesPerSecond = 64 << 10;
constexpr int64_t kCrowdedStallSeconds = 5;
// A buffer for a body grows at most so far ahead of what has come.
constexpr size_t kAheadBytesMax = 1 << 20;

// Connections beyond the bound that are told so; more are closed without a word.
constexpr size_t kRefusedAtOnceMax = 64;
constexpr std::string_view kBusy =
    "HTTP/1.1 503 Service Unavailable\r\nServer: holdfast\r\nRetry-After: 1\r\nConnection: close\r\n"
    "Content-Length: 0\r\n\r\n";
// Of the process's descriptors, half of few and this number of many are for others than clients.
constexpr size_t kReservedDescriptors = 4096;
constexpr int64_t kComplainMicros = 10'000'000;
// What each of the two budgets has at least: the largest request, or the largest answer, and some beside it.
constexpr size_t kBudgetBytesMin = 24 << 20;
constexpr size_t kSmallBytesMax = 512 << 10;

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

// Assigning an empty string would keep the memory.
void Free(std::string* text) {
  std::string().swap(*text);
}

class Loop;

// Memory of one kind, counted over all connections. HasRoomFor() reserves nothing, so threads that ask at
// the same moment may exceed the budget by one answer each.
class Budget {
 public:
  // Makes `*charged` the `now` of one holder.
  void Charge(size_t* charged, size_t now) {
    if (now == *charged) return;
    used_.fetch_add(now - *charged, std::memory_order_relaxed);  // wraps around where it shrinks
    *charged = now;
  }
  // The last eighth is left to small requests.
  bool HasRoomFor(size_t bytes) const {
    return used() + bytes + (bytes > kSmallBytesMax ? max / 8 : 0) <= max;
  }
  size_t used() const { return used_.load(std::memory_order_relaxed); }
  size_t max = 0;

 private:
  std::atomic<size_t> used_{0};
};

// What all loops of one server share.
struct Shared {
  HttpServerOptions options;
  HttpHandler* handler;
  const base::Log* log;
  std::unique_ptr<TlsContext> tls;
  std::atomic<size_t> connections{0};
  std::atomic<size_t> refused_now{0};  // of them, those that are only told to go
  Budget receiving;                    // requests that are coming in
  Budget answering;                    // requests being worked on, and answers until they are sent
  std::atomic<bool> draining{false};
  // How often a bound was met.
  std::atomic<uint64_t> refused_connections{0}, refused_requests{0}, cut_connections{0};
};

// A growable buffer that always keeps kBodyPaddingBytes bytes of room after its content.
class ReadBuffer {
 public:
  std::string_view content() const { return {bytes_.get() + begin_, end_ - begin_}; }
  size_t capacity() const { return capacity_; }

  // Room for at least `size` more bytes after the content. Exactly that many where the end is known: a body
  // in chunks, and a head, do not say how long they will be.
  char* Reserve(size_t size, bool end_known) {
    if (end_ + size + kBodyPaddingBytes > capacity_) {
      size_t used = end_ - begin_;
      size_t wanted = used + (end_known ? size : std::max({size, used, kReadSize})) + kBodyPaddingBytes;
      if (wanted <= capacity_) {
        std::memmove(bytes_.get(), bytes_.get() + begin_, used);
        begin_ = 0;
        end_ = used;
      } else {
        Move(wanted);
      }
    }
    return bytes_.get() + end_;
  }
  size_t room() const { return capacity_ - end_ - kBodyPaddingBytes; }
  std::span<char> bytes() { return {bytes_.get() + begin_, end_ - begin_}; }
  void Commit(size_t size) { end_ += size; }
  // The last so many bytes of the content are none.
  void Drop(size_t size) { end_ -= size; }
  void Consume(size_t size) {
    begin_ += size;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  // Keeps no more memory than `kept`, if the content allows it. Moves the content.
  void Shrink(size_t kept) {
    if (capacity_ <= kept + kBodyPaddingBytes || end_ - begin_ > kept) return;
    if (begin_ == end_) {
      bytes_.reset();
      begin_ = end_ = capacity_ = 0;
    } else {
      Move(kept + kBodyPaddingBytes);
    }
  }

 private:
  void Move(size_t capacity) {
    size_t used = end_ - begin_;
    std::unique_ptr<char[]> moved(new char[capacity]);
    if (used > 0) std::memcpy(moved.get(), bytes_.get() + begin_, used);
    bytes_ = std::move(moved);
    begin_ = 0;
    end_ = used;
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> bytes_;
  size_t begin_ = 0, end_ = 0, capacity_ = 0;
};

class Connection final : public Exchange {
 public:
  // `shared->connections` counts it already.
  Connection(Loop* loop, Shared* shared, int fd);
  ~Connection() override;

  const HttpRequest& request() const override { return parser_.request(); }
  void Finish() override;
  bool abandoned() const override { return abandoned_.load(std::memory_order_relaxed); }
  bool HasRoomFor(size_t answer_bytes) const override;
  void AnswerMade() override { shared_->answering.Charge(&answer_charge_, response_.body.capacity()); }
  void Done(const Status& durable) override {
    shared_->handler->Durable(this, durable);
    Finish();
  }

  // On the loop's thread.
  void OnEvents(uint32_t events);
  void OnFinished();
  void CheckTime(int64_t now_micros);
  void StartDraining();
  // One too many: says so, and closes.
  void TurnAway();
  void Drive();
  void Close();

  bool closed() const { return fd_ < 0; }
  bool busy() const { return busy_; }
  int fd() const { return fd_; }
  std::list<std::unique_ptr<Connection>>::iterator self;
  bool in_turn = false;  // the loop drives it again soon

 private:
  enum class Io : uint8_t { kProgress, kBlocked, kClosed };

  Io Read();
  void HandleRequests();
  void HandleOne(size_t consumed);
  void QueueResponse();
  void Refuse(int status);
  void Linger();
  Io Write();
  ssize_t Send();
  size_t unsent() const { return out_.size() - out_at_ + large_.size() - large_at_; }
  void Account();
  void GiveBack(size_t kept);
  bool IsSlow(int64_t now_micros) const;

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
  std::string out_;  // what is to be sent, and from where on
  size_t out_at_ = 0;
  std::string large_;  // and after it, the body of the last answer
  size_t large_at_ = 0;
  // Of the budgets. That of the answer belongs to whoever has the exchange.
  size_t receiving_charge_ = 0, answering_charge_ = 0, answer_charge_ = 0;
  HttpParser parser_;
  size_t request_bytes_ = 0;
  int turn_requests_ = 0;
  bool readable_ = false;
  bool peer_ends_ = false;  // after what can be read comes the end
  bool pipelined_ = false;  // bytes of a further request are in in_
  bool peer_done_ = false;  // has sent its last byte
  bool busy_ = false;       // the handler has the exchange
  bool closing_ = false;    // after out_ has been sent
  bool lingers_ = false;    // and after the client has noticed
  bool shut_down_ = false;
  bool turned_away_ = false;
  bool served_ = false;  // a request
  std::atomic<bool> abandoned_{false};
  size_t linger_bytes_ = 0;
  int64_t active_micros_;  // last sign of life
  const int64_t opened_micros_;
  int64_t request_began_micros_ = 0;
  // Of the present run of answers: when it began, its bytes, and when the client last took some.
  int64_t sending_began_micros_ = 0;
  size_t sending_bytes_ = 0;
  int64_t taken_micros_ = 0;
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
  void AddConnection(int fd, bool one_too_many);
  using Accepted = std::function<void(int fd, bool one_too_many)>;
  void Listen(int listen_fd, Accepted accepted);
  void StopListening();
  void Drain();

  int epoll_fd() const { return epoll_fd_; }
  std::string_view date_header();
  void Remove(Connection* connection);
  // After others had their turn.
  void DriveAgain(Connection* connection);

 private:
  void Run();
  void Wake();
  void RunPosted();
  void Accept();
  void AcceptWithoutDescriptors();
  void PauseListening();
  void ResumeListening();
  void RunTurns();
  void Tick();
  // One connection's work. What throws costs this connection alone.
  template <class Work>
  void Contain(Connection* connection, const Work& work) {
    if (base::RunContained(*shared_->log, "connection", work)) return;
    base::RunContained(*shared_->log, "connection", [&] { connection->Close(); });
  }

  Shared* const shared_;
  const int number_;
  int epoll_fd_;
  int wake_fd_;
  int listen_fd_ = -1;
  bool listening_paused_ = false;
  int spare_fd_ = -1;  // given up to refuse a connection when there is no other
  int64_t complain_micros_ = 0;
  Accepted accepted_;
  std::list<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> turns_;   // driven in the next round
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
      active_micros_(base::SteadyMicros()),
      opened_micros_(active_micros_) {
  if (shared_->tls != nullptr) tls_ = shared_->tls->NewConnection(fd);
  shared_->handler->Connected(+1);
}

Connection::~Connection() {
  HF_ASSERT(!busy_);
  EndChannel();
  if (tls_ != nullptr) SSL_free(tls_);
  if (fd_ >= 0) ::close(fd_);
  shared_->receiving.Charge(&receiving_charge_, 0);
  shared_->answering.Charge(&answering_charge_, 0);
  shared_->answering.Charge(&answer_charge_, 0);
  if (turned_away_) shared_->refused_now.fetch_sub(1);
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
  AnswerMade();
  loop_->PostFinished(this);
}

bool Connection::HasRoomFor(size_t answer_bytes) const {
  if (shared_->answering.HasRoomFor(answer_bytes)) return true;
  shared_->refused_requests.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void Connection::OnEvents(uint32_t events) {
  if (closed()) return;
  if ((events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0) abandoned_ = true;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0 && (events & EPOLLIN) == 0) return Close();
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) readable_ = true;
  if ((events & EPOLLRDHUP) != 0) peer_ends_ = true;
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

// Does whatever can be done now: send, read, handle, until nothing moves or it is the others' turn.
void Connection::Drive() {
  turn_requests_ = 0;
  for (int step = 0; !closed(); ++step) {
    Io wrote = Write();
    if (wrote == Io::kClosed) return Close();
    bool sending = unsent() > 0;
    if (closing_ && !sending && !busy_) {
      if (!lingers_) return Close();
      return Linger();
    }
    if (step == kStepsInTurn || turn_requests_ == kRequestsInTurn) return loop_->DriveAgain(this);
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
    // A length costs its sender nothing: memory follows what has come.
    bool end_known = expected > have;
    char* to = end_known ? in_.Reserve(std::min(expected - have, std::max(kAheadBytesMax, 3 * have)), true)
                         : in_.Reserve(kReadSize, false);
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
        return have == 0 && unsent() == 0 ? Io::kClosed : Io::kBlocked;
      }
    }
    in_.Commit(static_cast<size_t>(got));
    active_micros_ = base::SteadyMicros();
    if (request_began_micros_ == 0) request_began_micros_ = active_micros_;
    Account();
    // Less than there was room for: the socket is drained, and new bytes will bring a new event. Where the
    // end was seen no other event follows: it has to be read.
    bool drained = tls_ == nullptr && static_cast<size_t>(got) < room && !peer_ends_;
    if (drained) readable_ = false;
    return Io::kProgress;
  }
}

void Connection::Account() {
  size_t received = in_.capacity() + (talk_ == nullptr ? 0 : talk_->parser.held_bytes());
  // Small ones do not change sides with every request.
  bool worked_on = busy_ && received > kKeptBytes;
  shared_->receiving.Charge(&receiving_charge_, worked_on ? 0 : received);
  shared_->answering.Charge(&answering_charge_,
                            (worked_on ? received : 0) + out_.capacity() + large_.capacity());
}

// Memory beyond `kept` a buffer that nothing is in.
void Connection::GiveBack(size_t kept) {
  in_.Shrink(kept);
  if (out_.empty() && out_.capacity() > kept) Free(&out_);
  if (large_.empty() && large_.capacity() > 0) Free(&large_);
  if (!busy_ && response_.body.capacity() > kept) {
    Free(&response_.body);
    AnswerMade();
  }
  Account();
}

// Until there is no complete request left, or enough has been answered for now.
void Connection::HandleRequests() {
  while (!busy_ && !closing_ && !closed() && talk_ == nullptr) {
    if (in_.content().empty()) break;
    bool enough = unsent() > kUnsentBytesMax || !large_.empty() || turn_requests_ == kRequestsInTurn;
    if (enough) {
      pipelined_ = true;
      return;
    }
    size_t consumed = 0;
    switch (parser_.Parse(in_.bytes(), &consumed)) {
      case HttpParser::Outcome::kMore:
        in_.Drop(parser_.dropped_bytes());
        if (receiving_charge_ > kKeptBytes && !shared_->receiving.HasRoomFor(0)) {
          shared_->refused_requests.fetch_add(1, std::memory_order_relaxed);
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
  if (!busy_ && in_.content().empty()) request_began_micros_ = 0;
}

void Connection::HandleOne(size_t consumed) {
  request_bytes_ = consumed;
  response_.Clear();
  started_micros = base::SteadyMicros();
  served_ = true;
  ++turn_requests_;
  busy_ = true;
  Account();
  if (shared_->handler->Handle(this) == HttpHandler::Handled::kPending) return;
  busy_ = false;
  QueueResponse();
}

// The answer into out_, and the request out of in_.
void Connection::QueueResponse() {
  bool upgrades = response_.channel != nullptr;
  bool keep = upgrades || (parser_.request().keep_alive && !response_.close &&
                           !shared_->draining.load(std::memory_order_relaxed));
  bool has_body = parser_.request().method != "HEAD";
  bool large = has_body && response_.body.size() > kCopiedBytesMax;
  size_t before = out_.size();
  out_.reserve(before + 320 + response_.headers().size() + (large ? 0 : response_.body.size()));
  out_.append("HTTP/1.1 ")
      .append(std::to_string(response_.status))
      .append(" ")
      .append(StatusText(response_.status));
  out_.append("\r\nServer: holdfast\r\nDate: ").append(loop_->date_header());
  if (!response_.content_type.empty()) out_.append("\r\nContent-Type: ").append(response_.content_type);
  if (!upgrades && response_.status != 204 && response_.status != 304)
    out_.append("\r\nContent-Length: ").append(std::to_string(response_.body.size()));
  out_.append("\r\nConnection: ").append(upgrades ? "Upgrade\r\n" : keep ? "keep-alive\r\n" : "close\r\n");
  out_.append(response_.headers()).append("\r\n");
  size_t size = out_.size() - before + (has_body ? response_.body.size() : 0);
  shared_->handler->Answered(this, request_bytes_, size);
  if (before == out_at_) {
    sending_began_micros_ = taken_micros_ = base::SteadyMicros();
    sending_bytes_ = 0;
  }
  sending_bytes_ += size;
  if (large)
    large_ = std::exchange(response_.body, {});
  else if (has_body)
    out_.append(response_.body);
  in_.Consume(request_bytes_);
  parser_.Reset();
  pipelined_ = !in_.content().empty();
  request_began_micros_ = pipelined_ ? base::SteadyMicros() : 0;
  if (!keep) closing_ = true;
  GiveBack(kKeptBytes);
  AnswerMade();
  if (upgrades) OpenChannel();
}

// An answer to something that is no request.
void Connection::Refuse(int status) {
  out_.append("HTTP/1.1 ").append(std::to_string(status)).append(" ").append(StatusText(status));
  out_.append("\r\nServer: holdfast\r\nConnection: close\r\n");
  if (status == 503) out_.append("Retry-After: 1\r\n");
  if (status == 413) {
    // As AWS sends it.
    out_.append("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  } else {
    out_.append("Content-Length: 0\r\n\r\n");
  }
  taken_micros_ = sending_began_micros_ = base::SteadyMicros();
  closing_ = true;
  lingers_ = true;
}

void Connection::TurnAway() {
  turned_away_ = true;
  Refuse(503);
  close_by_micros_ = base::SteadyMicros() + kLingerMicrosMax;
  Drive();
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

// What send() and SSL_write() answer; -1 with EAGAIN when the connection takes nothing now.
ssize_t Connection::Send() {
  iovec parts[] = {{out_.data() + out_at_, out_.size() - out_at_},
                   {large_.data() + large_at_, large_.size() - large_at_}};
  if (tls_ == nullptr) {
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    return ::sendmsg(fd_, &message, MSG_NOSIGNAL);
  }
  const iovec& part = parts[parts[0].iov_len > 0 ? 0 : 1];
  ERR_clear_error();
  int sent = SSL_write(tls_, part.iov_base, static_cast<int>(std::min<size_t>(part.iov_len, 1 << 30)));
  if (sent > 0) return sent;
  int why = SSL_get_error(tls_, sent);
  errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EAGAIN : EPIPE;
  return -1;
}

Connection::Io Connection::Write() {
  if (unsent() == 0) return Io::kProgress;
  while (unsent() > 0) {
    ssize_t sent = Send();
    if (sent < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN ? Io::kBlocked : Io::kClosed;
    }
    size_t of_out = std::min(static_cast<size_t>(sent), out_.size() - out_at_);
    out_at_ += of_out;
    large_at_ += static_cast<size_t>(sent) - of_out;
    taken_micros_ = active_micros_ = base::SteadyMicros();
    if (talk_ != nullptr) talk_->queue->Moved();
  }
  out_.clear();
  large_.clear();
  out_at_ = large_at_ = 0;
  if (out_.capacity() > kKeptBytes) Free(&out_);
  if (large_.capacity() > kKeptBytes) Free(&large_);
  Account();
  return Io::kProgress;
}

// Whether the client takes its answers too slowly to be waited for.
bool Connection::IsSlow(int64_t now_micros) const {
  int64_t stall = shared_->options.request_seconds_max * 1'000'000;
  int64_t pace = static_cast<int64_t>(sending_bytes_) * 1'000'000 / kSlowestBytesPerSecond;
  if (now_micros - sending_began_micros_ > stall + pace) return true;
  if (!shared_->answering.HasRoomFor(0)) stall = std::min(stall, kCrowdedStallSeconds * 1'000'000);
  return now_micros - taken_micros_ > stall;
}

void Connection::CheckTime(int64_t now_micros) {
  if (closed() || busy_) return;
  if (talk_ != nullptr) return CheckChannelTime(now_micros);
  if (close_by_micros_ != 0 && now_micros > close_by_micros_) return Close();
  if (shut_down_ && now_micros - active_micros_ > kLingerMicrosMax) return Close();
  if (unsent() > 0) {
    if (!IsSlow(now_micros)) return;
    shared_->cut_connections.fetch_add(1, std::memory_order_relaxed);
    return Close();
  }
  bool receiving = request_began_micros_ != 0 || !served_;
  int64_t since = !served_ ? opened_micros_ : receiving ? request_began_micros_ : active_micros_;
  int64_t allowed = receiving ? shared_->options.request_seconds_max : shared_->options.idle_seconds_max;
  if (now_micros - since > allowed * 1'000'000) return Close();
  if (!receiving && now_micros - active_micros_ > kIdleMicros) GiveBack(0);
}

void Connection::StartDraining() {
  if (closed() || busy_) return;
  if (talk_ != nullptr) return talk_->queue->Close(kCloseGoingAway, "the server stops");
  if (in_.content().empty() && unsent() == 0) return Close();
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
    GiveBack(kKeptBytes);
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
        if (parser.held_bytes() > kKeptBytes && !shared_->receiving.HasRoomFor(0)) {
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
  GiveBack(0);
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

void Loop::AddConnection(int fd, bool one_too_many) {
  connections_.push_back(std::make_unique<Connection>(this, shared_, fd));
  Connection* connection = connections_.back().get();
  connection->self = std::prev(connections_.end());
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = connection;
  bool watched = ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0;
  if (one_too_many) connection->TurnAway();
  if (!watched) connection->Close();
}

void Loop::Listen(int listen_fd, Accepted accepted) {
  listen_fd_ = listen_fd;
  accepted_ = std::move(accepted);
  spare_fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  listening_paused_ = true;
  ResumeListening();
}

void Loop::StopListening() {
  if (listen_fd_ < 0) return;
  PauseListening();
  ::close(listen_fd_);
  if (spare_fd_ >= 0) ::close(spare_fd_);
  listen_fd_ = spare_fd_ = -1;
}

void Loop::PauseListening() {
  if (std::exchange(listening_paused_, true)) return;
  ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, listen_fd_, nullptr);
}

void Loop::ResumeListening() {
  if (listen_fd_ < 0 || !listening_paused_) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = this;
  listening_paused_ = ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, listen_fd_, &event) != 0;
}

void Loop::Drain() {
  StopListening();
  for (auto at = connections_.begin(); at != connections_.end();) (at++)->get()->StartDraining();
}

void Loop::Remove(Connection* connection) {
  doomed_.push_back(connection);
}

void Loop::DriveAgain(Connection* connection) {
  if (!std::exchange(connection->in_turn, true)) turns_.push_back(connection);
}

void Loop::RunTurns() {
  for (Connection* connection : std::exchange(turns_, {})) {
    connection->in_turn = false;
    Contain(connection, [&] { connection->Drive(); });
  }
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
      if (errno != EAGAIN) AcceptWithoutDescriptors();
      return;
    }
    size_t served = shared_->connections.load() - shared_->refused_now.load();
    bool one_too_many = served >= shared_->options.connections_max;
    if (one_too_many) shared_->refused_connections.fetch_add(1, std::memory_order_relaxed);
    if (one_too_many && shared_->refused_now.load() >= kRefusedAtOnceMax) {
      ssize_t sent = ::send(fd, kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      static_cast<void>(sent);
      ::close(fd);
      continue;
    }
    shared_->connections.fetch_add(1);
    if (one_too_many) shared_->refused_now.fetch_add(1);
    int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    accepted_(fd, one_too_many);
  }
}

// The kernel wakes this loop for as long as a client waits in the queue. The spare descriptor serves to
// accept and refuse that client; where even that fails, listening pauses until the next tick.
void Loop::AcceptWithoutDescriptors() {
  int why = errno;
  if (int64_t now = base::SteadyMicros(); now >= complain_micros_) {
    complain_micros_ = now + kComplainMicros;
    HF_LOG(*shared_->log, kError, "connections are refused", {"error", std::strerror(why)},
           {"connections", shared_->connections.load()});
  }
  if (spare_fd_ >= 0) {
    ::close(spare_fd_);
    int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      shared_->refused_connections.fetch_add(1, std::memory_order_relaxed);
      ssize_t sent = ::send(fd, kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      static_cast<void>(sent);
      ::close(fd);
    }
    spare_fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && spare_fd_ >= 0) return;
  } else {
    spare_fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  PauseListening();
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
  for (Connection* connection : finished) Contain(connection, [&] { connection->OnFinished(); });
  for (auto& task : tasks) base::RunContained(*shared_->log, "I/O task", task);
}

void Loop::Tick() {
  int64_t now = base::SteadyMicros();
  if (now < next_tick_micros_) return;
  next_tick_micros_ = now + kTickMillis * 1000;
  ResumeListening();
  for (auto at = connections_.begin(); at != connections_.end();) {
    Connection* connection = (at++)->get();
    Contain(connection, [&] { connection->CheckTime(now); });
  }
}

void Loop::Run() {
  base::NameThread(("io-" + std::to_string(number_)).c_str());
  std::vector<epoll_event> events(256);
  while (!stop_) {
    int timeout = turns_.empty() ? static_cast<int>(kTickMillis) : 0;
    int count = ::epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), timeout);
    for (int i = 0; i < count; ++i) {
      void* who = events[static_cast<size_t>(i)].data.ptr;
      if (who == nullptr) continue;  // a wake-up
      if (who == this) {
        base::RunContained(*shared_->log, "I/O accept", [&] { Accept(); });
      } else {
        auto* connection = static_cast<Connection*>(who);
        Contain(connection, [&] { connection->OnEvents(events[static_cast<size_t>(i)].events); });
      }
    }
    RunPosted();
    RunTurns();
    Tick();
    for (Connection* connection : doomed_) {
      if (connection->in_turn) std::erase(turns_, connection);
      connections_.erase(connection->self);
    }
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
    shared_.receiving.max = shared_.answering.max = std::max(options.memory_bytes_max / 2, kBudgetBytesMin);
    shared_.handler = handler;
    shared_.log = log;
    shared_.tls = std::move(tls);
    int threads = options.io_threads > 0 ? options.io_threads
                                         : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    for (int i = 0; i < threads; ++i) loops_.push_back(std::make_unique<Loop>(&shared_, i));
    loops_[0]->Listen(listen_fd, [this](int fd, bool one_too_many) {
      Loop* loop = loops_[next_++ % loops_.size()].get();
      if (loop == loops_[0].get()) {
        loop->AddConnection(fd, one_too_many);
      } else {
        loop->Post([=] { loop->AddConnection(fd, one_too_many); });
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
  std::string Metrics() const override;

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

std::string EpollServer::Metrics() const {
  std::string text;
  auto add = [&](std::string_view name, std::string_view type, std::string_view help, uint64_t value) {
    text.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" ");
    text.append(type).append("\n").append(name).append(" ").append(std::to_string(value)).append("\n");
  };
  add("holdfast_connections_limit", "gauge", "How many connections there may be at a time.",
      shared_.options.connections_max);
  add("holdfast_refused_connections_total", "counter", "Connections refused because there were too many.",
      shared_.refused_connections.load());
  add("holdfast_receiving_bytes", "gauge", "Memory of requests being received.", shared_.receiving.used());
  add("holdfast_answering_bytes", "gauge",
      "Memory of requests being worked on and of answers that wait for their clients.",
      shared_.answering.used());
  add("holdfast_wire_memory_limit_bytes", "gauge", "What each of these two may come to.",
      shared_.answering.max);
  add("holdfast_refused_for_memory_total", "counter", "Requests refused because it had come to that.",
      shared_.refused_requests.load());
  add("holdfast_slow_clients_total", "counter",
      "Connections closed because the client did not take its answer.", shared_.cut_connections.load());
  return text;
}

// How many connections there are descriptors for.
size_t ConnectionsFor(size_t wanted, const base::Log& log) {
  size_t limit = base::DescriptorLimit();
  size_t possible = limit - std::min(limit / 2, kReservedDescriptors);
  if (wanted <= possible) return wanted;
  HF_LOG(log, kWarning, "fewer connections than asked for: the process may not open more files",
         {"connections", possible}, {"asked_for", wanted}, {"open_files", limit});
  return possible;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& given, HttpHandler* handler,
                                                      const base::Log* log) {
  HttpServerOptions options = given;
  options.connections_max = ConnectionsFor(given.connections_max, *log);
  std::unique_ptr<TlsContext> tls;
  if (!options.tls_certificate.empty()) {
    HF_TRY(tls, TlsContext::Load(options.tls_certificate, options.tls_key));
  }
  HF_TRY(int listen_fd, OpenListener(options));
  return std::unique_ptr<HttpServer>(
      std::make_unique<EpollServer>(options, handler, log, std::move(tls), listen_fd));
}

}  // namespace holdfast::wire
