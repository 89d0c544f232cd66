// The routes of sessions, and those of operators.
#include <algorithm>
#include <charconv>

#include "agent/keys.h"
#include "wire/agent_answer.h"
#include "wire/agent_requests.h"

namespace holdfast::wire {
namespace {

constexpr int64_t kLimit = 100;
constexpr int64_t kLimitMax = 1000;

// The runtime, for a bearer who may touch the session that the path names.
Result<agent::Runtime*> RuntimeFor(const Call& call, Access access) {
  if (call.options.agents != nullptr)
    HF_CHECK_OK(call.options.agents->Authorize(call.identity, call.name(), access));
  return RuntimeOf(call);
}
Result<agent::Runtime*> RuntimeForAdmin(const Call& call) {
  HF_CHECK_OK(AuthorizeAdmin(call.identity));
  return RuntimeOf(call);
}

// What needs nothing but the session.
template <class T>
Status AskOfSession(Call* call, Access access,
                    void (agent::Runtime::*ask)(const std::string& session, agent::Done<T> done)) {
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, access));
  HF_CHECK_OK(ExpectNoQuery(*call));
  (runtime->*ask)(call->name(), Answer<T>(call));
  return Ok{};
}

// A number in the path, from 1 (or 0) on.
Result<int64_t> NumberIn(const Call& call, size_t name, int64_t min) {
  const std::string& text = call.names[name];
  int64_t number = -1;
  const char* end = text.data() + text.size();
  auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || number < min)
    return model::RefuseField("path", "should have a whole number from " + std::to_string(min), text);
  return number;
}

Result<int64_t> TakeWhole(Query* query, std::string_view name, int64_t otherwise, Bounds bounds) {
  HF_TRY(std::optional<int64_t> given, query->TakeNumber(name));
  int64_t number = given.value_or(otherwise);
  if (number < bounds.min || number > bounds.max)
    return model::RefuseField(std::string(name), "should be from " + std::to_string(bounds.min) + " to " +
                                                     std::to_string(bounds.max));
  return number;
}

// A page of what is numbered: ?after=&limit=, and nothing else.
struct Range {
  int64_t after = 0;
  int limit = 0;
};
Result<Range> TakeRange(Call* call) {
  HF_TRY(int64_t after, TakeWhole(&call->query, "after", 0, {}));
  HF_TRY(int64_t limit, TakeWhole(&call->query, "limit", kLimit, {1, kLimitMax}));
  HF_CHECK_OK(ExpectNoQuery(*call));
  return Range{after, static_cast<int>(limit)};
}

// ?status=, one of those.
Result<std::string> TakeStatus(Call* call, std::initializer_list<std::string_view> known) {
  std::string status = call->query.Take("status").value_or("");
  if (!status.empty() && std::find(known.begin(), known.end(), status) == known.end())
    return model::RefuseField("status", "is none that there is", status);
  return status;
}

}  // namespace

Status AppendEvent(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, Access::kUse));
  HF_CHECK_OK(ExpectNoQuery(*call));
  if (call->body.size() > kEventBytesMax)
    return model::Refuse("ItemTooLarge", "an event has at most " + std::to_string(kEventBytesMax) + " bytes");
  HF_TRY(agent::AppendRequest request, ReadBodyWith(*call, &ReadEvent));
  request.session = call->name();
  call->response.status = 201;
  runtime->Append(std::move(request), Answer<agent::Appended>(call));
  return Ok{};
}

Status ListEvents(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, Access::kRead));
  std::optional<std::string> id = call->query.Take("id");
  if (id && !agent::IsEventId(*id))
    return model::RefuseField("id", "should have 1 to 128 letters, digits or any of -_.:");
  HF_TRY(Range range, TakeRange(call));
  auto done = Answer<agent::EventPage>(
      call, [session = call->name()](const agent::EventPage& page, std::string* out) {
        AppendEvents(session, page, out);
      });
  if (!id) {
    runtime->ListEvents(call->name(), range.after, range.limit, std::move(done));
    return Ok{};
  }
  runtime->GetEvent(call->name(), *id, [done = std::move(done)](Result<agent::Event> event) {
    if (event) return done(agent::EventPage{{*std::move(event)}, {}});
    if (model::RefusalName(event.error()) == "NotFound") return done(agent::EventPage());
    done(std::move(event).error());
  });
  return Ok{};
}

