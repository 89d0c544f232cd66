#include "store/remote_store.h"

#include <atomic>
#include <future>

#include "auth/sigv4.h"
#include "json/struct_reader.h"
#include "json/struct_writer.h"
#include "store/defect.h"
#include "store/http_client.h"
#include "store/remote_error.h"
#include "store/retry.h"
#include "store/stream_watch.h"

namespace holdfast::store {
namespace {

constexpr std::string_view kContentType = "application/x-amz-json-1.0";
constexpr std::string_view kDynamoDb = "DynamoDB_20120810.";
constexpr std::string_view kStreams = "DynamoDBStreams_20120810.";

struct Addresses {
  Address usual;
  // Of SearchVectors and of DynamoDB Streams, which AWS serves elsewhere; an endpoint that was given serves
  // all.
  Address search;
  Address streams;
};

Result<Addresses> FindAddresses(const RemoteOptions& options) {
  auto aws = [&](const std::string& service) {
    std::string domain = options.region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
    return "https://" + service + "." + options.region + domain;
  };
  bool is_aws = options.endpoint.empty();
  HF_TRY(Address usual, ParseAddress(is_aws ? aws("dynamodb") : options.endpoint));
  HF_TRY(Address search, ParseAddress(is_aws ? aws("search-dynamodb") : options.endpoint));
  HF_TRY(Address streams, ParseAddress(is_aws ? aws("streams.dynamodb") : options.endpoint));
  return Addresses{std::move(usual), std::move(search), std::move(streams)};
}

template <class Response>
Result<Response> ReadResponse(const std::string& endpoint, const std::string& body) {
  if (body.empty()) return Response();  // some responses have no members
  auto strange = [&](const std::string& why) {
    return Error(ErrorCode::kSerialization,
                 endpoint + " sent an answer that is no " + std::string(Response::kTypeName) + ": " + why);
  };
  thread_local simdjson::dom::parser parser;
  json::Element element;
  if (auto failed = parser.parse(body).get(element)) return strange(simdjson::error_message(failed));
  Violations violations;
  Result<Response> response = json::ReadStruct<Response>(element, &violations);
  if (!response) return strange(response.error().message());
  // A status, say, that this version does not know must not pass for one that it does.
  if (!violations.list.empty()) return strange(violations.list.front().text);
  return response;
}

// One request until it is answered for good.
struct Call {
  std::string_view operation;
  std::string_view service;  // that has it, as X-Amz-Target says
  std::shared_ptr<const std::string> body;
  std::function<void(Result<std::string>)> done;  // is given the body of a response
  int tries = 0;
};

class Remote final : public Store {
 public:
  Remote(RemoteOptions options, Addresses addresses, const base::Clock* clock, base::Random* random)
      : options_(std::move(options)),
        addresses_(std::move(addresses)),
        clock_(clock),
        random_(random),
        client_({.connections = options_.connections,
                 .connect_timeout_millis = options_.connect_timeout_millis,
                 .request_timeout_millis = options_.request_timeout_millis}) {}

#define HF_OPERATION(name)                                                               \
  void Execute(const name##Request& request, Completion<name##Response> done) override { \
    Perform(#name, kDynamoDb, request, std::move(done));                                 \
  }
  HF_STORE_OPERATIONS(HF_OPERATION)
#undef HF_OPERATION

  Result<std::unique_ptr<TableWatch>> Watch(const std::string& table,
                                            const std::optional<std::string>& from) override {
    StreamCalls calls{
        .describe_table = [this](const auto& request) { return Run(request); },
        .describe_stream =
            [this](const auto& request) { return Ask<DescribeStreamResponse>("DescribeStream", request); },
        .get_shard_iterator =
            [this](const auto& request) {
              return Ask<GetShardIteratorResponse>("GetShardIterator", request);
            },
        .get_records =
            [this](const auto& request) { return Ask<GetRecordsResponse>("GetRecords", request); }};
    return OpenStreamWatch(std::move(calls), name(), clock_, table, from);
  }

  StoreAbilities abilities() const override {
    return abilities_;
  }
  std::string name() const override {
    return addresses_.usual.url + " (" + options_.region + ")";
  }

  // Is it a DynamoDB, and what can it do? Writes nothing.
  Status Examine();

 private:
  // An operation of DynamoDB Streams. Waits.
  template <class Response, class Request>
  Result<Response> Ask(std::string_view operation, const Request& request) {
    std::promise<Result<Response>> answer;
    Perform(operation, kStreams, request,
            Completion<Response>([&](Result<Response> result) { answer.set_value(std::move(result)); }));
    return answer.get_future().get();
  }

  template <class Request, class Response>
  void Perform(std::string_view operation, std::string_view service, const Request& request,
               Completion<Response> done) {
    if (const Error* defect = DefectOf(request)) return done(*defect);
    std::string body;
    if constexpr (requires { request.client_request_token; }) {
      // What is tried again must not be carried out twice.
      Request identified = request;
      if (!identified.client_request_token) identified.client_request_token = random_->Uuid();
      json::WriteStruct(identified, &body);
    } else {
      json::WriteStruct(request, &body);
    }
    Send(operation, service, std::move(body), [this, done = std::move(done)](Result<std::string> answer) {
      if (!answer) return done(std::move(answer).error());
      done(ReadResponse<Response>(addresses_.usual.url, *answer));
    });
  }

  void Send(std::string_view operation, std::string_view service, std::string body,
            std::function<void(Result<std::string>)> done) {
    auto shared_body = std::make_shared<const std::string>(std::move(body));
    Try(std::make_shared<Call>(Call{operation, service, std::move(shared_body), std::move(done)}), 0);
  }
  void Try(const std::shared_ptr<Call>& call, int64_t pause_millis) {
    client_.Send([this, call] { return Signed(*call); },
                 [this, call](Result<HttpAnswer> answer) { Judge(call, std::move(answer)); }, pause_millis);
  }
  void Judge(const std::shared_ptr<Call>& call, Result<HttpAnswer> answer) {
    if (answer && answer->server == "holdfast") is_holdfast_ = true;
    if (answer && answer->status == 200) return call->done(std::move(answer->body));
    Error error = answer ? ReadError(addresses_.usual.url, answer->status, answer->body) : answer.error();
    if (++call->tries >= options_.attempts || !MayPass(error)) return call->done(std::move(error));
    Try(call, PauseMillis(call->tries, options_.first_pause_millis, options_.longest_pause_millis, random_));
  }

  HttpRequest Signed(const Call& call) const;
  bool HasMultiAttributeKeys();

  const RemoteOptions options_;
  const Addresses addresses_;
  const base::Clock* const clock_;
  base::Random* const random_;
  StoreAbilities abilities_{.tells_changes_at_once = false};  // the rest is set by Examine
  std::atomic<bool> is_holdfast_ = false;
  HttpClient client_;  // last: its end waits for calls that use the rest
};

HttpRequest Remote::Signed(const Call& call) const {
  const Address& address = call.operation == "SearchVectors" ? addresses_.search
                           : call.service == kStreams        ? addresses_.streams
                                                             : addresses_.usual;
  std::string timestamp = auth::FormatTimestamp(clock_->NowSeconds());
  std::string target = std::string(call.service) + std::string(call.operation);
  std::vector<auth::HeaderView> headers{{"content-type", kContentType},
                                        {"host", address.host},
                                        {"x-amz-date", timestamp},
                                        {"x-amz-target", target}};
  std::string_view signed_headers = "content-type;host;x-amz-date;x-amz-target";
  if (!options_.session_token.empty()) {
    headers.push_back({"x-amz-security-token", options_.session_token});
    signed_headers = "content-type;host;x-amz-date;x-amz-security-token;x-amz-target";
  }
  auth::SignedRequest request{.method = "POST",
                              .path = address.path,
                              .query = "",
                              .headers = headers.data(),
                              .header_count = headers.size(),
                              .body = *call.body};
  HttpRequest http{.url = address.url, .body = call.body};
  for (const auto& [name, value] : headers)
    http.headers.push_back(std::string(name) + ": " + std::string(value));
  http.headers.push_back("Authorization: " + auth::Sign(request, options_.access_key, options_.secret_key,
                                                        options_.region, "dynamodb", timestamp,
                                                        signed_headers));
  http.headers.emplace_back("User-Agent: holdfast");
  http.headers.emplace_back("Expect:");  // the body may go at once
  return http;
}

// What the questions below are about: nobody has it, and being told so means being understood.
constexpr const char* kNoTable = "holdfast.no.such.table";

template <class Response>
bool Has(const Result<Response>& answer) {
  return answer || (answer.error().code() != ErrorCode::kUnknownOperation &&
                    answer.error().code() != ErrorCode::kNotSupported);
}

Status Remote::Examine() {
  auto listed = Run(ListTablesRequest{.limit = 1});
  // Whoever may not list tables may still be allowed to use one.
  if (!listed && listed.error().code() != ErrorCode::kAccessDenied) {
    return Error(listed.error().code(),
                 "the store at " + name() + " cannot be used: " + listed.error().message());
  }
  // The questions that follow are meant to be refused, which those who watch over a server would take for
  // faults.
  if (is_holdfast_) {
    abilities_.transactions = abilities_.time_to_live = abilities_.vector_search = true;
    abilities_.multi_attribute_keys = abilities_.tags = true;
    return Ok{};
  }
  abilities_.transactions = Has(
      Run(TransactGetItemsRequest{.transact_items = {{{.table_name = kNoTable, .key = {{"id", "none"}}}}}}));
  abilities_.time_to_live = Has(Run(DescribeTimeToLiveRequest{kNoTable}));
  auto searched = Run(SearchVectorsRequest{
      .table_name = kNoTable, .index_name = "none", .search_vector = {1.0F}, .top_k = 1});
  // In a region of AWS without vector search there is no such host.
  abilities_.vector_search = Has(searched) && (searched || searched.error().code() != ErrorCode::kIo);
  abilities_.multi_attribute_keys = HasMultiAttributeKeys();
  abilities_.tags = Has(Run(ListTagsOfResourceRequest{.resource_arn = "arn:aws:dynamodb:" + options_.region +
                                                                      ":000000000000:table/" + kNoTable}));
  return Ok{};
}

// Asks for an index with three key attributes, in a table whose name is too short, which everybody refuses.
// Those who keep AWS's older bound of two name all that is wrong, so they mention the key schema as well.
// Those who name only what they see first leave us none the wiser: then we assume what AWS itself can do.
bool Remote::HasMultiAttributeKeys() {
  CreateTableRequest request{.table_name = "no",
                             .key_schema = {{"a"}},
                             .attribute_definitions = {{"a"}, {"b"}, {"c"}, {"d"}},
                             .billing_mode = BillingMode::kPayPerRequest};
  request.global_secondary_indexes = {{{.index_name = "none",
                                        .key_schema = {{"b"}, {"c"}, {"d", KeyType::kRange}},
                                        .projection = {.projection_type = ProjectionType::kAll}}}};
  auto created = Run(request);
  return created || created.error().message().find("keySchema") == std::string::npos;
}

}  // namespace

Result<std::unique_ptr<Store>> OpenRemoteStore(const RemoteOptions& options, const Environment& environment,
                                               const base::Clock* clock, base::Random* random) {
  HF_TRY(RemoteOptions complete, Complete(options, environment));
  HF_TRY(Addresses addresses, FindAddresses(complete));
  auto store = std::make_unique<Remote>(std::move(complete), std::move(addresses), clock, random);
  HF_CHECK_OK(store->Examine());
  return store;
}

}  // namespace holdfast::store

namespace holdfast {

Result<std::unique_ptr<Store>> OpenRemoteStore(const RemoteOptions& options) {
  static const base::SystemClock clock;
  static base::Random random;
  return store::OpenRemoteStore(options, store::ProcessEnvironment, &clock, &random);
}

}  // namespace holdfast
