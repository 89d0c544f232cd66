// A request to REST by somebody who has a token: whatever its path, query and body are, the answer is never
// that the server is at fault, and always JSON. The first line is method and target, the rest the body.
#include "wire/rest.h"

#include <future>
#include <span>

#include "json/plain.h"
#include "model/load.h"
#include "store/embedded_store.h"
#include "tests/fuzz/fuzz.h"
#include "wire/rest_testing.h"

using namespace holdfast;

namespace {

class Asked final : public wire::Exchange {
 public:
  explicit Asked(std::string text) : text_(std::move(text)) {
    size_t size = text_.size();
    text_.resize(size + wire::kBodyPaddingBytes);
    size_t consumed = 0;
    complete_ =
        parser_.Parse(std::span(text_.data(), size), &consumed) == wire::HttpParser::Outcome::kRequest;
  }
  bool complete() const { return complete_; }
  const wire::HttpRequest& request() const override { return parser_.request(); }
  void Done(const Status&) override {}
  void Finish() override { finished_.set_value(); }
  bool abandoned() const override { return false; }
  void Wait() { finished_.get_future().wait(); }

 private:
  std::string text_;
  wire::HttpParser parser_{1 << 20};
  bool complete_ = false;
  std::promise<void> finished_;
};

struct Server {
  Server() {
    auto model = model::LoadModel(wire::testing::kShelf, "shelf.yaml", {});
    application = *Application::Open(store.get(), *model, {});
    HF_ASSERT(application->Apply());
    wire::RestOptions options;
    options.applications = {application.get()};
    options.authenticate = [](std::string_view) -> Result<auth::Identity> {
      return auth::Identity{"i", "ann", "user", "ann", 0};
    };
    rest.emplace(std::move(options), &pool, &metrics, &log);
  }
  base::Log log{base::LogLevel::kError};
  std::unique_ptr<engine::Engine> engine = *engine::Engine::Open({});
  std::unique_ptr<Store> store = store::EmbeddedStore(engine.get());
  std::unique_ptr<Application> application;
  wire::WorkerPool pool{1, 1};
  wire::Metrics metrics{{}};
  std::optional<wire::Rest> rest;
};

}  // namespace

FUZZ(bytes) {
  static Server server;
  std::string_view body = bytes;
  std::string text(TakeLine(&body));
  text +=
      " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  Asked asked(std::move(text));
  if (!asked.complete() || !server.rest->Owns(asked.request())) return;
  if (server.rest->Handle(&asked) == wire::HttpHandler::Handled::kPending) asked.Wait();
  const wire::HttpResponse& response = asked.response();
  HF_ASSERT(response.status < 500);
  HF_ASSERT(response.headers().find("\r\n\r\n") == std::string::npos);
  if (response.status != 204) HF_ASSERT(json::ReadPlainItem(response.body));
}
