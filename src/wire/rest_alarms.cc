// Alarms, for administrators.

#include "model/refusal.h"
#include "wire/agent_access.h"
#include "wire/alarms.h"
#include "wire/rest_call.h"

namespace holdfast::wire {
namespace {

Status CheckAsked(const Call& call) {
  HF_CHECK_OK(AuthorizeAdmin(call.identity));
  HF_CHECK_OK(ExpectNoQuery(call));
  if (call.options.alarms == nullptr) return model::Refuse("NotConfigured", "this server watches no alarms");
  if (call.options.check_alarms) HF_CHECK_OK(call.options.check_alarms());
  return Ok{};
}

}  // namespace

Status ListAlarms(Call* call) {
  HF_CHECK_OK(CheckAsked(*call));
  call->response.body = call->options.alarms->Json();
  return Ok{};
}

Status OpenAlarmSocket(Call* call) {
  HF_CHECK_OK(CheckAsked(*call));
  HF_CHECK_OK(CheckSocket(call->request));
  AcceptSocket(call->request,
               MakeAlarmSocket(call->options.alarms, call->options.expiry, call->identity.expires_at),
               &call->response);
  return Ok{};
}

}  // namespace holdfast::wire
