// Clients that send much, take little, or go away: on the real server, over real sockets.
#include "wire/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <string>

#include "base/mutex.h"
#include "wire/channel_testing.h"

namespace holdfast::wire {
namespace {

using testing::Becomes;
using testing::Client;
using testing::WriteCertificate;

// Answers GET /N with N bytes, /later/N when it is told to, and 503 when there is no room for the answer.
class Giver final : public HttpHandler {
 public:
  Handled Handle(Exchange* exchange) override {
    ++handled_;
    std::string_view path = exchange->request().path.substr(1);
    bool later = path.starts_with("later/");
    if (later) path.remove_prefix(6);
    auto size = static_cast<size_t>(std::atoll(std::string(path).c_str()));
    HttpResponse& response = exchange->response();
    if (exchange->HasRoomFor(size)) {
      response.body.assign(size, static_cast<char>('a' + handled_ % 26));
    } else {
      response.status = 503;
    }
    if (!later) return Handled::kDone;
    base::MutexLock lock(&mu_);
    waiting_.insert(exchange);
    return Handled::kPending;
  }
  void Durable(Exchange*, const Status&) override {}
  void Connected(int) override {}
  void Answered(Exchange*, size_t, size_t) override {}

  int handled() const { return handled_; }
  size_t waiting() {
    base::MutexLock lock(&mu_);
    return waiting_.size();
  }
  void FinishAll() {
    base::MutexLock lock(&mu_);
    for (Exchange* exchange : std::exchange(waiting_, {})) exchange->Finish();
  }

