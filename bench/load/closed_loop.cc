#include "closed_loop.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

namespace holdfast::bench {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Microseconds of CPU that a process has used.
double CpuMicros(int pid) {
  if (pid == 0) return 0;
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  size_t at = text.rfind(')');
  if (at == std::string::npos) return 0;
  unsigned long long user = 0, system = 0;
  // After the name: state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime
  std::sscanf(text.c_str() + at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system);
  return static_cast<double>(user + system) * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

int Connect(int port) {
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) Die("cannot connect");
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

struct Connection {
  int fd = -1;
  std::string out;
  size_t sent = 0;
  std::string in;
  double started = 0;
  bool busy = false;
  size_t tag = 0;
};

// The size of the whole answer at the front of `in`, 0 when it is not complete. Chunked answers are
// understood.
size_t CompleteAnswer(const std::string& in) {
  size_t head = in.find("\r\n\r\n");
  if (head == std::string::npos) return 0;
  size_t body = head + 4;
  const char* found = ::strcasestr(in.c_str(), "\r\ncontent-length:");
  if (found != nullptr && found < in.c_str() + head) {
    size_t length = std::strtoull(found + 17, nullptr, 10);
    return in.size() >= body + length ? body + length : 0;
  }
  size_t at = body;
  while (true) {
    size_t line = in.find("\r\n", at);
    if (line == std::string::npos) return 0;
    size_t size = std::strtoull(in.c_str() + at, nullptr, 16);
    if (in.size() < line + 2 + size + 2) return 0;
    at = line + 2 + size + 2;
    if (size == 0) return at;
  }
}

class Loop {
 public:
  Loop(const LoopOptions& options, Source* source)
      : options_(options), source_(source), connections_(static_cast<size_t>(options.connections)) {
    epoll_ = ::epoll_create1(0);
    for (Connection& connection : connections_) {
      connection.fd = Connect(options.port);
      ::fcntl(connection.fd, F_SETFL, O_NONBLOCK);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.ptr = &connection;
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event);
    }
  }

  Result Go() {
    bool timed = options_.seconds > 0;
    result_.latencies.reserve(1 << 20);
    double begin = Now();
    measuring_ = !timed;
    double measure_from = begin + (timed ? options_.warmup_seconds : 0);
    double until = timed ? measure_from + options_.seconds : 1e300;
    double cpu_before = CpuMicros(options_.pid);
    due_ = answered_ = begin;
    for (Connection& connection : connections_) Send(&connection);
    epoll_event events[256];
    while (!lost_ && (busy_ > 0 || (!idle_.empty() && !over_))) {
      timespec patience = Patience();
      int count = ::epoll_pwait2(epoll_, events, 256, &patience, nullptr);
      double now = Now();
      if (!measuring_ && now >= measure_from) {
        measuring_ = true;
        measure_from = now;
        cpu_before = CpuMicros(options_.pid);
      }
      if (now >= until && !over_) {
        over_ = true;
        result_.seconds = now - measure_from;
        result_.cpu_micros = CpuMicros(options_.pid) - cpu_before;
      }
      for (int i = 0; i < count; ++i) Receive(static_cast<Connection*>(events[i].data.ptr));
      SendDue();
    }
    if (!timed) {
      result_.seconds = Now() - begin;
      result_.cpu_micros = CpuMicros(options_.pid) - cpu_before;
    }
    std::sort(result_.latencies.begin(), result_.latencies.end());
    return std::move(result_);
  }

 private:
  // Until the next request is due.
  timespec Patience() const {
    if (options_.rate == 0 || idle_.empty() || over_) return {1, 0};
    double seconds = std::clamp(due_ - Now(), 0.0, 1.0);
    return {0, static_cast<long>(std::min(seconds * 1e9, 999'999'999.0))};
  }
  void SendDue() {
    while (!idle_.empty() && !over_ && due_ <= Now()) {
      Connection* connection = idle_.back();
      idle_.pop_back();
      Begin(connection);
    }
  }

  void Send(Connection* connection) {
    if (over_) return;
    if (options_.rate == 0) return Begin(connection);
    idle_.push_back(connection);
  }

  void Begin(Connection* connection) {
    connection->out = source_->Next(&connection->tag);
    if (connection->out.empty()) return;
    connection->sent = 0;
    connection->busy = true;
    connection->started = options_.rate == 0 ? Now() : due_;
    if (options_.rate != 0) due_ += 1 / options_.rate;
    ++busy_;
    Flush(connection);
  }

  void Flush(Connection* connection) {
    while (connection->sent < connection->out.size()) {
      ssize_t n = ::send(connection->fd, connection->out.data() + connection->sent,
                         connection->out.size() - connection->sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EAGAIN) {
        ::usleep(50);
        continue;
      }
      if (n <= 0) return Lose("cannot send");
      connection->sent += static_cast<size_t>(n);
    }
  }

  void Lose(const std::string& how) {
    if (!options_.survives) Die(how);
    lost_ = true;
  }

  void Receive(Connection* connection) {
    static char buffer[1 << 18];
    ssize_t n = ::recv(connection->fd, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return Lose("the server closed a connection");
    connection->in.append(buffer, static_cast<size_t>(n));
    if (!connection->busy) return;
    size_t size = CompleteAnswer(connection->in);
    if (size == 0) return;
    --busy_;
    connection->busy = false;
    double last = std::exchange(answered_, Now());
    if (measuring_ && !over_) {
      result_.pause_seconds = std::max(result_.pause_seconds, answered_ - last);
      ++result_.requests;
      result_.latencies.push_back(static_cast<float>((Now() - connection->started) * 1e3));
    }
    if (!source_->Accept(connection->tag, connection->in)) {
      if (result_.errors++ == 0) result_.first_error = connection->in.substr(0, 400);
    }
    connection->in.erase(0, size);
    Send(connection);
  }

  const LoopOptions& options_;
  Source* const source_;
  std::vector<Connection> connections_;
  std::vector<Connection*> idle_;  // that wait until a request is due
  double due_ = 0;                 // when the next one is
  double answered_ = 0;            // the last time
  int epoll_;
  int busy_ = 0;
  bool over_ = false;
  bool lost_ = false;  // the server
  bool measuring_ = false;
  Result result_;
};

double Percentile(const std::vector<float>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())))];
}

}  // namespace

