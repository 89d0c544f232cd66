// The patience of a remote store, against a server that says what it is told to. (How a store behaves on a
// database is in tests/contract/.)
#include "store/remote_store.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <thread>

#include "base/check.h"
#include "base/mutex.h"
#include "store/http_client.h"

namespace holdfast::store {
namespace {

using testing::HasSubstr;

// An HTTP server on loopback for one connection at a time. It gives the answers of its script, one a request,
// then lists no tables for ever.
class ScriptedServer {
 public:
  struct Answer {
    int status = 200;
    std::string body = R"({"TableNames":[]})";
    enum { kSend, kClose, kKeepSilent } manner = kSend;
  };

  ScriptedServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    HF_ASSERT(::bind(listener_, generic, length) == 0 && ::listen(listener_, 16) == 0);
    HF_ASSERT(::getsockname(listener_, generic, &length) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (int peer = 0; (peer = ::accept(listener_, nullptr, nullptr)) >= 0;) {
        while (Serve(peer)) {
        }
        ::close(peer);
      }
    });
  }
  // The store must be gone.
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  void Script(std::deque<Answer> answers) {
    base::MutexLock lock(&mu_);
    answers_ = std::move(answers);
    requests_.clear();
  }
  // Heads and bodies since the last Script.
  std::vector<std::string> requests() {
    base::MutexLock lock(&mu_);
    return requests_;
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  // Returns whether the connection stays.
  bool Serve(int peer) {
    std::string request;
    size_t whole = std::string::npos;
    while (request.size() < whole) {
      char bytes[4096];
      ssize_t count = ::read(peer, bytes, sizeof bytes);
      if (count <= 0) return false;
      request.append(bytes, static_cast<size_t>(count));
      size_t end = request.find("\r\n\r\n"), length = request.find("Content-Length: ");
      if (end == std::string::npos) continue;
      whole = end + 4 + (length < end ? std::stoul(request.substr(length + 16)) : 0);
    }
    Answer answer;
    {
      base::MutexLock lock(&mu_);
      requests_.push_back(std::move(request));
      if (!answers_.empty()) {
        answer = std::move(answers_.front());
        answers_.pop_front();
      }
    }
    char byte = 0;
    if (answer.manner == Answer::kKeepSilent) return ::read(peer, &byte, 1) > 0;
    if (answer.manner == Answer::kClose) return false;
    std::string text = "HTTP/1.1 " + std::to_string(answer.status) +
                       " x\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" +
                       answer.body;
    for (size_t sent = 0; sent < text.size();) {
      ssize_t count = ::send(peer, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<size_t>(count);
    }
    return true;
  }

  const int listener_;
  int port_ = 0;
  base::Mutex mu_;
  std::deque<Answer> answers_ HF_GUARDED_BY(mu_);
  std::vector<std::string> requests_ HF_GUARDED_BY(mu_);
  std::thread thread_;
};

using Answer = ScriptedServer::Answer;

Answer Refusal(std::string_view name, int status = 400, std::string_view more = "") {
  return {status, R"({"__type":"com.amazonaws.dynamodb.v20120810#)" + std::string(name) +
                      R"(","message":"because")" + std::string(more) + "}"};
}

class RemoteStoreTest : public testing::Test {
 protected:
  RemoteStoreTest() {
    options_ = {.endpoint = server_.url(), .access_key = "key", .secret_key = "secret", .connections = 1};
    options_.attempts = 4;
    options_.first_pause_millis = 1;
  }

  Result<std::unique_ptr<Store>> TryOpen() {
    return OpenRemoteStore(
        options_, [](const char*) { return ""; }, &clock_, &random_);
  }
  // Opens the store, whose next answers are these.
  void Open(std::deque<Answer> answers) {
    store_.reset();  // the server has time for one
    auto opened = TryOpen();
    ASSERT_TRUE(opened) << opened.error().ToString();
    store_ = *std::move(opened);
    server_.Script(std::move(answers));
  }
  Result<ListTablesResponse> List() { return store_->Run(ListTablesRequest{}); }
  size_t tries() { return server_.requests().size(); }

