// REST over loopback, on a real engine in memory: every route, and every way to be refused.

#include "wire/rest.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>

#include "json/plain.h"
#include "model/command.h"
#include "model/load.h"
#include "store/embedded_store.h"
#include "wire/caller.h"
#include "wire/compression.h"
#include "wire/front.h"
#include "wire/http_server.h"
#include "wire/http_testing.h"
#include "wire/rest_testing.h"

namespace holdfast::wire {
namespace {

using testing::Answered;
using testing::kShelf;

// A server with a model, and tokens that it believes: "<role>:<subject>".
class Server {
 public:
  explicit Server(bool with_model = true, size_t queue_max = 1000)
      : engine_(*engine::Engine::Open({})),
        store_(store::EmbeddedStore(engine_.get())),
        rest_pool_(queue_max == 0 ? 0 : 2, queue_max),
        protocol_(engine_.get(), &pool_, &log_, {}) {
    RestOptions options;
    if (with_model) {
      auto model = model::LoadModel(kShelf, "shelf.yaml", {});
      if (!model) throw std::runtime_error(model.error().message());
      application_ = *Application::Open(store_.get(), *model, {.cursor_key = std::string(32, 'k')});
      if (auto applied = application_->Apply(); !applied)
        throw std::runtime_error(applied.error().ToString());
      options.applications.push_back(application_.get());
    }
    options.authenticate = [](std::string_view token) -> Result<auth::Identity> {
      size_t colon = token.find(':');
      if (colon == std::string_view::npos)
        return Error(ErrorCode::kUnrecognizedClient, "the token has expired");
      std::string subject(token.substr(colon + 1));
      return auth::Identity{"test", subject, std::string(token.substr(0, colon)), subject, 0};
    };
    options.post = [this](std::string_view connection, std::string_view text) {
      posted_.append(connection).append(" ").append(text);
      return connection == "open";
    };
    options.documents["/docs"] = {"text/html", "<p>docs"};
    options.documents["/"] = {"text/html", "<p>page"};
    options.body_bytes_max = kBodyMax;
    rest_.emplace(std::move(options), &rest_pool_, &protocol_.metrics(), &log_);
    front_.emplace(&protocol_, &*rest_);
    HttpServerOptions http;
    http.port = 0;
    http.io_threads = 1;
    http.body_bytes_max = kBodyMax;
    http_ = *HttpServer::Start(http, &*front_, &log_);
  }

  static constexpr size_t kBodyMax = 100'000;

  Answered Send(const std::string& method, const std::string& target, const std::string& body = {},
                std::vector<std::string> headers = {"Authorization: Bearer user:ann"}) {
    if (!body.empty()) headers.emplace_back("Content-Type: application/json");
    return testing::Ask(http_->port(), method, target, headers, body);
  }
  Answered As(const std::string& who, const std::string& method, const std::string& target,
              const std::string& body = {}) {
    return Send(method, target, body, {"Authorization: Bearer " + who});
  }
  Answered Raw(const std::string& method, const std::string& target, const std::vector<std::string>& headers,
               const std::string& body = {}) {
    return testing::Ask(http_->port(), method, target, headers, body);
  }
  const std::string& posted() const { return posted_; }
  Application& application() { return *application_; }