Status GetEvent(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, Access::kRead));
  HF_CHECK_OK(ExpectNoQuery(*call));
  HF_TRY(int64_t seq, NumberIn(*call, 1, 1));
  runtime->ListEvents(call->name(), seq - 1, 1,
                      [reply = call->Defer(), seq, session = call->name()](Result<agent::EventPage> page) {
                        if (!page) return reply.End(std::move(page).error());
                        if (page->events.empty() || page->events[0].seq != seq)
                          return reply.End(model::Refuse("NotFound", "there is no such event"));
                        AppendEvent(session, page->events[0], reply.body());
                        reply.End(Ok{});
                      });
  return Ok{};
}

Status ChangeEvent(Call* call) {
  HF_CHECK_OK(RuntimeFor(*call, Access::kRead));
  return model::Refuse("Forbidden", "events are only ever added: none is changed or removed");
}

Status ListMessages(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, Access::kRead));
  HF_TRY(Range range, TakeRange(call));
  runtime->ListMessages(call->name(), range.after, range.limit, Answer<agent::MessagePage>(call));
  return Ok{};
}

Status ListEffects(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, Access::kRead));
  HF_TRY(std::optional<int64_t> checkpoint, call->query.TakeNumber("checkpoint"));
  HF_TRY(std::string status, TakeStatus(call, {"pending", "executing", "completed", "failed"}));
  HF_CHECK_OK(ExpectNoQuery(*call));
  runtime->ListEffects(call->name(), checkpoint, status, Answer<std::vector<agent::EffectView>>(call));
  return Ok{};
}

Status GetEffect(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, Access::kRead));
  HF_CHECK_OK(ExpectNoQuery(*call));
  HF_TRY(int64_t seq, NumberIn(*call, 1, 1));
  HF_TRY(int64_t i, NumberIn(*call, 2, 0));
  runtime->GetEffect(call->name(), seq, i, Answer<agent::EffectView>(call));
  return Ok{};
}

Status ListTimers(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, Access::kRead));
  HF_TRY(std::string status, TakeStatus(call, {"pending", "promoted", "cancelled"}));
  HF_CHECK_OK(ExpectNoQuery(*call));
  runtime->ListTimers(call->name(), status, Answer<std::vector<agent::TimerView>>(call));
  return Ok{};
}

Status CancelTimers(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, Access::kUse));
  HF_CHECK_OK(ExpectNoQuery(*call));
  std::string timer = call->names.size() > 1 ? call->names[1] : "";
  runtime->CancelTimers(call->name(), timer, Answer<int64_t>(call, [](int64_t count, std::string* out) {
                          JsonObject(out).Number("cancelled", count);
                        }));
  return Ok{};
}

Status GetCheckpoint(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, Access::kRead));
  HF_CHECK_OK(ExpectNoQuery(*call));
  int64_t seq = 0;
  if (call->names[1] != "latest") {
    HF_TRY(seq, NumberIn(*call, 1, 1));
  }
  runtime->GetCheckpoint(call->name(), seq, Answer<agent::CheckpointView>(call));
  return Ok{};
}

Status GetSession(Call* call) {
  return AskOfSession(call, Access::kRead, &agent::Runtime::GetSession);
}

Status DeleteSession(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, Access::kUse));
  HF_CHECK_OK(ExpectNoQuery(*call));
  runtime->Delete(call->name(), Answer<Ok>(call, [session = call->name()](const Ok&, std::string* out) {
                    JsonObject(out).Text("session_key", session).Text("state", "deleting");
                  }));
  return Ok{};
}

Status PauseSession(Call* call) {
  return AskOfSession(call, Access::kUse, &agent::Runtime::Pause);
}

Status ResumeSession(Call* call) {
  return AskOfSession(call, Access::kUse, &agent::Runtime::Resume);
}

