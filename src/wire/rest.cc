#include "wire/rest.h"

#include <algorithm>
#include <optional>

#include "base/limits.h"
#include "base/thread.h"
#include "json/plain.h"
#include "json/writer.h"
#include "model/refusal.h"
#include "store/access.h"
#include "store/acting_for.h"
#include "wire/agents.h"
#include "wire/caller.h"
#include "wire/compression.h"
#include "wire/request_id.h"

namespace holdfast::wire {
namespace {

using model::Refuse;

constexpr std::string_view kJson = "application/json";

// Of the store itself rather than of a model.
constexpr std::string_view kBackupRoute = "POST /_holdfast/backup";

// A route is its method and its path, and counted under this name. What is in braces stands for any segment:
// {model} for a model, every other for one of Call::names. The first that fits is taken.
struct Route {
  std::string_view name;
  Answering answer;
  // One entity, one command, one event: not much more than an item. What brings many of them has room for a
  // transaction.
  size_t body_bytes_max = limits::kEntityBodyBytesMax;
};
constexpr Route kRoutes[] = {
    {kBackupRoute, &BackUpStore},
    {"GET /v1/models", &ListModels},
    {"GET /v1/alarms", &ListAlarms},
    {"GET /v1/alarms/ws", &OpenAlarmSocket},
    {"POST /v1/connections/{id}", &PostToConnection},
    {"POST /v1/sessions/{session}/events", &AppendEvent},
    {"GET /v1/sessions/{session}/events", &ListEvents},
    {"PUT /v1/sessions/{session}/events", &ChangeEvent},
    {"PATCH /v1/sessions/{session}/events", &ChangeEvent},
    {"DELETE /v1/sessions/{session}/events", &ChangeEvent},
    {"GET /v1/sessions/{session}/events/{seq}", &GetEvent},
    {"PUT /v1/sessions/{session}/events/{seq}", &ChangeEvent},
    {"PATCH /v1/sessions/{session}/events/{seq}", &ChangeEvent},
    {"DELETE /v1/sessions/{session}/events/{seq}", &ChangeEvent},
    {"GET /v1/sessions/{session}/messages", &ListMessages},
    {"GET /v1/sessions/{session}/effects", &ListEffects},
    {"GET /v1/sessions/{session}/effects/{seq}/{i}", &GetEffect},
    {"GET /v1/sessions/{session}/timers", &ListTimers},
    {"DELETE /v1/sessions/{session}/timers", &CancelTimers},
    {"DELETE /v1/sessions/{session}/timers/{timer}", &CancelTimers},
    {"GET /v1/sessions/{session}/checkpoints/{seq}", &GetCheckpoint},
    {"GET /v1/sessions/{session}", &GetSession},
    {"DELETE /v1/sessions/{session}", &DeleteSession},
    {"POST /v1/sessions/{session}/pause", &PauseSession},
    {"POST /v1/sessions/{session}/resume", &ResumeSession},
    {"POST /v1/sessions/{session}/cancel", &StopTurn},
    {"GET /v1/agents/autonomy", &GetAutonomy},
    {"PUT /v1/agents/autonomy", &SetAutonomy},
    {"GET /v1/agents/{agent}/policy", &GetPolicy},
    {"PUT /v1/agents/{agent}/policy", &PutPolicy},
    {"GET /v1/dead-letters", &ListDeadLetters},
    {"POST /v1/dead-letters/{id}/redrive", &Redrive},
    {"POST /v1/work/claim", &ClaimWork},
    {"POST /v1/work/commit", &CommitWork, limits::kRequestBodyBytesMax},
    {"POST /v1/work/heartbeat", &Heartbeat},
    {"POST /v1/work/release", &ReleaseWork},
    {"GET /v1/work/ws", &OpenWorkerSocket},
    {"GET /v1/connect", &OpenDeviceSocket},
    {"GET /v1/{model}", &DescribeModel},
    {"GET /v1/{model}/entities/{Entity}", &GetEntities},
    {"POST /v1/{model}/entities/{Entity}", &CreateEntity},
    {"PUT /v1/{model}/entities/{Entity}", &PutEntity},
    {"PATCH /v1/{model}/entities/{Entity}", &PatchEntity},
    {"DELETE /v1/{model}/entities/{Entity}", &DeleteEntity},
    {"GET /v1/{model}/patterns/{ID}", &AskPattern},
    {"POST /v1/{model}/commands/{name}", &RunCommand},
    {"POST /v1/{model}/transact", &RunTransaction, limits::kRequestBodyBytesMax},
    {"GET /v1/{model}/ws", &OpenSocket},
};

// A route's name taken apart.
struct Shape {
  std::string_view method;
  std::vector<std::string> segments;
};
const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = [] {
    std::vector<Shape> all;
    for (const Route& route : kRoutes) {
      size_t blank = route.name.find(' ');
      all.push_back({route.name.substr(0, blank), *SplitPath(route.name.substr(blank + 1))});
    }
    return all;
  }();
  return shapes;
}

// What is neither of a model nor named here is the agent runtime's. It works on a thread of its own, for all
// its callers: those who are held to policies need to be allowed what it may come to. Routes of the whole
// store check its tables themselves.
Status CheckSessions(const auth::Principal& principal, const Route& route, const Shape& shape) {
  bool of_model = std::find(shape.segments.begin(), shape.segments.end(), "{model}") != shape.segments.end();
  bool of_store =
      route.answer == &BackUpStore || route.answer == &ListAlarms || route.answer == &OpenAlarmSocket;
  if (of_model || of_store || route.answer == &ListModels || route.answer == &PostToConnection) return Ok{};
  bool reads =
      shape.method == "GET" && route.answer != &OpenWorkerSocket && route.answer != &OpenDeviceSocket;
  return store::CheckUse(principal, agent::RuntimeOptions().table,
                         reads ? store::Use::kRead : store::Use::kWrite);
}

bool Fits(const std::vector<std::string>& shape, const std::vector<std::string>& segments) {
  return std::equal(shape.begin(), shape.end(), segments.begin(), segments.end(),
                    [](const std::string& wanted, const std::string& segment) {
                      return wanted.starts_with('{') ? !segment.empty() : wanted == segment;
                    });
}

// The token of an Authorization header or, since browsers cannot give a WebSocket one, among the protocols it
// offers: "holdfast, bearer.<token>". Empty: there is none.
std::string_view BearerToken(const HttpRequest& request) {
  constexpr std::string_view kScheme = "Bearer ";
  constexpr std::string_view kProtocol = "bearer.";
  std::string_view given = request.Get("Authorization");
  if (given.empty()) {
    std::string_view offered = request.Get("Sec-WebSocket-Protocol");
    size_t begin = offered.find(kProtocol);
    if (begin == std::string_view::npos) return {};
    offered.remove_prefix(begin + kProtocol.size());
    return offered.substr(0, offered.find_first_of(", "));
  }
  if (!EqualsIgnoringCase(given.substr(0, kScheme.size()), kScheme)) return {};
  given.remove_prefix(kScheme.size());
  while (given.starts_with(' ')) given.remove_prefix(1);
  return given;
}

Result<Application*> ApplicationNamed(const RestOptions& options, const std::string& name) {
  for (Application* application : options.applications) {
    if (application->model().name == name) return application;
  }
  if (options.applications.empty())
    return Refuse("NotFound", "this server runs no models; start it with --models to serve some");
  return Refuse("NotFound", "this server runs no model " + name);
}

// The body as its sender meant it: JSON, out of its compression. `*plain` keeps what was decompressed.
Result<std::string_view> DecodeBody(const HttpRequest& request, size_t bytes_max, std::string* plain) {
  auto too_large = [&](std::string_view which) {
    return Refuse("BodyTooLarge",
                  "the body has more than " + std::to_string(bytes_max) + " bytes" + std::string(which));
  };
  if (request.body.empty()) return request.body;
  if (request.body.size() > bytes_max) return too_large("");
  if (!EqualsIgnoringCase(MediaType(request.Get("Content-Type")), kJson))
    return Refuse("UnsupportedMediaType", "a body needs Content-Type: application/json");
  std::optional<Coding> coding = CodingNamed(request.Get("Content-Encoding"));
  if (!coding) return Refuse("UnsupportedMediaType", "Content-Encoding should be gzip or deflate");
  if (*coding == Coding::kNone) return request.body;
  Result<std::string> body = Decompress(*coding, request.body, bytes_max);
  if (body) return std::string_view(*plain = *std::move(body));
  if (body.error().code() == ErrorCode::kLimitExceeded) return too_large(" out of its compression");
  return model::RefuseField("body", body.error().message());
}

void BeginResponse(const Exchange& exchange, HttpResponse* response) {
  response->Clear();
  response->content_type = kJson;
  response->AddHeader("x-holdfast-request-id", exchange.request_id);
  response->AddHeader("Cache-Control", "no-store");
}

// A document in the form that its reader takes, or word that the reader has it already.
void Give(const Document& document, const HttpRequest& request, HttpResponse* response) {
  response->Clear();
  response->AddHeaderLines(document.headers);
  response->AddHeaderLines("Vary: Accept, Accept-Encoding\r\nX-Content-Type-Options: nosniff\r\n");
  if (!document.etag.empty()) {
    response->AddHeader("Cache-Control", "no-cache");
    response->AddHeader("ETag", document.etag);
  }
  if (!document.etag.empty() && request.Get("If-None-Match") == document.etag) {
    response->status = 304;
    return;
  }
  response->content_type = document.content_type;
  bool gzip = !document.gzip.empty() && ChooseCoding(request.Get("Accept-Encoding")) == Coding::kGzip;
  if (gzip) response->AddHeader("Content-Encoding", "gzip");
  response->body = gzip ? document.gzip : document.body;
}

RestOptions WithCompressed(RestOptions options) {
  for (auto& [path, document] : options.documents) {
    if (CodingFor("gzip", document.body) == Coding::kGzip)
      document.gzip = Compress(Coding::kGzip, document.body);
  }
  return options;
}

}  // namespace

