#include "wire/agents.h"

#include "wire/agent_json.h"

namespace holdfast::wire {
namespace {

void AnswerClaim(const Reply& reply, const Result<std::vector<agent::Work>>& work) {
  if (!work) return reply.End(work.error());
  AppendJson(*work, reply.body());
  reply.End(Ok{});
}

}  // namespace

void Agents::Claim(agent::Runtime* runtime, agent::ClaimRequest request, const Reply& reply) {
  uint64_t claim = 0;
  {
    base::MutexLock lock(&mu_);
    if (!draining_) waiting_.emplace(claim = ++last_claim_, reply);
  }
  if (claim == 0) return AnswerClaim(reply, std::vector<agent::Work>());
  runtime->Claim(std::move(request), [this, runtime, claim](const Result<std::vector<agent::Work>>& work) {
    std::optional<Reply> waiting = TakeWaiting(claim);
    if (work && (!waiting || waiting->exchange().abandoned())) {
      for (const agent::Work& one : *work) {
        agent::ReleaseRequest release;
        release.session = one.session;
        release.epoch = one.epoch;
        runtime->Release(std::move(release), [](const Status&) {});
      }
    }
    if (waiting) AnswerClaim(*waiting, work);
  });
}

std::optional<Reply> Agents::TakeWaiting(uint64_t claim) {
  base::MutexLock lock(&mu_);
  auto found = waiting_.find(claim);
  if (found == waiting_.end()) return std::nullopt;
  Reply reply = found->second;
  waiting_.erase(found);
  return reply;
}

void Agents::Drain() {
  std::map<uint64_t, Reply> waiting;
  {
    base::MutexLock lock(&mu_);
    draining_ = true;
    waiting.swap(waiting_);
  }
  for (const auto& [claim, reply] : waiting) AnswerClaim(reply, std::vector<agent::Work>());
}

}  // namespace holdfast::wire