Status StopTurn(Call* call) {
  return AskOfSession(call, Access::kUse, &agent::Runtime::Stop);
}

Status GetAutonomy(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeForAdmin(*call));
  HF_CHECK_OK(ExpectNoQuery(*call));
  runtime->GetAutonomy(Answer<agent::Autonomy>(call));
  return Ok{};
}

Status SetAutonomy(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeForAdmin(*call));
  HF_CHECK_OK(ExpectNoQuery(*call));
  bool enabled = false;
  HF_CHECK_OK(ReadBodyWith(*call, [&](Members* body) {
    body->Flag("enabled", &enabled, Need::kRequired);
    return body->End();
  }));
  runtime->SetAutonomy(enabled, call->identity.subject, Answer<agent::Autonomy>(call));
  return Ok{};
}

namespace {

// The agent of a policy.
Status CheckAgent(const Call& call) {
  HF_CHECK_OK(ExpectNoQuery(call));
  if (!IsName(call.name(), 128))
    return model::RefuseField("agent", "should have 1 to 128 letters, digits, - and _", call.name());
  return Ok{};
}

}  // namespace

Status GetPolicy(Call* call) {
  HF_CHECK_OK(CheckAgent(*call));
  HF_CHECK_OK(AuthorizeWorker(call->identity, {call->name()}));
  HF_TRY(agent::Runtime * runtime, RuntimeOf(*call));
  runtime->GetPolicy(call->name(), Answer<agent::Policy>(call));
  return Ok{};
}

Status PutPolicy(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeForAdmin(*call));
  HF_CHECK_OK(CheckAgent(*call));
  HF_TRY(Item body, ReadBody(*call));
  HF_TRY(agent::Policy policy, agent::ReadPolicy(body));
  runtime->PutPolicy(call->name(), policy, Answer<agent::Policy>(call));
  return Ok{};
}

Status ListDeadLetters(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeForAdmin(*call));
  std::string after = call->query.Take("after").value_or("");
  HF_TRY(int64_t limit, TakeWhole(&call->query, "limit", kLimit, {1, kLimitMax}));
  HF_CHECK_OK(ExpectNoQuery(*call));
  runtime->ListDeadLetters(after, static_cast<int>(limit), Answer<agent::DeadLetterPage>(call));
  return Ok{};
}

Status Redrive(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeForAdmin(*call));
  HF_CHECK_OK(ExpectNoQuery(*call));
  runtime->Redrive(call->name(), Answer<Ok>(call));
  return Ok{};
}

Status OpenDeviceSocket(Call* call) {
  agent::ConnectRequest request;
  request.session = call->query.Take("session").value_or("");
  request.device = call->query.Take("device").value_or(request.device);
  HF_TRY(request.after, call->query.TakeNumber("after"));
  HF_CHECK_OK(ExpectNoQuery(*call));
  call->names = {request.session};
  HF_TRY(agent::Runtime * runtime, RuntimeFor(*call, Access::kUse));
  if (!agent::IsDevice(request.device))
    return model::RefuseField("device", "should have 1 to 64 letters, digits, - and _", request.device);
  if (request.after.value_or(0) < 0) return model::RefuseField("after", "should not be negative");
  HF_CHECK_OK(CheckSocket(call->request));
  // A device of a session that was deleted is told so, rather than to come back later.
  auto accept = [agents = call->options.agents, runtime, identity = call->identity, request,
                 reply = call->Defer()](const Result<agent::SessionView>& session) {
    bool there = session || model::RefusalName(session.error()) == "NotFound";
    if (!there) return reply.End(session.error());
    if (session && (session->state == "deleting" || session->state == "deleted"))
      return reply.End(model::Refuse("Gone", "the session was deleted"));
    AcceptSocket(reply.exchange().request(), MakeDeviceSocket(agents, runtime, identity, request),
                 &reply.exchange().response());
    reply.End(Ok{});
  };
  runtime->GetSession(call->name(), std::move(accept));
  return Ok{};
}

}  // namespace holdfast::wire