 private:
  base::Log log_{base::LogLevel::kNone};
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Application> application_;
  WorkerPool pool_{1, 100};
  WorkerPool rest_pool_;
  DynamoDbProtocol protocol_;
  std::optional<Rest> rest_;
  std::optional<Front> front_;
  std::string posted_;
  std::unique_ptr<HttpServer> http_;
};

AttributeMap Json(const Answered& answered) {
  auto item = json::ReadPlainItem(answered.body);
  EXPECT_TRUE(item) << answered.body;
  return item ? item->ToMap() : AttributeMap();
}

// "404 NotFound": status and name of a refusal, which has its id in the body and in the header.
std::string Refused(const Answered& answered) {
  AttributeMap body = Json(answered);
  if (body.count("error") == 0) return std::to_string(answered.status) + " " + answered.body;
  EXPECT_EQ(body["requestId"].AsText(), answered.Header("x-holdfast-request-id"));
  EXPECT_FALSE(body["message"].AsText().empty());
  EXPECT_EQ(body.count("details"), 1);
  return std::to_string(answered.status) + " " + body["error"].AsText();
}

// Where a body or parameter is wrong.
std::string Path(const Answered& answered) {
  EXPECT_EQ(Refused(answered), "400 ValidationError") << answered.body;
  AttributeMap body = Json(answered);
  return body["details"].AsMap().at("violations").AsList()[0].AsMap().at("path").AsText();
}

constexpr const char* kBooks = "/v1/shelf/entities/Book";

std::string Book(const std::string& id, const std::string& more = {}) {
  return R"({"id":")" + id + R"(","title":"On )" + id + "\"" + more + "}";
}

class RestTest : public ::testing::Test {
 protected:
  Server server_;
};

// --- who may come in ---

// A stranger learns nothing, not even which models there are.
TEST_F(RestTest, EverythingNeedsAToken) {
  for (const char* path :
       {"/v1/models", "/v1/shelf", "/v1/none", "/v1/shelf/entities/None", "/v1/x/y/z", "/v1"}) {
    for (std::vector<std::string> headers : {std::vector<std::string>{},
                                             {"Authorization: Basic YTpi"},
                                             {"Authorization: Bearer"},
                                             {"Authorization: Bearer forged"}}) {
      Answered answered = server_.Raw("GET", path, headers);
      EXPECT_EQ(Refused(answered), "401 Unauthenticated") << path;
      EXPECT_EQ(answered.Header("WWW-Authenticate"), "Bearer");
    }
  }
  EXPECT_NE(server_.Raw("GET", "/v1/models", {"Authorization: Bearer old"}).body.find("expired"),
            std::string::npos);
  EXPECT_EQ(server_.Raw("GET", "/v1/models", {"authorization: bearer user:ann"}).status, 200);
}

TEST_F(RestTest, UnknownNamesAreNotFoundOnceTheTokenIsKnown) {
  for (const char* path : {"/v1/none", "/v1/none/entities/Book", "/v1/shelf/entities/None?id=1",
                           "/v1/shelf/patterns/None", "/v1/shelf/nothing/x", "/v1/shelf/", "/v1", "/v1/"})
    EXPECT_EQ(Refused(server_.Send("GET", path)), "404 NotFound") << path;
  EXPECT_EQ(Refused(server_.Send("POST", "/v1/shelf/commands/none", "{}")), "404 NotFound");
  EXPECT_EQ(Refused(server_.Send("GET", "/v1/%zz")), "400 ValidationError");
}

TEST_F(RestTest, OtherMethodsAreNamed) {
  Answered answered = server_.Send("GET", "/v1/shelf/transact");
  EXPECT_EQ(Refused(answered), "405 MethodNotAllowed");
  EXPECT_EQ(answered.Header("Allow"), "POST");
  answered = server_.Send("OPTIONS", kBooks);
  EXPECT_EQ(Refused(answered), "405 MethodNotAllowed");
  EXPECT_EQ(answered.Header("Allow"), "GET, POST, PUT, PATCH, DELETE");
  EXPECT_EQ(answered.Header("Access-Control-Allow-Origin"), "");
}

// A page elsewhere must not act through the browser of somebody who has access.
TEST_F(RestTest, PagesOfOtherOriginsAreRefused) {
  std::string token = "Authorization: Bearer user:ann";
  EXPECT_EQ(
      Refused(server_.Raw("GET", "/v1/models", {token, "Host: localhost", "Origin: http://evil.example"})),
      "403 Forbidden");
  EXPECT_EQ(Refused(server_.Raw("GET", "/v1/models", {token, "Host: evil.example"})), "403 Forbidden");
  EXPECT_EQ(
      server_.Raw("GET", "/v1/models", {token, "Host: localhost:1", "Origin: http://localhost:1"}).status,
      200);
}

// Whoever has no tenant would see everybody's data.
TEST(Caller, ComesFromRoleAndTenant) {
  model::Model open;
  model::Model closed;
  auto add = [&](const std::string& name, bool own) {
    closed.roles.push_back(std::make_unique<model::Role>());
    closed.roles.back()->name = name;
    closed.roles.back()->own_tenant = own;
  };
  add("employee", true);
  add("orchestrator", false);
  auto text = [](const Result<Caller>& caller) {
    if (!caller) return std::string("refused");
    return caller->role + "/" + caller->tenant + "/" + caller->subject +
           (caller->administrator ? "/all" : "");
  };
  EXPECT_EQ(text(CallerOf({"i", "s", "admin", "t", 0}, closed)), "admin//s/all");
  EXPECT_EQ(text(CallerOf({"i", "s", "employee", "t", 0}, closed)), "employee/t/s");
  EXPECT_EQ(text(CallerOf({"i", "s", "orchestrator", "t", 0}, closed)), "orchestrator//s");
  EXPECT_EQ(text(CallerOf({"i", "s", "stranger", "t", 0}, closed)), "refused");
  EXPECT_EQ(text(CallerOf({"i", "s", "employee", "", 0}, closed)), "refused");
  EXPECT_EQ(text(CallerOf({"i", "s", "anyone", "t", 0}, open)), "anyone/t/s");
}

// --- models ---

TEST_F(RestTest, ModelsAreDescribed) {
  AttributeMap all = Json(server_.Send("GET", "/v1/models"));
  ASSERT_EQ(all["models"].AsList().size(), 1);
  AttributeMap shelf = Json(server_.Send("GET", "/v1/shelf"));
  EXPECT_EQ(all["models"].AsList()[0], AttributeValue::Map(shelf));
  EXPECT_EQ(shelf["name"], AttributeValue("shelf"));
  EXPECT_EQ(shelf["version"], AttributeValue(3));
  AttributeMap book = shelf["entities"].AsList()[0].AsMap();
  EXPECT_EQ(book["key"], AttributeValue::List({"owner", "id"}));
  EXPECT_EQ(book["machine"].AsMap().at("field"), AttributeValue("status"));
  EXPECT_EQ(book["appendOnly"], AttributeValue(false));
  EXPECT_EQ(shelf["patterns"].AsList()[1].AsMap().at("writes"), AttributeValue(true));
}

TEST(Rest, WithoutModelsItSaysSo) {
  Server server(/*with_model=*/false);
  Answered answered = server.Send("GET", kBooks);
  EXPECT_EQ(Refused(answered), "404 NotFound");
  EXPECT_NE(answered.body.find("runs no models"), std::string::npos);
  EXPECT_EQ(server.Send("GET", "/v1/models").body, R"({"models": []})");
}

// --- entities ---

TEST_F(RestTest, AnEntityFromBirthToDeath) {
  Answered created = server_.Send("POST", kBooks, Book("a", R"(,"pages":12345678901234567890.123456789)"));
  EXPECT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(created.Header("ETag"), "\"1\"");
  EXPECT_EQ(created.Header("Content-Type"), "application/json");
  EXPECT_NE(created.body.find("\"pages\":12345678901234567890.123456789"), std::string::npos) << created.body;
  EXPECT_EQ(Refused(server_.Send("POST", kBooks, Book("a"))), "409 AlreadyExists");

  Answered got = server_.Send("GET", std::string(kBooks) + "?id=a");
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, created.body);
  EXPECT_EQ(got.Header("ETag"), "\"1\"");
  EXPECT_EQ(server_.As("admin:root", "GET", std::string(kBooks) + "?id=a&owner=ann").body, got.body);