  base::ManualClock clock_{1'767'225'600'000};
  base::Random random_{1};
  ScriptedServer server_;
  RemoteOptions options_;
  std::unique_ptr<Store> store_;
};

// Key sets of token issuers are fetched so: whatever is not the document itself must be an error.
TEST(FetchTextTest, GivesTheBodyOfAGoodAnswerAlone) {
  ScriptedServer server;
  server.Script({{.body = "keys"},
                 {.status = 302, .body = "elsewhere"},
                 {.status = 404},
                 {.manner = Answer::kClose},
                 {.body = std::string((1 << 20) + 1, 'x')}});
  Result<std::string> text = FetchText(server.url() + "/jwks.json");
  ASSERT_TRUE(text) << text.error().ToString();
  EXPECT_EQ(*text, "keys");
  EXPECT_TRUE(server.requests()[0].starts_with("GET /jwks.json HTTP/1.1\r\n"));
  EXPECT_THAT(FetchText(server.url()).error().message(), HasSubstr("answered with status 302"));
  EXPECT_THAT(FetchText(server.url()).error().message(), HasSubstr("answered with status 404"));
  EXPECT_EQ(FetchText(server.url()).error().code(), ErrorCode::kIo);
  EXPECT_EQ(FetchText(server.url()).error().code(), ErrorCode::kLimitExceeded);
  EXPECT_EQ(FetchText("file:///etc/hostname").error().code(), ErrorCode::kIo);
}

TEST_F(RemoteStoreTest, WhatMayPassIsTriedAgain) {
  for (const Answer& setback :
       {Refusal("ThrottlingException"), Refusal("ProvisionedThroughputExceededException"),
        Refusal("RequestLimitExceeded"), Refusal("InternalServerError", 500), Refusal("NewKindOfFault", 500),
        Refusal("TransactionConflictException"), Refusal("TransactionInProgressException"),
        Refusal("TransactionCanceledException", 400,
                R"(,"CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict"}])"),
        Answer{503, "<html>busy</html>"}}) {
    Open({setback, setback, setback});
    auto listed = List();
    EXPECT_TRUE(listed) << setback.body << ": " << listed.error().ToString();
    EXPECT_EQ(tries(), 4U) << setback.body;
  }
}

// A connection on which there was no answer is given up, and the request goes over another one.
TEST_F(RemoteStoreTest, LostConnectionsAndSilenceAreTriedAgain) {
  options_.request_timeout_millis = 200;
  Open({{.manner = Answer::kClose}, {.manner = Answer::kKeepSilent}});
  auto listed = List();
  EXPECT_TRUE(listed) << listed.error().ToString();
  EXPECT_EQ(tries(), 3U);
}

TEST_F(RemoteStoreTest, PatienceEndsWithTheLastError) {
  Answer throttled = Refusal("ThrottlingException");
  Open({throttled, throttled, throttled, throttled, throttled});
  auto listed = List();
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code(), ErrorCode::kThrottling);
  EXPECT_EQ(listed.error().message(), "because");
  EXPECT_EQ(tries(), 4U);
}

TEST_F(RemoteStoreTest, WhatWillNotPassIsToldAtOnce) {
  Open({Refusal("ConditionalCheckFailedException", 400, R"(,"Item":{"p":{"S":"x"}})"),
        Refusal(
            "TransactionCanceledException", 400,
            R"(,"CancellationReasons":[{"Code":"TransactionConflict"},{"Code":"ConditionalCheckFailed"}])"),
        Refusal("SomethingNewException")});
  auto failed = List();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kConditionalCheckFailed);
  EXPECT_EQ(failed.error().detail()->item, (Item{{"p", "x"}}));
  failed = List();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().detail()->reasons.size(), 2U);
  failed = List();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().ToString(), "ValidationException: SomethingNewException: because");
  EXPECT_EQ(tries(), 3U);
}

// Otherwise a transaction whose answer was lost would be carried out once more.
TEST_F(RemoteStoreTest, ATransactionKeepsOneTokenOverAllItsTries) {
  auto token_of = [](const std::string& request) {
    size_t at = request.find("\"ClientRequestToken\":\"");
    return at == std::string::npos ? "" : request.substr(at + 22, 36);
  };
  Open({Refusal("InternalServerError", 500)});
  TransactWriteItemsRequest request{
      .transact_items = {{.put = {{.table_name = "table", .item = {{"p", "x"}}}}}}};
  EXPECT_TRUE(store_->Run(request));
  EXPECT_TRUE(store_->Run(request));
  auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(token_of(requests[0]).size(), 36U);
  EXPECT_EQ(token_of(requests[0]), token_of(requests[1]));
  EXPECT_NE(token_of(requests[1]), token_of(requests[2]));
  request.client_request_token = "mine";
  EXPECT_TRUE(store_->Run(request));
  EXPECT_THAT(server_.requests().back(), HasSubstr(R"("ClientRequestToken":"mine")"));
}