// Where a request goes, as far as its target says.
struct Rest::Matched {
  std::optional<size_t> route;
  std::vector<std::string> segments;
  std::optional<Error> error;  // why there is no route
};

Rest::Rest(RestOptions options, WorkerPool* pool, Metrics* metrics, const base::Log* log)
    : options_(WithCompressed(std::move(options))),
      pool_(pool),
      log_(log),
      first_operation_(metrics->AddOperations([] {
        std::vector<std::string_view> names;
        for (const Route& route : kRoutes) names.push_back(route.name);
        return names;
      }())) {}

bool Rest::Owns(const HttpRequest& request) const {
  if (request.path == "/v1" || request.path.starts_with("/v1/")) return true;
  if (kBackupRoute.ends_with(request.path) && request.path.starts_with("/_")) return true;
  bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads || options_.documents.find(request.path) == options_.documents.end()) return false;
  return request.path != "/" || request.Get("Accept").find("text/html") != std::string_view::npos;
}

HttpHandler::Handled Rest::Handle(Exchange* exchange) {
  const HttpRequest& request = exchange->request();
  exchange->request_id = NewRequestId();
  exchange->operation = Metrics::kNoOperation;
  exchange->error.reset();
  exchange->waits = false;
  BeginResponse(*exchange, &exchange->response());
  if (!options_.hosts.Allows(request))
    return Fail(exchange, Refuse("Forbidden", std::string(HostRule::kRefusal)));
  if (auto document = options_.documents.find(request.path); document != options_.documents.end()) {
    Give(document->second, request, &exchange->response());
    return HttpHandler::Handled::kDone;
  }
  if (!IsOwnOrigin(request))
    return Fail(exchange, Refuse("Forbidden", "pages of other origins may not send requests here"));

  Matched matched = Match(request);
  if (matched.route) exchange->operation = first_operation_ + *matched.route;
  std::string_view token = BearerToken(request);
  if (token.empty()) {
    return Fail(exchange,
                Refuse("Unauthenticated", "the request needs a token: Authorization: Bearer <token>"));
  }
  bool submitted = pool_->Submit([this, exchange, matched = std::move(matched), token] {
    bool deferred = false;
    Status answered = base::CallContained(
        *log_, "REST request", [&]() -> Status { return Answer(exchange, matched, token, &deferred); });
    if (deferred) return;
    if (answered)
      CompressBody(CodingFor(exchange->request().Get("Accept-Encoding"), exchange->response().body),
                   &exchange->response());
    else
      Fail(exchange, answered.error());
    exchange->Finish();
  });
  if (submitted) return HttpHandler::Handled::kPending;
  return Fail(exchange,
              Refuse("Unavailable", "too many requests are waiting; try again", {{"retry_after", 1}}));
}