  Answered patched =
      server_.Send("PATCH", std::string(kBooks) + "?id=a", R"({"status":"lent","pages":null})");
  EXPECT_EQ(patched.status, 200) << patched.body;
  AttributeMap item = Json(patched)["item"].AsMap();
  EXPECT_EQ(item["status"], AttributeValue("lent"));
  EXPECT_EQ(item.count("pages"), 0);
  EXPECT_EQ(patched.Header("ETag"), "\"2\"");
  EXPECT_EQ(Refused(server_.Send("PATCH", std::string(kBooks) + "?id=a", R"({"status":"lost"})")),
            "409 IllegalTransition");

  Answered deleted = server_.Send("DELETE", std::string(kBooks) + "?id=a");
  EXPECT_EQ(deleted.status, 204);
  EXPECT_EQ(deleted.body, "");
  EXPECT_EQ(deleted.Header("Content-Length"), "");
  EXPECT_EQ(Refused(server_.Send("GET", std::string(kBooks) + "?id=a")), "404 NotFound");
  EXPECT_EQ(Refused(server_.Send("DELETE", std::string(kBooks) + "?id=a")), "404 NotFound");
}

TEST_F(RestTest, PutCreatesOrReplaces) {
  EXPECT_EQ(server_.Send("PUT", kBooks, Book("p", R"(,"pages":7)")).status, 201);
  Answered replaced = server_.Send("PUT", kBooks, Book("p"));
  EXPECT_EQ(replaced.status, 200);
  EXPECT_EQ(replaced.body.find("pages"), std::string::npos);
}

