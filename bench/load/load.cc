// A load on any DynamoDB endpoint: closed loop, keep-alive connections, one thread, so that the server gets
// the rest of the machine. Prints one JSON object per run.
//
//   holdfast_load --port 8000 --workload get --connections 16 --seconds 3 --items 10000 [--pid SERVER_PID]
//   holdfast_load --port 8000 --workload prepare --items 10000          # the table the workloads use
//
// Workloads: get, put, update, query, batch, transact, mixed (80 % get, 20 % put), load (every item once, by
// BatchWriteItem), prepare. Items have about 500 bytes and stand in one global secondary index that projects
// all. With --pid the CPU time that the server took per request is reported too.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

struct Options {
  int port = 8000;
  std::string workload = "get";
  int connections = 16;
  double seconds = 3;
  double warmup_seconds = 0.5;
  int64_t items = 10000;
  int pid = 0;
  uint64_t seed = 1;
  bool raw = false;  // the ceiling server: no checks of the answer's body
};

constexpr const char* kTable = "bench";

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "holdfast_load: %s\n", why.c_str());
  std::exit(1);
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

std::string Key(int64_t n) {
  char text[32];
  std::snprintf(text, sizeof text, "key-%010lld", static_cast<long long>(n));
  return text;
}

// Each partition of the query workload has 50 items.
constexpr int64_t kGroup = 50;

std::string Attributes(int64_t n, uint64_t salt) {
  char salted[32];
  std::snprintf(salted, sizeof salted, "%016llx", static_cast<unsigned long long>(salt));
  static const std::string padding(280, 'x');
  std::string text =
      "\"pk\":{\"S\":\"" + Key(n) + "\"},\"g\":{\"S\":\"group-" + std::to_string(n / kGroup) +
      "\"},\"s\":{\"S\":\"" + Key(n % kGroup) + "\"},\"name\":{\"S\":\"A Person Of Some Name " +
      std::to_string(n) + "\"},\"count\":{\"N\":\"" + std::to_string(n % 1000) +
      "\"},\"flag\":{\"BOOL\":true},\"tags\":{\"L\":[{\"S\":\"alpha\"},{\"S\":\"beta\"}]},\"salt\":{"
      "\"S\":\"" +
      salted + "\"},\"note\":{\"S\":\"" + padding + "\"}";
  return text;
}

// Makes the next request of a workload.
class Maker {
 public:
  Maker(const Options& options) : options_(options), random_(options.seed) {}

  // Returns an empty string when the workload is over.
  std::string Next() {
    const std::string& w = options_.workload;
    if (w == "get") return Get();
    if (w == "put") return Put();
    if (w == "update") return Update();
    if (w == "query") return Query();
    if (w == "batch") return Batch(random_() % static_cast<uint64_t>(options_.items));
    if (w == "transact") return Transact();
    if (w == "mixed") return random_() % 5 == 0 ? Put() : Get();
    if (w == "load" || w == "prepare") {
      if (loaded_ >= options_.items) return "";
      std::string request = Batch(static_cast<uint64_t>(loaded_));
      loaded_ += 25;
      return request;
    }
    Die("no such workload: " + w);
  }

  int64_t units_per_request() const {
    const std::string& w = options_.workload;
    return w == "batch" || w == "load" || w == "prepare" ? 25 : 1;
  }

 private:
  int64_t Any() { return static_cast<int64_t>(random_() % static_cast<uint64_t>(options_.items)); }

