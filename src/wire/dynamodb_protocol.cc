#include "wire/dynamodb_protocol.h"

#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "base/limits.h"
#include "base/thread.h"
#include "json/strict_reader.h"
#include "json/struct_reader.h"
#include "json/struct_writer.h"
#include "ops/constraints.h"
#include "ops/operations.h"
#include "wire/compression.h"
#include "wire/error_map.h"
#include "wire/request_id.h"

namespace holdfast::wire {
namespace {

constexpr std::string_view kDynamoDbTarget = "DynamoDB_20120810.";
constexpr std::string_view kStreams = "DynamoDBStreams_20120810.";

// What AWS's front door answers to anything that is no DynamoDB call.
constexpr std::string_view kNotFoundPage = "<UnknownOperationException/>\n";

constexpr std::string_view kJson10 = "application/x-amz-json-1.0";
constexpr std::string_view kJson = "application/json";

simdjson::dom::parser& ThreadParser() {
  thread_local simdjson::dom::parser parser;
  return parser;
}
// A parser takes some 14 bytes for each of its document: one for a larger document than this is not kept.
constexpr size_t kParserKeptBytes = 256 << 10;

// The most that an answer is made of, so that it can be refused before it is made.
template <class Request>
constexpr size_t AnswerBytesMax() {
  if constexpr (std::is_same_v<Request, BatchGetItemRequest>) return limits::kBatchGetBytesMax;
  if constexpr (std::is_same_v<Request, SearchVectorsRequest>) return limits::kSearchResponseBytesMax;
  if constexpr (std::is_same_v<Request, TransactGetItemsRequest>) return limits::kTransactionBytesMax;
  bool page = std::is_same_v<Request, QueryRequest> || std::is_same_v<Request, ScanRequest> ||
              std::is_same_v<Request, GetRecordsRequest>;
  return page ? limits::kPageBytesMax : limits::kItemSizeBytesMax;
}

// Where a request waits that could not be carried out at once. A write may wait for an item or for the
// vectors' backlog, a read for a few blocks of the disk.
template <class Request>
WorkerPool::Lane LaneOf(bool always_pool) {
  constexpr bool kWrites =
      std::is_same_v<Request, PutItemRequest> || std::is_same_v<Request, UpdateItemRequest> ||
      std::is_same_v<Request, DeleteItemRequest> || std::is_same_v<Request, BatchWriteItemRequest> ||
      std::is_same_v<Request, TransactWriteItemsRequest>;
  return always_pool || kWrites ? WorkerPool::Lane::kLong : WorkerPool::Lane::kShort;
}

Error NoRoom() {
  return Error(ErrorCode::kThrottling, "Too many answers are waiting for their clients; try again");
}

}  // namespace

// How to run one operation of the table.
struct DynamoDbProtocol::Operation {
  enum class Where : uint8_t { kInline, kPool };
  std::string_view service;  // what stands before the name in X-Amz-Target
  std::string_view name;
  Where where;
  Handled (DynamoDbProtocol::*run)(Exchange* exchange, const void* element, std::string_view body,
                                   const auth::Principal* principal, bool always_pool);
};

const std::vector<DynamoDbProtocol::Operation>& DynamoDbProtocol::Operations() {
  static const std::vector<Operation> operations = {
#define HF_OPERATION(name, where) \
  {kDynamoDbTarget, #name, Operation::Where::where, &DynamoDbProtocol::Run<name##Request, name##Response>},
#define HF_STREAMS_OPERATION(name, where) \
  {kStreams, #name, Operation::Where::where, &DynamoDbProtocol::Run<name##Request, name##Response>},
#include "ops/operations.inc"
#undef HF_OPERATION
  };
  return operations;
}

DynamoDbProtocol::DynamoDbProtocol(engine::Engine* engine, WorkerPool* pool, const base::Log* log,
                                   ProtocolOptions options)
    : engine_(engine),
      pool_(pool),
      log_(log),
      options_(std::move(options)),
      hosts_(options_.hosts),
      keys_(store::KeysOf(engine)),
      metrics_([] {
        std::vector<std::string_view> names;
        for (const Operation& operation : Operations()) names.push_back(operation.name);
        return names;
      }()) {}

DynamoDbProtocol::~DynamoDbProtocol() = default;

HttpHandler::Handled DynamoDbProtocol::Handle(Exchange* exchange) {
  const HttpRequest& request = exchange->request();
  exchange->request_id = NewRequestId();
  exchange->operation = Metrics::kNoOperation;
  exchange->error.reset();
  exchange->waits = false;
  HttpResponse& response = exchange->response();
  response.AddHeader("x-amzn-RequestId", exchange->request_id);

  if (!IsAllowedHost(request)) {
    response.status = 403;
    response.content_type = "text/plain";
    response.body.append(HostRule::kRefusal).append("\n");
    return Handled::kDone;
  }
  const std::string_view* origin = request.Find("Origin");
  if (options_.cors && origin != nullptr) {
    response.AddHeaderLines(
        "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: x-amzn-RequestId,x-amzn-ErrorType,"
        "x-amz-request-id,x-amz-id-2,x-amzn-ErrorMessage,Date\r\n");
    if (request.method == "OPTIONS") {
      auto echo = [&](std::string_view asked, std::string_view granted) {
        if (const std::string_view* value = request.Find(asked)) response.AddHeader(granted, *value);
      };
      echo("Access-Control-Request-Headers", "Access-Control-Allow-Headers");
      echo("Access-Control-Request-Method", "Access-Control-Allow-Methods");
      response.AddHeader("Access-Control-Max-Age", "172800");
      return Handled::kDone;
    }
  }
  if (request.method == "GET" || request.method == "HEAD") return HandleGet(exchange);
  if (request.method == "POST" && request.path == "/") return HandlePost(exchange);
  response.status = 404;
  response.body = kNotFoundPage;
  Seal(exchange);
  return Handled::kDone;
}

// Signed requests need no such care.
bool DynamoDbProtocol::IsAllowedHost(const HttpRequest& request) const {
  return options_.credentials || hosts_.Allows(request);
}

HttpHandler::Handled DynamoDbProtocol::HandleGet(Exchange* exchange) {
  const HttpRequest& request = exchange->request();
  HttpResponse& response = exchange->response();
  if (request.path == "/") {
    response.content_type = "text/plain";
    response.body.append("healthy: ").append(request.Get("Host")).append(" ");
    Seal(exchange);
  } else if (request.path == "/health") {
    response.content_type = kJson;
    response.body = "{\"status\":\"ok\"}";
  } else if (request.path == "/ready") {
    AnswerReady(&response);
  } else if (request.path == "/metrics") {
    // Reads the catalog and the storage's properties: not for an I/O thread.
    bool submitted = pool_->Submit([this, exchange] {
      exchange->response().content_type = "text/plain; version=0.0.4";
      bool rendered = base::RunContained(*log_, "metrics", [&] {
        exchange->response().body = metrics_.Render(engine_);
        if (options_.loading) {
          exchange->response().body +=
              "# HELP holdfast_loading What is still being read since the start.\n# TYPE holdfast_loading "
              "gauge\nholdfast_loading " +
              std::to_string(options_.loading().size()) + "\n";
        }
        if (options_.more_metrics) exchange->response().body += options_.more_metrics();
      });
      if (!rendered) exchange->response().status = 500;
      exchange->Finish();
    });
    if (submitted) return Handled::kPending;
    response.status = 503;
  } else {
    response.status = 404;
    response.body = kNotFoundPage;
    Seal(exchange);
  }
  return Handled::kDone;
}

void DynamoDbProtocol::AnswerReady(HttpResponse* response) const {
  Status writable = engine_ == nullptr ? Status(Ok{}) : engine_->committer().CheckWritable();
  std::vector<std::string> loading = options_.loading ? options_.loading() : std::vector<std::string>();
  std::string reason;
  if (!loading.empty()) reason = "loading what was stored";
  if (!writable) reason = writable.error().message();
  if (!ready_.load()) reason = "shutting down";
  response->status = reason.empty() ? 200 : 503;
  response->content_type = kJson;
  if (reason.empty()) {
    response->body = "{\"status\":\"ready\"}";
    return;
  }
  response->body = "{\"status\":\"not ready\",\"reason\":";
  json::AppendString(reason, &response->body);
  if (!loading.empty()) {
    response->body += ",\"loading\":[";
    for (size_t i = 0; i < loading.size(); ++i) {
      if (i > 0) response->body += ",";
      json::AppendString(loading[i], &response->body);
    }
    response->body += "]";
  }
  response->body += "}";
}

HttpHandler::Handled DynamoDbProtocol::HandlePost(Exchange* exchange) {
  const HttpRequest& request = exchange->request();
  HttpResponse& response = exchange->response();
  std::string_view media_type = MediaType(request.Get("Content-Type"));
  if (media_type != kJson10 && media_type != kJson && !request.body.empty()) {
    response.status = 404;
    response.body = kNotFoundPage;
    Seal(exchange);
    return Handled::kDone;
  }
  response.content_type = media_type == kJson10 ? kJson10 : kJson;
  if (engine_ == nullptr) {
    return Fail(exchange,
                Error(ErrorCode::kUnknownOperation, "This server keeps no tables: it runs on " +
                                                        options_.fronts + ". Send DynamoDB requests there"));
  }

  std::optional<Coding> coding = CodingNamed(request.Get("Content-Encoding"));
  if (!coding) return Fail(exchange, Error(ErrorCode::kInternal, "unknown Content-Encoding"));
  // To parse a large body takes longer than others should wait (I-38), as does taking one out of its
  // compression.
  bool compressed = *coding != Coding::kNone;
  if (!compressed && request.body.size() <= limits::kInlineBodyBytesMax)
    return HandleBody(exchange, request.body);
  if (compressed && !exchange->HasRoomFor(options_.body_bytes_max)) return Fail(exchange, NoRoom());
  bool submitted = pool_->Submit([this, exchange, coding, compressed] {
    if (!compressed) {
      if (HandleBody(exchange, exchange->request().body) == Handled::kDone) exchange->Finish();
      return;
    }
    auto body = Decompress(*coding, exchange->request().body, options_.body_bytes_max);
    Handled handled = Handled::kDone;
    if (body) {
      body->reserve(body->size() + kBodyPaddingBytes);
      handled = HandleBody(exchange, *body);
    } else if (body.error().code() == ErrorCode::kLimitExceeded) {
      exchange->response().status = 413;
      exchange->response().close = true;
    } else {
      handled = Fail(exchange, Error(ErrorCode::kInternal, body.error().message()));
    }
    if (handled == Handled::kDone) exchange->Finish();
  });
  if (!submitted)
    return Fail(exchange, Error(ErrorCode::kThrottling, "Too many requests are waiting; try again"));
  return Handled::kPending;
}

// Requires: kBodyPaddingBytes readable after `body`.
HttpHandler::Handled DynamoDbProtocol::HandleBody(Exchange* exchange, std::string_view body) {
  const HttpRequest& request = exchange->request();
  static_assert(kBodyPaddingBytes >= simdjson::SIMDJSON_PADDING);
  simdjson::dom::element element;
  simdjson::dom::parser once;
  simdjson::dom::parser& parser = body.size() <= kParserKeptBytes ? ThreadParser() : once;
  bool parsed = !body.empty() && parser.parse(reinterpret_cast<const uint8_t*>(body.data()), body.size(),
                                              /*realloc_if_needed=*/false)
                                         .get(element) == simdjson::SUCCESS;
  if (!parsed && !body.empty()) return Fail(exchange, json::SerializationError({}));

  std::string_view target = request.Get("X-Amz-Target");
  size_t number = Operations().size();
  if (size_t dot = target.find('.'); dot != std::string_view::npos) {
    static const std::unordered_map<std::string_view, size_t> numbers = [] {
      std::unordered_map<std::string_view, size_t> map;
      for (size_t i = 0; i < Operations().size(); ++i) map.emplace(Operations()[i].name, i);
      return map;
    }();
    auto found = numbers.find(target.substr(dot + 1));
    if (found != numbers.end() && Operations()[found->second].service == target.substr(0, dot + 1))
      number = found->second;
  }
  if (number == Operations().size()) return Fail(exchange, Error(ErrorCode::kUnknownOperation, ""));
  Result<const auth::Principal*> principal = Authenticate(request);
  if (!principal) return Fail(exchange, principal.error());
  if (!parsed) return Fail(exchange, json::SerializationError({}));
  exchange->operation = number;
  const Operation& operation = Operations()[number];
  return (this->*operation.run)(exchange, &element, body, *principal,
                                operation.where == Operation::Where::kPool);
}

Result<const auth::Principal*> DynamoDbProtocol::Authenticate(const HttpRequest& request) const {
  static_assert(sizeof(auth::HeaderView) == sizeof(Header));
  auth::SignedRequest signed_request{
      request.method,         request.path,
      request.query,          reinterpret_cast<const auth::HeaderView*>(request.headers.data()),
      request.headers.size(), request.body};
  const auth::Principal* nobody = nullptr;
  if (!options_.credentials) {
    HF_CHECK_OK(auth::CheckSignatureShape(signed_request));
    return nobody;
  }
  // Signers go by the time of day, whatever clock the store is given.
  HF_TRY(std::string name,
         auth::Verify(signed_request, *options_.credentials, options_.region, base::SystemClock()));
  return options_.permissions == nullptr ? nobody : options_.permissions->Named(name);
}

// One operation under way, from its parsed request to its rendered answer.
template <class Request, class Response>
HttpHandler::Handled DynamoDbProtocol::Run(Exchange* exchange, const void* element,
                                           [[maybe_unused]] std::string_view body,
                                           const auth::Principal* principal, bool always_pool) {
  if (!exchange->HasRoomFor(AnswerBytesMax<Request>())) return Fail(exchange, NoRoom());
  if constexpr (requires { Request::kStrict; }) {
    Status strict = json::CheckStrict<Request>(*static_cast<const json::Element*>(element), body);
    if (!strict) return Fail(exchange, strict.error());
  }
  Violations violations;
  Result<Request> request =
      json::ReadStruct<Request>(*static_cast<const json::Element*>(element), &violations);
  if (!request) return Fail(exchange, request.error());
  if (principal != nullptr) {
    Status allowed = ops::CheckConstraints(*request, violations);
    if (allowed) allowed = store::CheckAccess({*principal, keys_}, *request);
    if (!allowed) return Fail(exchange, allowed.error());
  }

  auto execute = [this, exchange, checked = principal != nullptr](
                     const Request& r, const Violations& v, storage::Wait wait, bool* await_durability) {
    ops::Context context{engine_, wait};
    context.constraints_checked = checked;
    context.endpoint = exchange->request().Get("Host");
    Result<Response> result = ops::Execute(context, r, v);
    exchange->table = std::move(context.table);
    *await_durability = context.await_durability && !engine_->committer().IsPublished();
    return result;
  };
  auto render = [exchange](const Result<Response>& result) {
    HttpResponse& response = exchange->response();
    if (result) {
      if constexpr (!requires { Response::kEmptyBody; }) json::WriteStruct(*result, &response.body);
      return;
    }
    ErrorAnswer answer = RenderError(result.error());
    response.status = answer.status;
    response.body = std::move(answer.body);
    exchange->error = FailureOf(result.error());
  };

  bool await_durability = false;
  if (!always_pool) {
    Result<Response> result = execute(*request, violations, storage::Wait::kNever, &await_durability);
    if (result || result.error().code() != ErrorCode::kWouldBlock) {
      if (!result && result.error().code() >= ErrorCode::kInternal) {
        HF_LOG(*log_, kError, "request failed", {"id", exchange->request_id},
               {"error", result.error().ToString()});
      }
      render(result);
      return Complete(exchange, await_durability, /*on_io_thread=*/true);
    }
    metrics_.CountRerun();
  }
  auto shared = std::make_shared<Request>(*std::move(request));
  bool submitted =
      pool_->Submit(LaneOf<Request>(always_pool), [this, exchange, execute, render, shared, violations] {
        bool wait = false;
        // It may have waited long for its turn.
        bool room = exchange->HasRoomFor(AnswerBytesMax<Request>());
        Result<Response> result = base::CallContained(*log_, "request", [&]() -> Result<Response> {
          if (!room) return NoRoom();
          return execute(*shared, violations, storage::Wait::kMayBlock, &wait);
        });
        if (!result && result.error().code() >= ErrorCode::kInternal) {
          HF_LOG(*log_, kError, "request failed", {"id", exchange->request_id},
                 {"error", result.error().ToString()});
        }
        render(result);
        if (Complete(exchange, wait, /*on_io_thread=*/false) == Handled::kDone) exchange->Finish();
      });
  if (!submitted)
    return Fail(exchange, Error(ErrorCode::kThrottling, "Too many requests are waiting; try again"));
  return Handled::kPending;
}

HttpHandler::Handled DynamoDbProtocol::Fail(Exchange* exchange, const Error& error) {
  ErrorAnswer answer = RenderError(error);
  exchange->response().status = answer.status;
  exchange->response().body = std::move(answer.body);
  exchange->error = FailureOf(error);
  Seal(exchange);
  return Handled::kDone;
}

HttpHandler::Handled DynamoDbProtocol::Complete(Exchange* exchange, bool await_durability,
                                                bool on_io_thread) {
  Coding coding = CodingFor(exchange->request().Get("Accept-Encoding"), exchange->response().body);
  auto finish = [this, exchange, coding, await_durability] {
    CompressBody(coding, &exchange->response());
    Seal(exchange);
    if (!await_durability) return Handled::kDone;
    exchange->AnswerMade();
    engine_->committer().WhenDurable(exchange);
    return Handled::kPending;
  };
  if (coding == Coding::kNone || !on_io_thread) return finish();
  bool submitted = pool_->Submit([exchange, finish] {
    if (finish() == Handled::kDone) exchange->Finish();
  });
  if (submitted) return Handled::kPending;
  return finish();
}

// The checksum that clients verify.
void DynamoDbProtocol::Seal(Exchange* exchange) {
  HttpResponse& response = exchange->response();
  response.AddHeader("x-amz-crc32", std::to_string(Crc32(response.body)));
}

void DynamoDbProtocol::Durable(Exchange* exchange, const Status& durable) {
  if (durable) return;
  HttpResponse& response = exchange->response();
  std::string_view content_type = response.content_type;
  response.Clear();
  response.content_type = content_type;
  response.AddHeader("x-amzn-RequestId", exchange->request_id);
  Fail(exchange, durable.error());
}

void DynamoDbProtocol::Answered(Exchange* exchange, size_t received_bytes, size_t sent_bytes) {
  metrics_.CountBytes(received_bytes, sent_bytes);
  if (exchange->operation == Metrics::kNoOperation) {
    if (exchange->error) metrics_.CountRefusal(*exchange->error);
    return;
  }
  int64_t micros = base::SteadyMicros() - exchange->started_micros;
  if (engine::TablePtr table = std::move(exchange->table)) {
    table->requests.answered.fetch_add(1, std::memory_order_relaxed);
    table->requests.total_micros.fetch_add(static_cast<uint64_t>(micros), std::memory_order_relaxed);
  }
  const Failure* error = exchange->error ? &*exchange->error : nullptr;
  metrics_.CountRequest(exchange->operation, micros, error);
  bool slow =
      !exchange->waits && options_.slow_request_millis >= 0 && micros >= options_.slow_request_millis * 1000;
  if (slow) {
    HF_LOG(*log_, kWarning, "slow request", {"id", exchange->request_id},
           {"operation", metrics_.name(exchange->operation)}, {"millis", micros / 1000},
           {"received_bytes", received_bytes}, {"sent_bytes", sent_bytes},
           {"status", exchange->response().status});
  } else {
    HF_LOG(*log_, kDebug, "request", {"id", exchange->request_id},
           {"operation", metrics_.name(exchange->operation)}, {"micros", micros},
           {"status", exchange->response().status},
           {"error", error == nullptr ? "" : ErrorName(error->code)});
  }
}

}  // namespace holdfast::wire