void Reply::End(const Status& answered) const {
  rest_->End(exchange_, answered);
}

void Rest::End(Exchange* exchange, const Status& answered) const {
  if (!answered) Fail(exchange, answered.error());
  Coding coding = CodingFor(exchange->request().Get("Accept-Encoding"), exchange->response().body);
  // Whoever ends a deferred answer has other things to do than to compress it.
  bool submitted = answered && coding != Coding::kNone && pool_->Submit([exchange, coding] {
    CompressBody(coding, &exchange->response());
    exchange->Finish();
  });
  if (!submitted) exchange->Finish();
}

Rest::Matched Rest::Match(const HttpRequest& request) const {
  Matched matched;
  Result<std::vector<std::string>> segments = SplitPath(request.path);
  if (!segments) return {{}, {}, segments.error()};
  matched.segments = *std::move(segments);
  std::string_view method = request.method == "HEAD" ? "GET" : request.method;
  std::string allowed;
  for (size_t i = 0; i < std::size(kRoutes); ++i) {
    if (!Fits(Shapes()[i].segments, matched.segments)) continue;
    if (Shapes()[i].method == method) {
      matched.route = i;
      return matched;
    }
    allowed.append(allowed.empty() ? "" : ", ").append(Shapes()[i].method);
  }
  if (allowed.empty())
    matched.error = Refuse("NotFound", "there is nothing at " + std::string(request.path));
  else
    matched.error = Refuse("MethodNotAllowed", "allowed here: " + allowed, {{"allow", allowed}});
  return matched;
}