 private:
  std::atomic<int> handled_{0};
  base::Mutex mu_;
  std::set<Exchange*> waiting_ HF_GUARDED_BY(mu_);
};

std::string Get(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(HttpServerOptions options) {
    options.port = 0;
    options.io_threads = 1;
    server_ = *HttpServer::Start(options, &giver_, &log_);
  }
  void TearDown() override { giver_.FinishAll(); }

  // The status of the answer, whose body is read.
  static int Answer(Client* client) {
    std::string head = client->ReadUntil("\r\n\r\n");
    size_t length = head.find("Content-Length: ");
    if (length != std::string::npos)
      client->Take(static_cast<size_t>(std::atoll(head.c_str() + length + 16)));
    return head.size() < 12 ? 0 : std::atoi(head.c_str() + 9);
  }
  // A second client is answered, which means that the loop has been around.
  void Round() {
    Client other(server_->port());
    ASSERT_TRUE(other.SendRaw(Get("/1")));
    ASSERT_EQ(Answer(&other), 200);
  }
  size_t Metric(const std::string& name) const {
    std::string text = server_->Metrics();
    size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? 0 : static_cast<size_t>(std::atoll(text.c_str() + at + name.size() + 2));
  }

  base::Log log_{base::LogLevel::kNone};
  Giver giver_;
  std::unique_ptr<HttpServer> server_;
};

// Answers to requests that were sent ahead were all made before the first was sent: a client that reads none
// of them took a gigabyte of the server with 200 KB.
TEST_F(HttpServerTest, AClientThatDoesNotReadIsNotAnsweredAnyFurther) {
  Start({});
  Client greedy(server_->port(), /*tls=*/false, /*receive_buffer=*/16 << 10);
  constexpr int kRequests = 200;
  std::string requests;
  for (int i = 0; i < kRequests; ++i) requests += Get("/1000000");
  ASSERT_TRUE(greedy.SendRaw(requests));
  for (int i = 0; i < 40; ++i) Round();
  // What the kernel takes for a client is some megabytes.
  EXPECT_LT(giver_.handled() - 40, 40);
  EXPECT_LT(Metric("holdfast_answering_bytes"), 4u << 20);
  for (int i = 0; i < kRequests; ++i) ASSERT_EQ(Answer(&greedy), 200) << i;
}

// One client's two hundred requests are not another's wait.
TEST_F(HttpServerTest, RequestsSentAheadLetOthersHaveTheirTurn) {
  Start({});
  Client pipeliner(server_->port());
  std::string requests = Get("/later/1");
  for (int i = 0; i < 400; ++i) requests += Get("/100");
  // The rest waits behind the first, so that all of it is there when the loop begins with it.
  ASSERT_TRUE(pipeliner.SendRaw(requests));
  ASSERT_TRUE(Becomes([&] { return giver_.waiting() == 1; }));
  Client other(server_->port());
  Round();
  int before = giver_.handled();
  giver_.FinishAll();
  ASSERT_TRUE(other.SendRaw(Get("/1")));
  ASSERT_EQ(Answer(&other), 200);
  for (int i = 0; i < 401; ++i) ASSERT_EQ(Answer(&pipeliner), 200) << i;
  EXPECT_EQ(giver_.handled(), before + 401);
}

// Head and body leave from two places, and a client may take them in any pieces.
TEST_F(HttpServerTest, AnswersOfAllSizesArriveWholeAndInOrder) {
  for (bool tls : {false, true}) {
    HttpServerOptions options;
    if (tls) {
      std::string base = ::testing::TempDir() + "holdfast-http-" + std::to_string(::getpid());
      WriteCertificate(base + ".crt", base + ".key");
      options.tls_certificate = base + ".crt";
      options.tls_key = base + ".key";
    }
    Start(options);
    Client client(server_->port(), tls, /*receive_buffer=*/8 << 10);
    std::string requests;
    const size_t sizes[] = {0, 1, 16384, 16385, 65536, 100, 3'000'000, 5, 200'000};
    for (size_t size : sizes) requests += Get("/" + std::to_string(size));
    int first = giver_.handled() + 1;
    ASSERT_TRUE(client.SendRaw(requests));
    for (size_t size : sizes) {
      std::string head = client.ReadUntil("\r\n\r\n");
      ASSERT_NE(head.find("Content-Length: " + std::to_string(size) + "\r\n"), std::string::npos) << head;
      EXPECT_EQ(client.Take(size), std::string(size, static_cast<char>('a' + first++ % 26)));
    }
  }
}

// A thousand clients that ask for 16 MB and do not read would hold 16 GB.
TEST_F(HttpServerTest, WhenAnswersTakeAllTheirMemoryOthersAreRefusedUntilTheyAreRead) {
  Start({.memory_bytes_max = 48 << 20});
  Client slow(server_->port(), /*tls=*/false, /*receive_buffer=*/8 << 10);
  Client other(server_->port());
  ASSERT_TRUE(slow.SendRaw(Get("/later/22000000")));
  ASSERT_TRUE(Becomes([&] { return giver_.waiting() == 1; }));
  giver_.FinishAll();
  ASSERT_TRUE(Becomes([&] { return Metric("holdfast_answering_bytes") >= 20'000'000; }));
  ASSERT_TRUE(other.SendRaw(Get("/20000000")));
  EXPECT_EQ(Answer(&other), 503);
  EXPECT_EQ(Metric("holdfast_refused_for_memory_total"), 1u);
  // Small answers fit for longer.
  ASSERT_TRUE(other.SendRaw(Get("/400000")));
  EXPECT_EQ(Answer(&other), 200);
  EXPECT_EQ(Answer(&slow), 200);
  ASSERT_TRUE(Becomes([&] { return Metric("holdfast_answering_bytes") < 1'000'000; }));
  ASSERT_TRUE(other.SendRaw(Get("/20000000")));
  EXPECT_EQ(Answer(&other), 200);
}

TEST_F(HttpServerTest, AClientThatTakesNothingIsCutOff) {
  Start({.request_seconds_max = 1});
  Client slow(server_->port(), /*tls=*/false, /*receive_buffer=*/8 << 10);
  ASSERT_TRUE(slow.SendRaw(Get("/16000000")));
  ASSERT_TRUE(Becomes([&] { return giver_.handled() == 1; }));
  EXPECT_TRUE(Becomes([&] { return server_->connections() == 0; }));
  EXPECT_EQ(Metric("holdfast_slow_clients_total"), 1u);
  EXPECT_EQ(Metric("holdfast_answering_bytes"), 0u);
}

// Its end came with its request, and was never read: it stayed for --idle-timeout, and 5,000 such took all
// connections there are.
TEST_F(HttpServerTest, AClientThatHasSentItsLastByteIsAnsweredAndGone) {
  Start({});
  for (std::string_view path : {"/5", "/later/5", "/100000"}) {
    Client client(server_->port());
    ASSERT_TRUE(client.SendRaw(Get(path)));
    client.EndSending();
    if (path.starts_with("/later")) {
      ASSERT_TRUE(Becomes([&] { return giver_.waiting() == 1; }));
      giver_.FinishAll();
    }
    EXPECT_EQ(Answer(&client), 200) << path;
    EXPECT_TRUE(client.Ended()) << path;
  }
  for (std::string_view part :
       {"", "GET / HT", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf"}) {
    Client client(server_->port());
    ASSERT_TRUE(client.SendRaw(part));
    client.EndSending();
    EXPECT_TRUE(client.Ended()) << part;
  }
  EXPECT_TRUE(Becomes([&] { return server_->connections() == 0; }));
}

// --idle-timeout is for clients that have been served.
TEST_F(HttpServerTest, AConnectionThatNeverAsksLivesNoLongerThanARequest) {
  Start({.request_seconds_max = 1, .idle_seconds_max = 900});
  Client silent(server_->port()), served(server_->port());
  ASSERT_TRUE(served.SendRaw(Get("/1")));
  ASSERT_EQ(Answer(&served), 200);
  EXPECT_TRUE(silent.Ended());
  EXPECT_TRUE(Becomes([&] { return server_->connections() == 1; }));
  ASSERT_TRUE(served.SendRaw(Get("/1")));
  EXPECT_EQ(Answer(&served), 200);
}

TEST_F(HttpServerTest, TheConnectionBeyondTheBoundIsToldSo) {
  Start({.connections_max = 2});
  Client one(server_->port()), two(server_->port());
  for (Client* client : {&one, &two}) {
    ASSERT_TRUE(client->SendRaw(Get("/1")));
    ASSERT_EQ(Answer(client), 200);
  }
  {
    Client three(server_->port());
    // Sent before the refusal is read: it must not be lost in a reset.
    ASSERT_TRUE(three.SendRaw("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" +
                              std::string(100000, 'x')));
    std::string head = three.ReadUntil("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 503 ")) << head;
    EXPECT_NE(head.find("\r\nRetry-After: 1\r\n"), std::string::npos) << head;
    EXPECT_TRUE(three.Ended());
  }
  EXPECT_EQ(Metric("holdfast_refused_connections_total"), 1u);
  ASSERT_TRUE(two.SendRaw("GET /1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_EQ(Answer(&two), 200);
  ASSERT_TRUE(Becomes([&] { return server_->connections() == 1; }));
  Client four(server_->port());
  ASSERT_TRUE(four.SendRaw(Get("/1")));
  EXPECT_EQ(Answer(&four), 200);
}

// A length is a number: thirty-two connections that named 16 MB took all memory for requests with one packet.
TEST_F(HttpServerTest, MemoryForABodyFollowsWhatHasCome) {
  Start({});
  Client client(server_->port());
  ASSERT_TRUE(client.SendRaw("POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 16000000\r\n\r\n" +
                             std::string(1000, 'x')));
  ASSERT_TRUE(Becomes([&] { return Metric("holdfast_receiving_bytes") > 0; }));
  Round();
  EXPECT_LE(Metric("holdfast_receiving_bytes"), 1'200'000u);
  ASSERT_TRUE(client.SendRaw(std::string(16'000'000 - 1000, 'x')));
  EXPECT_EQ(Answer(&client), 200);
  EXPECT_TRUE(Becomes([&] { return Metric("holdfast_receiving_bytes") < 100'000; }));
}

// Ten thousand clients that wait for something to do should cost next to nothing.
TEST_F(HttpServerTest, AnIdleConnectionHoldsNoBuffers) {
  Start({});
  Client client(server_->port());
  ASSERT_TRUE(client.SendRaw(Get("/60000") + Get("/3000")));
  ASSERT_EQ(Answer(&client), 200);
  ASSERT_EQ(Answer(&client), 200);
  EXPECT_GT(Metric("holdfast_receiving_bytes"), 0u);
  EXPECT_TRUE(Becomes(
      [&] { return Metric("holdfast_receiving_bytes") == 0 && Metric("holdfast_answering_bytes") < 100; }));
}

// What a stored item or a client says must not become a header or an answer of its own.
TEST(HttpResponse, AHeaderWithControlCharactersIsLeftOut) {
  HttpResponse response;
  response.AddHeader("ETag", "\"1\"");
  response.AddHeader("ETag", "\"x\"\r\nSet-Cookie: session=evil");
  response.AddHeader("Retry-After", std::string_view("\0", 1));
  response.AddHeader("Allow", "\x7f");
  EXPECT_EQ(response.headers(), "ETag: \"1\"\r\n");
}

}  // namespace
}  // namespace holdfast::wire
