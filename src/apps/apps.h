// The parts of the shipped models' commands that YAML should not say: arithmetic, loops over many
// transactions, messages to connections.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/runtime.h"
#include "holdfast/model.h"

namespace holdfast::apps {

// Sends a message to one connection of this server; false when it is gone.
using PostToConnection = std::function<bool(const std::string& connection_id, const Emitted& message)>;

// The agent runtime, started when it was not yet. May block. Empty: there is none.
using OpenAgents = std::function<Result<agent::Runtime*>()>;

// Everything this program adds to models, by "<model>.<name>". Without `post` what needs connections is
// refused, without a runtime what needs agents.
std::shared_ptr<const CommandLibrary> ShippedCommands(PostToConnection post, OpenAgents agents = {});

// One file per application adds to the library.
void AddPmCommands(CommandLibrary* library);
void AddTripCommands(PostToConnection post, CommandLibrary* library);
void AddAutoCommands(OpenAgents agents, CommandLibrary* library);
void AddAutoPatterns(CommandLibrary* library);

}  // namespace holdfast::apps