// Two people who change the same item must not undo each other's work.
TEST_F(RestTest, VersionsThatAreExpected) {
  ASSERT_EQ(server_.Send("POST", kBooks, Book("v")).status, 201);
  auto patch = [&](const std::string& query, const std::string& match) {
    std::vector<std::string> headers{"Authorization: Bearer user:ann"};
    if (!match.empty()) headers.push_back("If-Match: " + match);
    return server_.Send("PATCH", kBooks + ("?id=v" + query), R"({"pages":1})", headers);
  };
  EXPECT_EQ(patch("&expectedVersion=1", "").status, 200);
  Answered late = patch("&expectedVersion=1", "");
  EXPECT_EQ(Refused(late), "409 VersionConflict");
  EXPECT_EQ(Json(late)["details"].AsMap().at("current"), AttributeValue(2));
  EXPECT_EQ(patch("", "\"2\"").status, 200);
  EXPECT_EQ(Refused(patch("", "\"2\"")), "409 VersionConflict");
  EXPECT_EQ(patch("", "3").status, 200);
  EXPECT_EQ(Path(patch("", "*")), "If-Match");
  EXPECT_EQ(Path(patch("&expectedVersion=two", "")), "expectedVersion");
  EXPECT_EQ(Refused(server_.Send("PUT", kBooks + std::string("?expectedVersion=9"), Book("v"))),
            "409 VersionConflict");
  EXPECT_EQ(Refused(server_.Send("DELETE", kBooks + std::string("?id=v&expectedVersion=9"))),
            "409 VersionConflict");
  EXPECT_EQ(Path(server_.Send("PUT", "/v1/shelf/entities/Note?expectedVersion=1", "{}")), "expectedVersion");
}

TEST_F(RestTest, ListsAreNarrowedByAllThatIsGiven) {
  for (const char* id : {"a", "ab", "b"}) {
    ASSERT_EQ(server_.Send("POST", kBooks, Book(id, R"(,"pages":1)")).status, 201);
    ASSERT_EQ(server_.As("user:bob", "POST", kBooks, Book(id)).status, 201);
  }
  ASSERT_EQ(server_.Send("PATCH", kBooks + std::string("?id=b"), R"({"pages":2,"status":"lent"})").status,
            200);
  auto ids = [&](const std::string& query) {
    std::string all;
    Answered answered = server_.Send("GET", kBooks + query);
    EXPECT_EQ(answered.status, 200) << answered.body;
    AttributeMap body = Json(answered);
    EXPECT_EQ(body["count"], AttributeValue(static_cast<int64_t>(body["items"].AsList().size())));
    for (const AttributeValue& item : body["items"].AsList()) {
      EXPECT_EQ(item.AsMap().at("owner"), AttributeValue("ann"));
      all += (all.empty() ? "" : " ") + item.AsMap().at("id").AsText();
    }
    return all;
  };
  EXPECT_EQ(ids(""), "a ab b");
  EXPECT_EQ(ids("?owner=ann"), "a ab b");
  EXPECT_EQ(ids("?pages=1"), "a ab");
  EXPECT_EQ(ids("?pages=2&status=lent"), "b");
  EXPECT_EQ(ids("?id=a&limit=10"), "a");
  EXPECT_EQ(ids("?id=a&pages=1"), "a");
  EXPECT_EQ(ids("?id=a&pages=2"), "");
  EXPECT_EQ(Refused(server_.Send("GET", kBooks + std::string("?owner=bob"))), "404 NotFound");
  EXPECT_EQ(Path(server_.Send("GET", kBooks + std::string("?colour=red"))), "colour");
  EXPECT_EQ(Path(server_.Send("GET", kBooks + std::string("?pages=many&limit=1"))), "pages");
  EXPECT_EQ(Path(server_.As("admin:root", "GET", kBooks + std::string("?pages=1"))), "parameters");
}