  std::string Get() {
    return Request("GetItem", std::string("{\"TableName\":\"") + kTable + "\",\"Key\":{\"pk\":{\"S\":\"" +
                                  Key(Any()) + "\"}}}");
  }
  std::string Put() {
    return Request("PutItem", std::string("{\"TableName\":\"") + kTable + "\",\"Item\":{" +
                                  Attributes(Any(), random_()) + "}}");
  }
  // A conditional counter.
  std::string Update() {
    return Request(
        "UpdateItem",
        std::string("{\"TableName\":\"") + kTable + "\",\"Key\":{\"pk\":{\"S\":\"" + Key(Any()) +
            "\"}},\"UpdateExpression\":\"SET #c = #c + :one\",\"ConditionExpression\":\"attribute_exists(pk) "
            "AND #c >= :zero\",\"ExpressionAttributeNames\":{\"#c\":\"count\"},"
            "\"ExpressionAttributeValues\":{\":one\":{\"N\":\"1\"},\":zero\":{\"N\":\"0\"}}}");
  }
  std::string Query() {
    return Request("Query", std::string("{\"TableName\":\"") + kTable +
                                "\",\"IndexName\":\"by-group\",\"KeyConditionExpression\":\"g = :g\","
                                "\"ExpressionAttributeValues\":{\":g\":{\"S\":\"group-" +
                                std::to_string(Any() / kGroup) + "\"}},\"Limit\":50}");
  }
  std::string Batch(uint64_t first) {
    std::string body = std::string("{\"RequestItems\":{\"") + kTable + "\":[";
    for (uint64_t i = 0; i < 25; ++i) {
      auto n = static_cast<int64_t>((first + i) % static_cast<uint64_t>(options_.items));
      body +=
          (i == 0 ? "" : ",") + std::string("{\"PutRequest\":{\"Item\":{") + Attributes(n, random_()) + "}}}";
    }
    return Request("BatchWriteItem", body + "]}}");
  }
  // Four conditional actions on four items.
  std::string Transact() {
    int64_t first = Any();
    std::string body = "{\"TransactItems\":[";
    for (int64_t i = 0; i < 4; ++i) {
      int64_t n = (first + i * 7) % options_.items;
      body +=
          (i == 0 ? "" : ",") + std::string("{\"Update\":{\"TableName\":\"") + kTable +
          "\",\"Key\":{\"pk\":{\"S\":\"" + Key(n) +
          "\"}},\"UpdateExpression\":\"SET #c = #c + :one\",\"ConditionExpression\":\"attribute_exists(pk)\","
          "\"ExpressionAttributeNames\":{\"#c\":\"count\"},\"ExpressionAttributeValues\":{\":one\":{\"N\":"
          "\"1\"}}}}";
    }
    return Request("TransactWriteItems", body + "]}");
  }

  const Options& options_;
  std::mt19937_64 random_;
  int64_t loaded_ = 0;
};

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

bool IsSuccess(const std::string& answer) {
  return answer.compare(9, 3, "200") == 0;
}

// One request and its answer, for setting up.
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

void CreateTable(int port) {
  std::string body =
      std::string("{\"TableName\":\"") + kTable +
      "\",\"AttributeDefinitions\":[{\"AttributeName\":\"pk\",\"AttributeType\":\"S\"},{"
      "\"AttributeName\":\"g\",\"AttributeType\":\"S\"},{\"AttributeName\":\"s\",\"AttributeType\":"
      "\"S\"}],\"KeySchema\":[{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"}],\"BillingMode\":"
      "\"PAY_PER_REQUEST\",\"GlobalSecondaryIndexes\":[{\"IndexName\":\"by-group\",\"KeySchema\":[{"
      "\"AttributeName\":\"g\",\"KeyType\":\"HASH\"},{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],"
      "\"Projection\":{\"ProjectionType\":\"ALL\"}}]}";
  std::string answer = Ask(port, Request("CreateTable", body));
  if (!IsSuccess(answer)) Die("CreateTable: " + answer);
  for (int i = 0; i < 200; ++i) {
    answer = Ask(port, Request("DescribeTable", std::string("{\"TableName\":\"") + kTable + "\"}"));
    if (answer.find("\"TableStatus\":\"ACTIVE\"") != std::string::npos) return;
    ::usleep(50'000);
  }
  Die("the table does not become ACTIVE");
}

struct Result {
  int64_t requests = 0;
  int64_t errors = 0;
  std::string first_error;
  double seconds = 0;
  double cpu_micros = 0;
  std::vector<float> latencies;  // milliseconds
};