TEST_F(RemoteStoreTest, RequestsAreSignedAndNameTheirOperation) {
  options_.session_token = "token";
  Open({});
  ASSERT_TRUE(List());
  std::string request = server_.requests().back();
  EXPECT_THAT(request, HasSubstr("\r\nx-amz-target: DynamoDB_20120810.ListTables\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\ncontent-type: application/x-amz-json-1.0\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nx-amz-date: 20260101T000000Z\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nx-amz-security-token: token\r\n"));
  EXPECT_THAT(request, HasSubstr("Credential=key/20260101/us-east-1/dynamodb/aws4_request"));
}

// An item that cannot be built has no JSON: sending what is left of it would store something else.
TEST_F(RemoteStoreTest, AnItemWithADefectIsNotSent) {
  Open({});
  auto put = store_->Run(
      PutItemRequest{.table_name = "table", .item = {{"p", "x"}, {"n", AttributeValue::Number("one")}}});
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), ErrorCode::kValidation);
  EXPECT_EQ(tries(), 0U);
}

// A table in a state that we do not know must not pass for one that is ready.
TEST_F(RemoteStoreTest, AnAnswerThatIsNotUnderstoodIsAnError) {
  Open({{200, R"({"Table":{"TableName":"abc","TableStatus":"HIBERNATING"}})"}, {200, "<html>"}});
  for (const char* problem : {"HIBERNATING", "is no DescribeTableOutput"}) {
    auto described = store_->Run(DescribeTableRequest{"abc"});
    ASSERT_FALSE(described);
    EXPECT_EQ(described.error().code(), ErrorCode::kSerialization);
    EXPECT_THAT(described.error().message(), HasSubstr(problem));
  }
}

TEST_F(RemoteStoreTest, AnAnswerWithoutEndIsGivenUp) {
  Open({{200, std::string(33 << 20, ' ')}});
  auto listed = List();
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code(), ErrorCode::kLimitExceeded);
  EXPECT_EQ(tries(), 1U);
}

TEST_F(RemoteStoreTest, WhatIsNoDynamoDbIsRefusedWithItsNameAndStatus) {
  server_.Script({{404, "<html>not here</html>"}, {200, "{}"}});
  for (const char* problem : {"answered with status 404", "sent an answer that is no ListTablesOutput"}) {
    auto opened = TryOpen();
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message(), HasSubstr(server_.url()));
    EXPECT_THAT(opened.error().message(), HasSubstr(problem));
  }
  options_.endpoint = "ftp://127.0.0.1";
  EXPECT_THAT(TryOpen().error().message(), HasSubstr("not of the form http://host:port"));
}

// What an endpoint lacks is found when the store is opened, so that it can be refused by name before data is.
TEST_F(RemoteStoreTest, AbilitiesAreAskedByQuestionsThatWriteNothing) {
  Answer unknown = Refusal("UnknownOperationException");
  Answer missing = Refusal("ResourceNotFoundException");
  server_.Script({{}, unknown, missing, unknown, Refusal("ValidationException"), missing});
  auto opened = TryOpen();
  ASSERT_TRUE(opened);
  StoreAbilities abilities = (*opened)->abilities();
  EXPECT_FALSE(abilities.transactions);
  EXPECT_TRUE(abilities.time_to_live);
  EXPECT_FALSE(abilities.vector_search);
  EXPECT_TRUE(abilities.multi_attribute_keys);
  EXPECT_TRUE(abilities.tags);
  opened->reset();
  server_.Script(
      {{},
       missing,
       {501, ""},
       missing,
       {400, R"({"__type":"x#ValidationException","message":"2 validation errors detected: Value at )"
             R"('globalSecondaryIndexes.1.member.keySchema' failed"})"},
       unknown});
  opened = TryOpen();
  ASSERT_TRUE(opened);
  abilities = (*opened)->abilities();
  EXPECT_TRUE(abilities.transactions);
  EXPECT_FALSE(abilities.time_to_live);
  EXPECT_TRUE(abilities.vector_search);
  EXPECT_FALSE(abilities.multi_attribute_keys);
  EXPECT_FALSE(abilities.tags);
}

// Whoever closes a store should not have to sit out its pauses, and every call is answered all the same.
TEST_F(RemoteStoreTest, TheDestructorEndsPauses) {
  options_.first_pause_millis = options_.longest_pause_millis = 1'000'000'000;
  Open({Refusal("ThrottlingException"), Refusal("ThrottlingException")});
  int answered = 0;
  for (int i = 0; i < 2; ++i) {
    store_->Execute(ListTablesRequest{}, [&](const Result<ListTablesResponse>& listed) {
      EXPECT_FALSE(listed);
      ++answered;
    });
  }
  while (tries() < 2) std::this_thread::yield();
  store_.reset();
  EXPECT_EQ(answered, 2);
}

}  // namespace
}  // namespace holdfast::store
