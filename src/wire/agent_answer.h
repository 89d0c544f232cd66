// What the routes of the agent runtime share.
#pragma once

#include <utility>

#include "model/refusal.h"
#include "wire/agent_json.h"
#include "wire/agents.h"
#include "wire/members.h"

namespace holdfast::wire {

// The runtime, or that there is none.
inline Result<agent::Runtime*> RuntimeOf(const Call& call) {
  if (call.options.agents == nullptr)
    return model::Refuse("NotFound", "this server runs no agents; start it with --agents on");
  return call.options.agents->runtime();
}

// The body as `read` reads it.
template <class Read>
auto ReadBodyWith(const Call& call, const Read& read) -> decltype(read(nullptr)) {
  HF_TRY(Item body, ReadBody(call));
  Members members{value::MapView(body)};
  return read(&members);
}

// A completion that answers the call with what `append` writes of the runtime's answer.
template <class T, class Append>
agent::Done<T> Answer(Call* call, Append append) {
  return [reply = call->Defer(), append = std::move(append)](Result<T> answer) {
    if (!answer) return reply.End(std::move(answer).error());
    append(*answer, reply.body());
    reply.End(Ok{});
  };
}
template <class T>
agent::Done<T> Answer(Call* call) {
  return Answer<T>(call, [](const T& answer, std::string* out) { AppendJson(answer, out); });
}

}  // namespace holdfast::wire
