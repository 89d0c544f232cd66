// One REST request under way, and what the routes share to read it and to answer it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/permissions.h"
#include "holdfast/model.h"
#include "model/model.h"
#include "wire/channel.h"
#include "wire/exchange.h"
#include "wire/host_rule.h"
#include "wire/target.h"

namespace holdfast::wire {

class Agents;
class Alarms;
class Expiry;
class Rest;

// Something that is there to be read as it stands.
struct Document {
  std::string_view content_type;  // static text
  std::string body;
  std::string headers = {};  // further lines, each ending in \r\n
  std::string etag = {};     // in its quotes; empty: none
  std::string gzip = {};     // the body compressed; made by Rest
};

struct RestOptions {
  std::vector<Application*> applications;
  Agents* agents = nullptr;  // null: there are none
  Alarms* alarms = nullptr;  // likewise
  Expiry* expiry = nullptr;  // with alarms
  // Fails with kUnrecognizedClient for a token that is not to be believed. May block.
  std::function<Result<auth::Identity>(std::string_view jwt)> authenticate;
  // Whom a bearer's policies hold; null: nobody. Empty: there are no policies.
  std::function<auth::PrincipalPtr(const auth::Identity& bearer)> principal_of;
  // Sends a text to an open connection; false when there is no such connection. Empty: there are none.
  std::function<bool(std::string_view connection, std::string_view text)> post;
  // Tells what a command emitted, once, after its commit. Empty: nobody listens.
  std::function<void(const model::Model& model, const Caller& caller, const std::vector<Emitted>& emitted)>
      emit;
  // Makes what talks over a WebSocket of this caller. Empty: there are none.
  std::function<Result<std::shared_ptr<ChannelHandler>>(Application* application, const Caller& caller,
                                                        const auth::Identity& identity)>
      open;
  // By path, for everybody; "/" goes only to those who accept HTML.
  std::map<std::string, Document, std::less<>> documents;
  HostRule hosts;
  size_t body_bytes_max = 16 << 20;
  // Copies the whole store into a new directory of the server and returns the bytes. May block. Empty: this
  // server has no store of its own.
  std::function<Result<uint64_t>(const std::string& directory)> back_up;
  // Whether the one for whom this thread acts may see alarms, which name tables. Empty: everybody may.
  std::function<Status()> check_alarms;
};

// An answer that is given after its route has returned. Whoever takes it ends it once, from any thread, and
// touches nothing of the request after that.
class Reply {
 public:
  Reply(const Rest* rest, Exchange* exchange) : rest_(rest), exchange_(exchange) {}
  Exchange& exchange() const { return *exchange_; }
  std::string* body() const { return &exchange_->response().body; }
  // Sends the response as it is now, or the refusal.
  void End(const Status& answered) const;

 private:
  const Rest* rest_;
  Exchange* exchange_;
};

struct Call {
  const RestOptions& options;
  const HttpRequest& request;
  HttpResponse& response;
  const Reply reply;
  bool deferred = false;
  auth::Identity identity;
  std::vector<std::string> names;  // what the route's braces stand for in order, {model} aside
  Query query;
  std::string_view body;  // as sent, out of its compression
  // Of the routes that name a model.
  Application* application = nullptr;
  Caller caller;

  const model::Model& model() const { return application->model(); }
  const std::string& name() const { return names[0]; }
  // The route answers later: after this it returns Ok.
  Reply Defer() {
    deferred = true;
    return reply;
  }
};

// What a route does: it fills the response, defers that, or says why not.
using Answering = Status (*)(Call* call);

// rest_models.cc
Status ListModels(Call* call);
Status DescribeModel(Call* call);
// rest_entities.cc
Status GetEntities(Call* call);
Status CreateEntity(Call* call);
Status PutEntity(Call* call);
Status PatchEntity(Call* call);
Status DeleteEntity(Call* call);
// rest_patterns.cc
Status AskPattern(Call* call);
// rest_commands.cc
Status RunCommand(Call* call);
Status RunTransaction(Call* call);
Status PostToConnection(Call* call);
// rest_alarms.cc
Status ListAlarms(Call* call);
Status OpenAlarmSocket(Call* call);
// rest_store.cc
Status BackUpStore(Call* call);
// rest_socket.cc
Status OpenSocket(Call* call);
// Refuses what is no proper handshake.
Status CheckSocket(const HttpRequest& request);
// Makes a WebSocket of a request that was checked.
void AcceptSocket(const HttpRequest& request, std::shared_ptr<ChannelHandler> handler,
                  HttpResponse* response);

// --- reading ---

// The body as an object; without a body, an empty one.
Result<Item> ReadBody(const Call& call);
// The same with its members as the model wants them.
Result<Item> ReadBody(const Call& call, const std::vector<model::Attribute>& declared);
// What is left of the query, as the model wants it.
Result<Item> ReadParameters(const Query& query, const std::vector<model::Attribute>& declared);
// Refuses parameters where none are read.
Status ExpectNoQuery(const Call& call);
// `limit` and `cursor` out of the query.
Result<PageRequest> TakePage(Query* query);
Result<RunOptions> ReadRunOptions(const HttpRequest& request);

// --- answering ---

// "error":…,"message":…,<more>"details":{…}, as every refusal is told: of what is our own fault, no more than
// that. Returns the status. Requires: an error from model::FromStore.
int AppendRefusal(const Error& refused, std::string_view more, std::string* out);

void AppendRecord(const Record& record, std::string* out);
// {"items":[…],"count":n,…} without the closing brace.
void AppendAnswer(const Answer& answer, std::string* out);
// ,"warnings":[…] when there are any.
void AppendWarnings(const std::vector<ModelWarning>& warnings, std::string* out);

}  // namespace holdfast::wire