class Run {
 public:
  explicit Run(const Options& options)
      : options_(options), maker_(options), connections_(static_cast<size_t>(options.connections)) {
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
    bool timed = options_.workload != "load" && options_.workload != "prepare";
    result_.latencies.reserve(1 << 20);
    double begin = Now();
    measuring_ = !timed;
    double measure_from = begin + (timed ? options_.warmup_seconds : 0);
    double until = timed ? measure_from + options_.seconds : 1e300;
    double cpu_before = CpuMicros(options_.pid);
    for (Connection& connection : connections_) Send(&connection);
    epoll_event events[256];
    while (busy_ > 0) {
      int count = ::epoll_wait(epoll_, events, 256, 1000);
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
    }
    if (!timed) {
      result_.seconds = Now() - begin;
      result_.cpu_micros = CpuMicros(options_.pid) - cpu_before;
    }
    return std::move(result_);
  }

  int64_t units_per_request() const { return maker_.units_per_request(); }

 private:
  void Send(Connection* connection) {
    if (over_) return;
    connection->out = maker_.Next();
    if (connection->out.empty()) return;
    connection->sent = 0;
    connection->busy = true;
    connection->started = Now();
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
      if (n <= 0) Die("cannot send");
      connection->sent += static_cast<size_t>(n);
    }
  }

  void Receive(Connection* connection) {
    static char buffer[1 << 18];
    ssize_t n = ::recv(connection->fd, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) Die("the server closed a connection");
    connection->in.append(buffer, static_cast<size_t>(n));
    if (!connection->busy) return;
    size_t size = CompleteAnswer(connection->in);
    if (size == 0) return;
    --busy_;
    connection->busy = false;
    if (measuring_ && !over_) {
      ++result_.requests;
      result_.latencies.push_back(static_cast<float>((Now() - connection->started) * 1e3));
    }
    if (!options_.raw && !IsSuccess(connection->in)) {
      if (result_.errors++ == 0) result_.first_error = connection->in.substr(0, 400);
    }
    connection->in.erase(0, size);
    Send(connection);
  }

  const Options& options_;
  Maker maker_;
  std::vector<Connection> connections_;
  int epoll_;
  int busy_ = 0;
  bool over_ = false;
  bool measuring_ = false;
  Result result_;
};

double Percentile(std::vector<float>* sorted, double share) {
  if (sorted->empty()) return 0;
  return (*sorted)[std::min(sorted->size() - 1,
                            static_cast<size_t>(share * static_cast<double>(sorted->size())))];
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--raw") {
      options.raw = true;
      continue;
    }
    if (i + 1 >= argc) Die("a flag needs a value: " + flag);
    std::string value = argv[++i];
    if (flag == "--port")
      options.port = std::stoi(value);
    else if (flag == "--workload")
      options.workload = value;
    else if (flag == "--connections")
      options.connections = std::stoi(value);
    else if (flag == "--seconds")
      options.seconds = std::stod(value);
    else if (flag == "--warmup")
      options.warmup_seconds = std::stod(value);
    else if (flag == "--items")
      options.items = std::stoll(value);
    else if (flag == "--pid")
      options.pid = std::stoi(value);
    else if (flag == "--seed")
      options.seed = std::stoull(value);
    else
      Die("no such flag: " + flag);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  Options options = ParseOptions(argc, argv);
  if (options.workload == "prepare" || options.workload == "load") CreateTable(options.port);
  Run run(options);
  Result result = run.Go();
  std::sort(result.latencies.begin(), result.latencies.end());
  double rate = static_cast<double>(result.requests) / result.seconds;
  std::printf(
      "{\"workload\":\"%s\",\"connections\":%d,\"requests_per_second\":%.0f,\"items_per_second\":%.0f,\"p50_"
      "ms\":%.3f,"
      "\"p99_ms\":%.3f,\"max_ms\":%.3f,\"cpu_micros_per_request\":%.1f,\"requests\":%lld,\"errors\":%lld}\n",
      options.workload.c_str(), options.connections, rate,
      rate * static_cast<double>(run.units_per_request()), Percentile(&result.latencies, 0.5),
      Percentile(&result.latencies, 0.99), Percentile(&result.latencies, 1),
      result.requests == 0 ? 0.0 : result.cpu_micros / static_cast<double>(result.requests),
      static_cast<long long>(result.requests), static_cast<long long>(result.errors));
  if (result.errors > 0) {
    std::fprintf(stderr, "first error: %s\n", result.first_error.c_str());
    return 1;
  }
  return 0;
}
