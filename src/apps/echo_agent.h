// The agent without a model that comes with the program: it repeats what it hears and asks after the silent.
//
// An agent in this process is a function from an event and the session's state to the next state and the
// effects. The same event and state give the same answer, so a turn that a crash cut off may be run again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/runtime.h"

namespace holdfast::apps {

struct Turn {
  Item state;
  std::vector<agent::EffectRequest> effects;
};
using AgentFunction = std::function<Turn(const agent::Event& event, const Item& state)>;

inline constexpr char kEchoAgent[] = "echo";

// Answers "You said: …", and "Still there? …" when nothing more was said for `follow_up_millis`. Its state is
// {turns, last}.
AgentFunction EchoAgent(int64_t follow_up_millis);

// Runs `function`, on the runtime's thread, for each event of the agent's sessions until the runtime ends.
void AttachAgent(agent::Runtime* runtime, const std::string& agent, AgentFunction function);

}  // namespace holdfast::apps
