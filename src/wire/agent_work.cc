// The routes of workers: what they claim, commit and give back.
#include "wire/agent_answer.h"
#include "wire/agent_requests.h"

namespace holdfast::wire {
namespace {

// The runtime, for a worker that may use it.
Result<agent::Runtime*> RuntimeForWorker(const Call& call) {
  HF_CHECK_OK(AuthorizeWorker(call.identity, {}));
  HF_CHECK_OK(ExpectNoQuery(call));
  return RuntimeOf(call);
}

}  // namespace

Status ClaimWork(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeForWorker(*call));
  HF_TRY(agent::ClaimRequest request, ReadBodyWith(*call, &ReadClaim));
  HF_CHECK_OK(AuthorizeWorker(call->identity, request.agents));
  request.subject = call->identity.subject;
  call->reply.exchange().waits = request.wait_millis > 0;
  call->options.agents->Claim(runtime, std::move(request), call->Defer());
  return Ok{};
}

Status CommitWork(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeForWorker(*call));
  auto read = [](Members* body) { return ReadCommit(body, /*release=*/true); };
  HF_TRY(agent::CommitRequest request, ReadBodyWith(*call, read));
  HF_CHECK_OK(call->options.agents->Authorize(call->identity, request.session, Access::kWork));
  runtime->Commit(std::move(request), Answer<agent::Committed>(call));
  return Ok{};
}

Status Heartbeat(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeForWorker(*call));
  HF_TRY(std::vector<agent::Lease> leases, ReadBodyWith(*call, &ReadLeases));
  for (const agent::Lease& lease : leases)
    HF_CHECK_OK(call->options.agents->Authorize(call->identity, lease.session, Access::kWork));
  runtime->Heartbeat(std::move(leases), Answer<agent::HeartbeatAnswer>(call));
  return Ok{};
}

Status ReleaseWork(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeForWorker(*call));
  HF_TRY(agent::ReleaseRequest request, ReadBodyWith(*call, &ReadRelease));
  HF_CHECK_OK(call->options.agents->Authorize(call->identity, request.session, Access::kWork));
  runtime->Release(std::move(request), Answer<Ok>(call));
  return Ok{};
}

Status OpenWorkerSocket(Call* call) {
  HF_TRY(agent::Runtime * runtime, RuntimeForWorker(*call));
  HF_CHECK_OK(CheckSocket(call->request));
  AcceptSocket(call->request, MakeWorkerSocket(call->options.agents, runtime, call->identity),
               &call->response);
  return Ok{};
}

}  // namespace holdfast::wire
