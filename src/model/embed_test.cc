#include "model/embed.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "auth/hmac.h"
#include "model/refusal.h"

namespace holdfast::model {
namespace {

using testing::HasSubstr;

// An HTTP service on loopback that keeps the requests it got and gives every one the same answer.
class Service {
 public:
  explicit Service(std::string answer) : answer_(std::move(answer)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_TRUE(::bind(listener_, any, size) == 0 && ::listen(listener_, 8) == 0 &&
                ::getsockname(listener_, any, &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~Service() { Stop(); }

  // What it was asked. It answers no more.
  const std::vector<std::string>& Stop() {
    if (thread_.joinable()) {
      ::shutdown(listener_, SHUT_RDWR);
      thread_.join();
      ::close(listener_);
    }
    return requests_;
  }
  std::string Url(const std::string& host = "127.0.0.1") const {
    return "http://" + host + ":" + std::to_string(port_) + "/embed";
  }

 private:
  void Serve() {
    for (int client = 0; (client = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(client)) {
      std::string request;
      char bytes[4096];
      while (!IsWhole(request)) {
        ssize_t got = ::recv(client, bytes, sizeof bytes, 0);
        if (got <= 0) break;
        request.append(bytes, static_cast<size_t>(got));
      }
      requests_.push_back(request);
      std::string_view rest = answer_;
      while (!rest.empty()) {
        ssize_t sent = ::send(client, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent <= 0) break;
        rest.remove_prefix(static_cast<size_t>(sent));
      }
      if (answer_.empty()) ::recv(client, bytes, sizeof bytes, 0);  // silent until the caller gives up
    }
  }
  static bool IsWhole(const std::string& request) {
    size_t body = request.find("\r\n\r\n"), length = request.find("Content-Length: ");
    return body != std::string::npos && length != std::string::npos &&
           request.size() >= body + 4 + std::stoul(request.substr(length + 16));
  }

  const std::string answer_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  int port_ = 0;
  std::vector<std::string> requests_;
  std::thread thread_;
};

std::string Http(const std::string& body, const std::string& status = "200 OK") {
  return "HTTP/1.1 " + status + "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

Result<std::vector<float>> Ask(const Service& service, WebhookOptions options = {}) {
  if (options.url.empty()) options.url = service.Url();
  if (options.allowed.empty()) options.allowed = {{"127.0.0.1"}};
  HF_TRY(Webhook webhook, Webhook::Make(options));
  return WebhookEmbedder(webhook).Embed("tide \"clock\"", 3);
}

// The refusal's name and message, or what was not refused.
std::string Refused(const Result<std::vector<float>>& result) {
  if (result) return "answered";
  return std::string(RefusalName(result.error())) + ": " + result.error().message();
}

double Similarity(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<float> Demo(std::string_view text, int dimensions = 1024) {
  return DemoEmbedder().Embed(text, dimensions).value();
}

// Searches in demonstrations make sense only if shared words and stems count for more than chance.
TEST(DemoEmbedderTest, RelatedTextsAreCloserThanUnrelatedOnes) {
  auto policy = Demo("Business class flights are allowed for journeys longer than six hours.");
  auto related = Demo("When may I book a business flight?"),
       stranger = Demo("Receipts of meals, with the date");
  EXPECT_NEAR(Similarity(policy, policy), 1, 1e-6);
  EXPECT_GT(Similarity(policy, related), 0.3);
  EXPECT_LT(Similarity(policy, stranger), 0.2);
  EXPECT_GT(Similarity(policy, Demo("business class flights")), Similarity(policy, related));
  EXPECT_EQ(Demo("Hotel, booking!"), Demo("hotel booking"));
}

// Vectors made by one version are searched by another.
TEST(DemoEmbedderTest, VectorsNeverChange) {
  std::vector<float> pinned;
  for (int sum : {0, 16, 16, 6, -32, -54, 70, 22})
    pinned.push_back(static_cast<float>(sum / std::sqrt(9872)));
  EXPECT_EQ(Demo("Hotel booking, hotel invoice: Zürich", 8), pinned);
  EXPECT_EQ(Demo("", 4), (std::vector<float>{0, 0, 1, 0}));
}

TEST(DemoEmbedderTest, EveryTextHasAVectorOfUnitLength) {
  for (std::string_view text : {"", "?!", "a", "\xff\xfe", "a a a a b"}) {
    for (int dimensions : {1, 2, 7, 1024, 4096}) {
      auto vector = Demo(text, dimensions);
      EXPECT_EQ(vector.size(), static_cast<size_t>(dimensions));
      EXPECT_NEAR(Similarity(vector, vector), 1, 1e-6) << text << " " << dimensions;
    }
  }
  EXPECT_THAT(Refused(DemoEmbedder().Embed("text", 0)), HasSubstr("ValidationError: dimensions"));
  EXPECT_THAT(Refused(DemoEmbedder().Embed("text", 4097)), HasSubstr("ValidationError: dimensions"));
  EXPECT_THAT(Refused(DemoEmbedder().Embed(std::string(500'000, 'x'), 8)),
              HasSubstr("ValidationError: text"));
}

TEST(WebhookEmbedderTest, SendsTheTextSignedAndReadsTheVector) {
  Service service(Http(R"({"embedding": [1, -0.5, 2e-3], "model": "any"})"));
  auto vector = Ask(service, {.secret = "shared"});
  EXPECT_THAT(vector.value(), testing::ElementsAre(1.0f, -0.5f, 2e-3f));
  ASSERT_EQ(service.Stop().size(), 1u);
  std::string request = service.Stop()[0], body = R"({"text":"tide \"clock\"","dimensions":3})";
  EXPECT_THAT(request, testing::StartsWith("POST /embed HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(request, testing::EndsWith("\r\n\r\n" + body));
  EXPECT_THAT(request,
              HasSubstr("X-Holdfast-Signature: sha256=" + auth::Hex(auth::HmacSha256("shared", body))));
}

// What a service answers ends up in an index: nothing but a vector of the right form may pass.
TEST(WebhookEmbedderTest, RefusesWrongAnswers) {
  for (const auto& [answer, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"embedding": [1, 2]})", "2 dimensions, not 3"},
           {R"({"embedding": [1, 2, 3, 4]})", "4 dimensions, not 3"},
           {R"({"embedding": [1, 2, 1e39]})", "a float's range"},
           {R"({"embedding": [1, 2, 1e999]})", "Unavailable"},
           {R"({"embedding": [1, 2, NaN]})", "Unavailable"},
           {R"({"embedding": [1, 2, "3"]})", "a float's range"},
           {R"({"embedding": [0, 0, 0]})", "zero"},
           {R"({"embedding": "AAAA"})", "no list"},
           {"[1, 2, 3]", "no list"},
           {"", "no list"}}) {
    Service service(Http(answer));
    EXPECT_THAT(Refused(Ask(service)), testing::AllOf(HasSubstr("Unavailable: "), HasSubstr(why))) << answer;
  }
  Service failing(Http(R"({"embedding": [1, 2, 3]})", "500 Oh"));
  EXPECT_THAT(Refused(Ask(failing)), HasSubstr("status 500"));
}

TEST(WebhookEmbedderTest, StopsReadingAnAnswerThatIsTooLong) {
  Service service(Http("{\"embedding\": [1, 2, 3], \"more\": \"" + std::string(2 << 20, 'x') + "\"}"));
  EXPECT_THAT(Refused(Ask(service)), HasSubstr("longer than 1048576 bytes"));
}

TEST(WebhookEmbedderTest, GivesUpOnAServiceThatDoesNotAnswer) {
  Service service("");
  EXPECT_THAT(Refused(Ask(service, {.total_millis = 200})), HasSubstr("Unavailable: "));
  ASSERT_EQ(service.Stop().size(), 1u);
  EXPECT_THAT(Refused(Ask(service)), HasSubstr("Unavailable: "));  // nobody listens any more
}

// A redirect would lead past the list of hosts.
TEST(WebhookEmbedderTest, FollowsNoRedirect) {
  Service elsewhere(Http(R"({"embedding": [1, 2, 3]})"));
  Service service("HTTP/1.1 307 Go\r\nContent-Length: 0\r\nConnection: close\r\nLocation: " +
                  elsewhere.Url() + "\r\n\r\n");
  EXPECT_THAT(Refused(Ask(service)), HasSubstr("status 307"));
  EXPECT_TRUE(elsewhere.Stop().empty());
}

// A proxy of the environment would hide the address that is talked to.
TEST(WebhookEmbedderTest, UsesNoProxy) {
  Service proxy(Http("{}")), service(Http(R"({"embedding": [1, 2, 3]})"));
  ::setenv("http_proxy", proxy.Url().c_str(), 1);
  EXPECT_TRUE(Ask(service));
  ::unsetenv("http_proxy");
  EXPECT_TRUE(proxy.Stop().empty());
}

// A name is allowed, but somebody else decides where it points: `localhost` stands for a name that was turned
// inside.
TEST(WebhookEmbedderTest, RefusesPrivateAddressesThatAreNotListed) {
  Service service(Http(R"({"embedding": [1, 2, 3]})"));
  std::string url = service.Url("localhost");
  EXPECT_THAT(Refused(Ask(service, {.url = url, .allowed = {{"localhost"}, {"127.0.0.1"}}})),
              testing::AllOf(HasSubstr("NotConfigured: "), HasSubstr("private address")));
  EXPECT_THAT(Refused(Ask(service, {.url = url, .allowed = {{"localhost", {"10.0.0.1"}}}})),
              HasSubstr("private address"));
  EXPECT_TRUE(Ask(service, {.url = url, .allowed = {{"localhost", {"127.0.0.1"}}}}));
  EXPECT_EQ(service.Stop().size(), 1u);
}

TEST(WebhookTest, KnowsPrivateAddresses) {
  for (const char* address : {"0.0.0.0",
                              "10.1.2.3",
                              "100.64.0.1",
                              "127.0.0.1",
                              "127.255.0.1",
                              "169.254.169.254",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.168.0.1",
                              "192.0.0.8",
                              "198.19.0.1",
                              "224.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "fe80::1",
                              "fc00::1",
                              "fd12::1",
                              "ff02::1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.0.0.1",
                              "64:ff9b::7f00:1",
                              "2002:7f00:1::1",
                              "2001::1",
                              "name",
                              ""}) {
    EXPECT_FALSE(IsPublicAddress(address)) << address;
  }
  for (const char* address :
       {"1.1.1.1", "11.0.0.1", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1", "198.20.0.1",
        "223.255.255.255", "2606:4700::1111", "2a00::1", "::ffff:1.1.1.1"}) {
    EXPECT_TRUE(IsPublicAddress(address)) << address;
  }
}

TEST(WebhookTest, RefusesUrlsThatMayNotBeCalled) {
  for (const char* url :
       {"ftp://embed.example/", "file:///etc/passwd", "https://other.example/", "embed.example",
        "https://user:word@embed.example/", "https://embed.example.evil.example/", "http://", "nonsense"}) {
    auto made = Webhook::Make({.url = url, .allowed = {{"embed.example"}}});
    ASSERT_FALSE(made) << url;
    EXPECT_EQ(RefusalName(made.error()), "NotConfigured");
  }
  EXPECT_TRUE(Webhook::Make({.url = "HTTPS://Embed.Example:8443/v1", .allowed = {{"embed.example"}}}));
  EXPECT_EQ(HostOfUrl("http://[::1]:80/"), "::1");
}

TEST(MakeEmbedderTest, MakesWhatIsNamed) {
  Service service(Http(R"({"embedding": [1, 2, 3]})"));
  EXPECT_TRUE(
      MakeEmbedder(service.Url()).value()->Embed("text", 3));  // an address in the URL is listed by it
  EXPECT_EQ(MakeEmbedder("demo").value()->Embed("text", 16).value(), Demo("text", 16));
  EXPECT_THAT(Refused(MakeEmbedder("").value()->Embed("text", 3)),
              testing::AllOf(HasSubstr("NotConfigured: "), HasSubstr("webhook")));
  EXPECT_EQ(RefusalName(MakeEmbedder("openai").error()), "NotConfigured");
}

}  // namespace
}  // namespace holdfast::model
