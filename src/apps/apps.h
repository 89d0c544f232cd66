// The parts of the shipped models' commands that YAML should not say: arithmetic, loops over many
// transactions, messages to connections.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "holdfast/model.h"

namespace holdfast::apps {

// Sends a message to one connection of this server; false when it is gone.
using PostToConnection = std::function<bool(const std::string& connection_id, const Emitted& message)>;

// Everything this program adds to models, by "<model>.<name>". Without `post` what needs connections is
// refused.
std::shared_ptr<const CommandLibrary> ShippedCommands(PostToConnection post);

// One file per application adds to the library.
void AddPmCommands(CommandLibrary* library);
void AddTripCommands(PostToConnection post, CommandLibrary* library);

}  // namespace holdfast::apps