void Die(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", ::program_invocation_short_name, why.c_str());
  std::exit(1);
}

std::string Request(const char* operation, const std::string& body) {
  std::string request =
      "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: "
      "DynamoDB_20120810.";
  request += operation;
  request +=
      "\r\nX-Amz-Date: 20260101T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 "
      "Credential=AKIDEXAMPLE/20260101/us-east-1/dynamodb/aws4_request, "
      "SignedHeaders=content-type;host;x-amz-date;x-amz-target, "
      "Signature=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\r\nContent-Length: ";
  request += std::to_string(body.size()) + "\r\n\r\n" + body;
  return request;
}

bool IsSuccess(const std::string& answer) {
  return answer.compare(9, 3, "200") == 0;
}

std::string Ask(int port, const std::string& request) {
  int fd = Connect(port);
  size_t sent = 0;
  while (sent < request.size()) {
    ssize_t n = ::send(fd, request.data() + sent, request.size() - sent, 0);
    if (n <= 0) Die("cannot send");
    sent += static_cast<size_t>(n);
  }
  std::string in;
  char buffer[65536];
  while (CompleteAnswer(in) == 0) {
    ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) Die("connection lost");
    in.append(buffer, static_cast<size_t>(n));
  }
  ::close(fd);
  return in;
}

Result RunClosedLoop(const LoopOptions& options, Source* source) {
  return Loop(options, source).Go();
}

std::string Figures(const Result& result, int64_t units_per_request) {
  double rate = static_cast<double>(result.requests) / result.seconds;
  char text[512];
  std::snprintf(
      text, sizeof text,
      "\"requests_per_second\":%.0f,\"items_per_second\":%.0f,\"p50_ms\":%.3f,\"p95_ms\":%.3f,"
      "\"p99_ms\":%.3f,"
      "\"max_ms\":%.3f,\"pause_ms\":%.1f,\"cpu_micros_per_request\":%.1f,\"requests\":%lld,\"errors\":%lld",
      rate, rate * static_cast<double>(units_per_request), Percentile(result.latencies, 0.5),
      Percentile(result.latencies, 0.95), Percentile(result.latencies, 0.99), Percentile(result.latencies, 1),
      result.pause_seconds * 1e3,
      result.requests == 0 ? 0.0 : result.cpu_micros / static_cast<double>(result.requests),
      static_cast<long long>(result.requests), static_cast<long long>(result.errors));
  return text;
}

int ExitCode(const Result& result) {
  if (result.errors == 0) return 0;
  std::fprintf(stderr, "first error: %s\n", result.first_error.c_str());
  return 1;
}

bool TakeLoopFlag(const std::string& flag, const std::string& value, LoopOptions* options) {
  if (flag == "--port")
    options->port = std::stoi(value);
  else if (flag == "--connections")
    options->connections = std::stoi(value);
  else if (flag == "--seconds")
    options->seconds = std::stod(value);
  else if (flag == "--warmup")
    options->warmup_seconds = std::stod(value);
  else if (flag == "--rate")
    options->rate = std::stod(value);
  else if (flag == "--survive")
    options->survives = value == "yes";
  else if (flag == "--pid")
    options->pid = std::stoi(value);
  else
    return false;
  return true;
}

}  // namespace holdfast::bench
