// Access patterns, asked by their IDs.

#include "json/writer.h"
#include "model/refusal.h"
#include "wire/rest_call.h"

namespace holdfast::wire {
namespace {

void AppendPlan(const std::vector<std::string>& plan, std::string* out) {
  out->append(",\"plan\":[");
  for (const std::string& line : plan) {
    if (&line != plan.data()) out->push_back(',');
    json::AppendString(line, out);
  }
  out->push_back(']');
}

}  // namespace

Status AskPattern(Call* call) {
  const model::Pattern* pattern = call->model().FindPattern(call->name());
  if (pattern == nullptr)
    return model::Refuse("NotFound", "the model " + call->model().name + " has no pattern " + call->name());
  HF_TRY(PageRequest page, TakePage(&call->query));
  HF_TRY(bool explain, call->query.TakeFlag("explain"));
  if (pattern->writes() && !explain) {
    return model::Refuse(
        "MethodNotAllowed",
        pattern->id +
            " writes, and is not run by GET: use the entity or a command; explain=true shows "
            "what it would do",
        {{"allow", ""}});
  }
  HF_TRY(Item parameters, ReadParameters(call->query, pattern->params));
  Answer answer;
  if (!pattern->writes()) {
    HF_TRY(answer, call->application->Ask(call->caller, pattern->id, parameters, page));
  }
  std::string& body = call->response.body;
  AppendAnswer(answer, &body);
  if (explain) {
    HF_TRY(std::vector<std::string> plan, call->application->Explain(call->caller, pattern->id, parameters));
    AppendPlan(plan, &body);
  }
  body.push_back('}');
  return Ok{};
}

}  // namespace holdfast::wire