Status Rest::Answer(Exchange* exchange, const Matched& matched, std::string_view token,
                    bool* deferred) const {
  const HttpRequest& request = exchange->request();
  if (!exchange->HasRoomFor(limits::kPageBytesMax)) {
    return Refuse("Unavailable", "too many answers are waiting for their clients; try again",
                  {{"retry_after", 1}});
  }
  Call call{options_, request, exchange->response(), Reply(this, exchange)};
  Result<auth::Identity> identity = options_.authenticate(token);
  if (!identity && identity.error().code() == ErrorCode::kUnrecognizedClient)
    return Refuse("Unauthenticated", identity.error().message());
  HF_TRY(call.identity, std::move(identity));
  if (matched.error) return *matched.error;
  // All that the route asks of a store it asks on this thread, and so for the bearer.
  auth::PrincipalPtr principal = options_.principal_of ? options_.principal_of(call.identity) : nullptr;
  store::ActingFor acting(principal.get());
  if (principal) HF_CHECK_OK(CheckSessions(*principal, kRoutes[*matched.route], Shapes()[*matched.route]));

  const std::vector<std::string>& shape = Shapes()[*matched.route].segments;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].starts_with('{')) continue;
    if (shape[i] != "{model}") {
      call.names.push_back(matched.segments[i]);
      continue;
    }
    HF_TRY(call.application, ApplicationNamed(options_, matched.segments[i]));
    HF_TRY(call.caller, CallerOf(call.identity, call.model()));
  }
  std::string plain;
  HF_TRY(call.query, Query::Parse(request.query));
  size_t bytes_max = std::min(options_.body_bytes_max, kRoutes[*matched.route].body_bytes_max);
  HF_TRY(call.body, DecodeBody(request, bytes_max, &plain));
  Status answered = kRoutes[*matched.route].answer(&call);
  *deferred = call.deferred;
  return answered;
}

HttpHandler::Handled Rest::Fail(Exchange* exchange, const Error& error) const {
  Error refused = model::FromStore(error);
  const Refusal& refusal = refused.detail()->refusal;
  HttpResponse& response = exchange->response();
  BeginResponse(*exchange, &response);
  std::string id = "\"requestId\":";
  json::AppendString(exchange->request_id, &id);
  response.body.push_back('{');
  response.status = AppendRefusal(refused, id + ",", &response.body);
  response.body.push_back('}');
  bool internal = response.status == 500;
  if (internal) {
    HF_LOG(*log_, kError, "request failed", {"id", exchange->request_id}, {"error", refused.ToString()});
  }
  // Counted as DynamoDB's errors are: who was at fault, if anybody.
  bool failed = internal || refusal.name == "Unavailable";
  bool mistaken = response.status == 400 || response.status == 422;
  exchange->error = failed     ? Failure{ErrorCode::kInternal, ops::Fault::kServer}
                    : mistaken ? Failure{ErrorCode::kValidation, ops::Fault::kUser}
                               : Failure{ErrorCode::kRefused, ops::Fault::kNobody};

  auto header = [&](std::string_view name, const char* detail) {
    auto at = refusal.details.find(detail);
    if (at == refusal.details.end()) return;
    std::string value;
    if (at->second.type() == AttributeValue::Type::kNumber ||
        at->second.type() == AttributeValue::Type::kString)
      value = at->second.AsText();
    response.AddHeader(name, value);
  };
  if (response.status == 401) response.AddHeader("WWW-Authenticate", "Bearer");
  if (response.status == 405) header("Allow", "allow");
  header("Retry-After", "retry_after");
  return HttpHandler::Handled::kDone;
}

}  // namespace holdfast::wire