TEST_F(RestTest, PagesFollowTheirCursors) {
  for (const char* id : {"a", "b", "c"}) ASSERT_EQ(server_.Send("POST", kBooks, Book(id)).status, 201);
  for (const std::string& base :
       {std::string(kBooks) + "?limit=2", std::string("/v1/shelf/patterns/SH-A-01?status=shelved&limit=2")}) {
    AttributeMap first = Json(server_.Send("GET", base));
    EXPECT_EQ(first["count"], AttributeValue(2));
    std::string cursor = first["cursor"].AsText();
    AttributeMap second = Json(server_.Send("GET", base + "&cursor=" + cursor));
    EXPECT_EQ(second["count"], AttributeValue(1));
    EXPECT_EQ(second.count("cursor"), 0);
    EXPECT_EQ(Refused(server_.Send("GET", base + "&cursor=x" + cursor)), "400 InvalidCursor");
    // A cursor is its caller's own.
    EXPECT_EQ(Refused(server_.As("user:bob", "GET", base + "&cursor=" + cursor)), "400 InvalidCursor");
  }
  EXPECT_EQ(Path(server_.Send("GET", std::string(kBooks) + "?limit=ten")), "limit");
  EXPECT_EQ(Path(server_.Send("GET", std::string(kBooks) + "?limit=0")), "limit");
}

// JSON has fewer kinds of values than a table: the model decides what is meant.
TEST_F(RestTest, ValuesBecomeWhatTheModelSays) {
  ASSERT_EQ(
      server_.Send("POST", kBooks, Book("t", R"(,"tags":["x","y"],"size":{"w":1.50},"lent":true)")).status,
      201);
  Item key{{"id", "t"}, {"owner", "ann"}};
  Item stored = server_.application().Get(::holdfast::Caller::Administrator(), "Book", key)->stored();
  EXPECT_EQ(*stored.Get("tags"), AttributeValue::StringSet({"x", "y"}));
  EXPECT_EQ(*stored.Get("size"), AttributeValue::Map({{"w", AttributeValue::Number("1.5")}}));
  EXPECT_EQ(Json(server_.Send("GET", kBooks + std::string("?lent=true")))["count"], AttributeValue(1));
  EXPECT_EQ(Json(server_.Send("GET", kBooks + std::string("?lent=false")))["count"], AttributeValue(0));
  EXPECT_EQ(Json(server_.Send("GET", kBooks + std::string("?tags=%5B%22y%22,%22x%22%5D")))["count"],
            AttributeValue(1));
}

TEST_F(RestTest, WhatTheModelRefusesIsPassedOn) {
  EXPECT_EQ(Path(server_.Send("POST", kBooks, R"({"id":"x"})")), "title");
  EXPECT_EQ(Path(server_.Send("POST", kBooks, Book("x", R"(,"pages":"many")"))), "pages");
  EXPECT_EQ(Path(server_.Send("PATCH", kBooks + std::string("?title=x"), "{}")), "title");
  EXPECT_EQ(Refused(server_.Send("PATCH", kBooks, "{}")), "400 ValidationError");
  EXPECT_EQ(Refused(server_.As("user:bob", "POST", kBooks, R"({"id":"x","title":"x","owner":"ann"})")),
            "404 NotFound");
}

// --- bodies ---

TEST_F(RestTest, BodiesThatAreNoObjects) {
  for (const char* body : {"[]", "1", "null", "{", "{}x", R"({"id":"a","id":"b"})", "{\"a\":\"\xff\"}",
                           R"({"a":1e999})", R"({"tags":[]})"})
    EXPECT_EQ(Refused(server_.Send("POST", kBooks, body)), "400 ValidationError") << body;
  EXPECT_EQ(Path(server_.Send("POST", kBooks, R"({"id":"a","id":"b"})")), "body");
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "{\"a\":";
  EXPECT_EQ(Path(server_.Send("POST", kBooks, deep + "1" + std::string(200, '}'))), "body");
}

TEST_F(RestTest, BodiesThatAreNotJson) {
  std::string token = "Authorization: Bearer user:ann";
  EXPECT_EQ(Refused(server_.Raw("POST", kBooks, {token}, Book("a"))), "415 UnsupportedMediaType");
  EXPECT_EQ(Refused(server_.Raw("POST", kBooks, {token, "Content-Type: text/plain"}, Book("a"))),
            "415 UnsupportedMediaType");
  EXPECT_EQ(
      Refused(server_.Raw("POST", kBooks, {token, "Content-Type: application/json", "Content-Encoding: br"},
                          Book("a"))),
      "415 UnsupportedMediaType");
  EXPECT_EQ(
      server_.Raw("POST", kBooks, {token, "Content-Type: application/json; charset=utf-8"}, Book("a")).status,
      201);
}

