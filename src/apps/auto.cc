// Server-side autonomy: what people may do to conversations, on the agent runtime.

#include <algorithm>

#include "agent/keys.h"
#include "agent/row_writer.h"
#include "apps/apps.h"
#include "model/refusal.h"

namespace holdfast::apps {
namespace {

using agent::Done;
using agent::RowReader;
using agent::Runtime;
using model::Refuse;

// Sessions of the applications themselves are nobody's to speak in.
Status MayTouch(const CommandContext& context, const std::string& session) {
  const std::vector<std::string> system = agent::RuntimeOptions().system_users;
  bool theirs = std::find(system.begin(), system.end(), agent::UserOf(session)) != system.end();
  if (theirs && !context.caller.administrator) return Refuse("NotFound", "there is no session " + session);
  return Ok{};
}

CommandAnswer Changed(Item result, bool created = false) {
  CommandAnswer answer;
  answer.result = std::move(result);
  answer.created = created;
  answer.changed = true;
  return answer;
}

// AUTO-C-01
Result<CommandAnswer> UserMessage(Runtime* runtime, const CommandContext& context) {
  RowReader input(context.input);
  agent::AppendRequest request{.session = input.Text("session_key"), .id = input.Text("id")};
  // A request that is repeated is the same event.
  if (request.id.empty() && !context.request_id.empty()) request.id = "k:" + context.request_id;
  request.payload = Item{{"text", input.Text("text")}};
  HF_CHECK_OK(MayTouch(context, request.session));
  HF_TRY(agent::Appended appended, Runtime::Await<agent::Appended>([&](Done<agent::Appended> done) {
           runtime->Append(request, std::move(done));
         }));
  CommandAnswer answer =
      Changed(Item{{"seq", appended.seq}, {"id", appended.id}, {"duplicate", appended.duplicate}},
              !appended.duplicate);
  answer.changed = !appended.duplicate;
  return answer;
}

// AUTO-C-06
Result<CommandAnswer> Acknowledge(Runtime* runtime, const CommandContext& context) {
  RowReader input(context.input);
  std::string session = input.Text("session_key");
  HF_CHECK_OK(MayTouch(context, session));
  HF_CHECK_OK(Runtime::Await<Ok>([&](Done<Ok> done) {
    runtime->Acknowledge(session, input.Text("device"), input.Number("n"), std::move(done));
  }));
  return Changed(Item{{"device", input.Text("device")}, {"n", input.Number("n")}});
}

// AUTO-C-08
Result<CommandAnswer> CancelTimers(Runtime* runtime, const CommandContext& context) {
  RowReader input(context.input);
  std::string session = input.Text("session_key");
  HF_CHECK_OK(MayTouch(context, session));
  HF_TRY(int64_t cancelled, Runtime::Await<int64_t>([&](Done<int64_t> done) {
           runtime->CancelTimers(session, input.Text("timer_id"), std::move(done));
         }));
  return Changed(Item{{"cancelled", cancelled}});
}

// AUTO-C-11
Result<CommandAnswer> SetEnabled(Runtime* runtime, const CommandContext& context) {
  bool enabled = RowReader(context.input).Flag("enabled");
  HF_TRY(agent::Autonomy autonomy, Runtime::Await<agent::Autonomy>([&](Done<agent::Autonomy> done) {
           runtime->SetAutonomy(enabled, context.caller.subject, std::move(done));
         }));
  Item result{{"enabled", autonomy.enabled}, {"forced_off", autonomy.forced_off}};
  CommandAnswer answer = Changed(result);
  answer.emitted.push_back({"autonomy_switched", "", result});
  return answer;
}

}  // namespace

void AddAutoCommands(OpenAgents agents, CommandLibrary* library) {
  auto add = [&](const std::string& name, Result<CommandAnswer> (*run)(Runtime*, const CommandContext&)) {
    library->handlers["auto." + name] = [=](const CommandContext& context) -> Result<CommandAnswer> {
      if (!agents) return Refuse("NotConfigured", "only a server runs agents");
      HF_TRY(Runtime * runtime, agents());
      return run(runtime, context);
    };
  };
  add("session.userMessage", UserMessage);
  add("message.ack", Acknowledge);
  add("timer.cancel", CancelTimers);
  add("autonomy.setEnabled", SetEnabled);
  // AUTO-C-03: reserved.
  library->handlers["auto.session.toolResult"] = [](const CommandContext&) -> Result<CommandAnswer> {
    return Refuse("ReservedEventType", "only the runtime itself appends events of type tool_result");
  };
}

}  // namespace holdfast::apps
