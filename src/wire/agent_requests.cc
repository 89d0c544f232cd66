#include "wire/agent_requests.h"

#include "model/instant.h"
#include "model/refusal.h"

namespace holdfast::wire {
namespace {

using value::Type;
using value::ValueView;

constexpr size_t kAgentsMax = 64;
constexpr size_t kLeasesMax = 4096;
constexpr size_t kEffectsMax = 1000;  // how many a commit may have is the runtime's to say
constexpr size_t kIdBytesMax = 128;
constexpr Bounds kLeaseMillis{1000, 300'000};

// What says how an effect is treated is taken out; the rest is its payload, which the runtime judges.
Result<agent::EffectRequest> ReadEffect(ValueView value, std::string path) {
  if (value.type() != Type::kMap) return model::RefuseField(std::move(path), "should be an object");
  agent::EffectRequest request;
  value::MapView map = value.map();
  Members effect(map, std::move(path));
  effect.Text("type", &request.type, Need::kRequired);
  if (request.type == "send_message")
    effect.Either("delivery", "at_least_once", "at_most_once", &request.at_most_once);
  if (request.type == "schedule_timer") effect.Flag("keep", &request.keep);
  request.payload = effect.Rest();
  HF_CHECK_OK(effect.End());
  return request;
}

template <class Lease>
void ReadLease(Members* from, Lease* lease) {
  from->Text("session", &lease->session, Need::kRequired);
  from->Whole("epoch", &lease->epoch, {0}, Need::kRequired);
}

}  // namespace

Result<agent::AppendRequest> ReadEvent(Members* body) {
  agent::AppendRequest request;
  body->Name("id", &request.id, Need::kOptional, kEventIdCharacters, kIdBytesMax);
  body->Text("type", &request.type, Need::kRequired);
  body->Map("payload", &request.payload, Need::kRequired);
  HF_CHECK_OK(body->End());
  return request;
}

Result<agent::ClaimRequest> ReadClaim(Members* body) {
  agent::ClaimRequest request;
  body->Name("worker", &request.worker, Need::kRequired, kEventIdCharacters, kIdBytesMax);
  body->Name("req", &request.request, Need::kOptional, kEventIdCharacters, kIdBytesMax);
  request.agents = body->Names("agents", kAgentsMax, Need::kRequired);
  body->Whole("max", &request.max, {1, 64});
  body->Whole("lease_ms", &request.lease_millis, kLeaseMillis);
  body->Whole("wait_ms", &request.wait_millis, {0, 60'000});
  HF_CHECK_OK(body->End());
  return request;
}

Result<agent::CommitRequest> ReadCommit(Members* body, bool release) {
  agent::CommitRequest request;
  request.release = release;
  ReadLease(body, &request);
  body->Whole("upto", &request.upto, {1}, Need::kRequired);
  body->Name("token", &request.token, Need::kRequired, kEventIdCharacters, kIdBytesMax);
  body->Map("checkpoint", &request.state, Need::kRequired);
  body->Map("usage", &request.usage);
  body->Either("then", "next", "release", &request.release);
  std::vector<ValueView> effects = body->List("effects", kEffectsMax);
  HF_CHECK_OK(body->End());
  request.effects.reserve(effects.size());
  for (size_t i = 0; i < effects.size(); ++i) {
    HF_TRY(agent::EffectRequest effect, ReadEffect(effects[i], "effects[" + std::to_string(i) + "]"));
    request.effects.push_back(std::move(effect));
  }
  return request;
}

Result<std::vector<agent::Lease>> ReadLeases(Members* body) {
  std::vector<agent::Lease> leases;
  std::vector<ValueView> given = body->List("leases", kLeasesMax, Need::kRequired);
  HF_CHECK_OK(body->End());
  for (size_t i = 0; i < given.size(); ++i) {
    std::string path = "leases[" + std::to_string(i) + "]";
    if (given[i].type() != Type::kMap) return model::RefuseField(path, "should be an object");
    Members members(given[i].map(), path);
    ReadLease(&members, &leases.emplace_back());
    HF_CHECK_OK(members.End());
  }
  return leases;
}

Result<agent::ReleaseRequest> ReadRelease(Members* body) {
  agent::ReleaseRequest request;
  ReadLease(body, &request);
  body->Text("error", &request.error, Need::kOptional, 4096);
  body->Whole("retry_after_ms", &request.retry_after_millis, {0, model::kDayMillis});
  HF_CHECK_OK(body->End());
  return request;
}

Result<agent::WorkerHello> ReadHello(Members* message) {
  agent::WorkerHello hello;
  message->Name("worker", &hello.worker, Need::kRequired, kEventIdCharacters, kIdBytesMax);
  hello.agents = message->Names("agents", kAgentsMax, Need::kRequired);
  message->Whole("credit", &hello.credit, {0, 1024});
  message->Whole("lease_ms", &hello.lease_millis, kLeaseMillis);
  HF_CHECK_OK(message->End());
  return hello;
}

}  // namespace holdfast::wire