TEST_F(RestTest, BodiesMayBeCompressedBothWays) {
  std::vector<std::string> headers{"Authorization: Bearer user:ann", "Content-Type: application/json",
                                   "Content-Encoding: gzip"};
  std::string large = Book("z", ",\"size\":{\"text\":\"" + std::string(5000, 'x') + "\"}");
  EXPECT_EQ(server_.Raw("POST", kBooks, headers, Compress(Coding::kGzip, large)).status, 201);
  Answered got = server_.Raw("GET", kBooks + std::string("?id=z"), {headers[0], "Accept-Encoding: gzip"});
  EXPECT_EQ(got.Header("Content-Encoding"), "gzip");
  EXPECT_NE(Decompress(Coding::kGzip, got.body, 1 << 20)->find("xxxx"), std::string::npos);
  EXPECT_EQ(Path(server_.Raw("POST", kBooks, headers, "no gzip")), "body");
  std::string bomb = Compress(Coding::kGzip, std::string(Server::kBodyMax + 1, ' '));
  EXPECT_EQ(Refused(server_.Raw("POST", kBooks, headers, bomb)), "413 BodyTooLarge");
  EXPECT_EQ(server_.Send("POST", kBooks, std::string(Server::kBodyMax + 1, ' ')).status, 413);
}

// --- patterns ---

TEST_F(RestTest, PatternsAreAskedByTheirIds) {
  ASSERT_EQ(server_.Send("POST", kBooks, Book("a")).status, 201);
  ASSERT_EQ(server_.As("user:bob", "POST", kBooks, Book("b")).status, 201);
  AttributeMap body = Json(server_.Send("GET", "/v1/shelf/patterns/SH-A-01?status=shelved&explain=true"));
  ASSERT_EQ(body["items"].AsList().size(), 1);
  EXPECT_EQ(body["items"].AsList()[0].AsMap().count("gpk"), 0);
  EXPECT_NE(body["plan"].AsList()[0].AsText().find("Query Shelf-dev.byStatus"), std::string::npos);
  EXPECT_EQ(Json(server_.Send("GET", "/v1/shelf/patterns/SH-A-01?status=shelved")).count("plan"), 0);
  EXPECT_EQ(Json(server_.As("admin:root", "GET", "/v1/shelf/patterns/SH-A-01?status=shelved"))["count"],
            AttributeValue(2));
  EXPECT_EQ(Path(server_.Send("GET", "/v1/shelf/patterns/SH-A-01")), "status");
  EXPECT_EQ(Path(server_.Send("GET", "/v1/shelf/patterns/SH-A-01?status=shelved&x=1")), "x");
  EXPECT_EQ(Path(server_.Send("GET", "/v1/shelf/patterns/SH-A-01?status=shelved&explain=yes")), "explain");

  AttributeMap parts =
      Json(server_.Send("GET", "/v1/shelf/patterns/SH-A-04?status=shelved&id=a"))["parts"].AsMap();
  EXPECT_EQ(parts["books"].AsMap().at("count"), AttributeValue(1));
  EXPECT_EQ(parts["one"].AsMap().at("items").AsList()[0].AsMap().at("id"), AttributeValue("a"));
}

// A GET must not write, whoever follows the link.
TEST_F(RestTest, PatternsThatWriteAreOnlyExplained) {
  Answered refused = server_.Send("GET", "/v1/shelf/patterns/SH-A-02?id=w&title=t");
  EXPECT_EQ(Refused(refused), "405 MethodNotAllowed");
  AttributeMap body = Json(server_.Send("GET", "/v1/shelf/patterns/SH-A-02?id=w&title=t&explain=true"));
  EXPECT_EQ(body["count"], AttributeValue(0));
  EXPECT_FALSE(body["plan"].AsList().empty());
  EXPECT_EQ(Refused(server_.Send("GET", kBooks + std::string("?id=w"))), "404 NotFound");
}

// --- transactions, connections ---

TEST_F(RestTest, EntriesOfATransactionAreRead) {
  auto path = [&](const std::string& body) { return Path(server_.Send("POST", "/v1/shelf/transact", body)); };
  EXPECT_EQ(path("{}"), "entries");
  EXPECT_EQ(path(R"({"entries":{}})"), "entries");
  EXPECT_EQ(path(R"({"entries":[]})"), "entries");
  EXPECT_EQ(path(R"({"entries":[],"more":1})"), "more");
  EXPECT_EQ(path(R"({"entries":[1]})"), "entries[0]");
  EXPECT_EQ(path(R"({"entries":[{"item":{}}]})"), "entries[0]");
  EXPECT_EQ(path(R"({"entries":[{"put":"Book","check":"Book"}]})"), "entries[0].check");
  EXPECT_EQ(path(R"({"entries":[{"put":"Book"}]})"), "entries[0].item");
  EXPECT_EQ(path(R"({"entries":[{"put":"Book","item":{},"key":{}}]})"), "entries[0].key");
  EXPECT_EQ(path(R"({"entries":[{"patch":"Book","key":{},"changes":[]}]})"), "entries[0].changes");
  EXPECT_EQ(path(R"({"entries":[{"delete":"Book"}]})"), "entries[0].key");
  EXPECT_EQ(path(R"({"entries":[{"check":"Book","key":{},"that":1}]})"), "entries[0].that");
  EXPECT_EQ(path(R"({"entries":[{"delete":"Note","key":{},"expectedVersion":1}]})"),
            "entries[0].expectedVersion");
  Answered unknown =
      server_.Send("POST", "/v1/shelf/transact", R"({"entries":[{"delete":"None","key":{}}]})");
  EXPECT_EQ(Refused(unknown), "404 NotFound");
  EXPECT_EQ(Json(unknown)["details"].AsMap().at("index"), AttributeValue(0));
  EXPECT_EQ(
      Path(server_.Send("POST", "/v1/shelf/transact", "{}",
                        {"Authorization: Bearer user:ann", "Idempotency-Key: " + std::string(256, 'k')})),
      "Idempotency-Key");
}

TEST_F(RestTest, MessagesGoToOpenConnections) {
  EXPECT_EQ(Refused(server_.Send("POST", "/v1/connections/open", "{}")), "403 Forbidden");
  Answered sent = server_.As("orchestrator:o", "POST", "/v1/connections/open", R"({"a": [1]})");
  EXPECT_EQ(sent.status, 200);
  EXPECT_EQ(sent.body, "{}");
  EXPECT_EQ(server_.posted(), R"(open {"a":[1]})");
  EXPECT_EQ(Refused(server_.As("admin:a", "POST", "/v1/connections/closed", "{}")), "410 Gone");
  EXPECT_EQ(Path(server_.As("admin:a", "POST", "/v1/connections/open", "[]")), "body");
}

// --- beside the models ---

TEST_F(RestTest, DocumentsAndProbesNeedNoToken) {
  EXPECT_EQ(server_.Raw("GET", "/docs", {}).body, "<p>docs");
  EXPECT_EQ(server_.Raw("GET", "/", {"Accept: text/html,*/*"}).body, "<p>page");
  EXPECT_EQ(server_.Raw("GET", "/", {"Accept: */*"}).body.rfind("healthy: ", 0), 0);
  EXPECT_EQ(server_.Raw("GET", "/health", {}).status, 200);
  EXPECT_EQ(server_.Raw("GET", "/openapi.json", {}).status, 404);
  EXPECT_EQ(Refused(server_.Raw("GET", "/docs", {"Host: evil.example"})), "403 Forbidden");
}

TEST_F(RestTest, RoutesAreCounted) {
  ASSERT_EQ(server_.Send("GET", "/v1/models").status, 200);
  ASSERT_EQ(server_.Raw("GET", "/v1/models", {}).status, 401);
  std::string metrics = server_.Raw("GET", "/metrics", {}).body;
  EXPECT_NE(metrics.find("holdfast_requests_total{operation=\"GET /v1/models\"} 2\n"), std::string::npos);
  EXPECT_NE(metrics.find("holdfast_errors_total{operation=\"GET /v1/models\",type="), std::string::npos);
}

TEST_F(RestTest, HeadIsGetWithoutItsBody) {
  Answered head = server_.Send("HEAD", "/v1/shelf");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_NE(head.Header("Content-Length"), "0");
}

// Requests beyond the bound are turned away at once rather than kept waiting without end.
TEST(Rest, AFullQueueIsUnavailable) {
  Server server(/*with_model=*/false, /*queue_max=*/0);
  Answered answered = server.Send("GET", "/v1/models");
  EXPECT_EQ(Refused(answered), "503 Unavailable");
  EXPECT_EQ(answered.Header("Retry-After"), "1");
}

}  // namespace
}  // namespace holdfast::wire
