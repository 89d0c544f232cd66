// `holdfast policy`: what a file of policies allows; and the file that a server is given.
#pragma once

#include <memory>

#include "auth/permissions.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/config.h"

namespace holdfast::cli {

// Of --policies, or of the file of --credentials. Without either nobody is held to anything. Fails for access
// keys that belong to nobody who is listed, and warns where the other door stands open.
Result<std::unique_ptr<auth::Permissions>> LoadPermissions(const ServeConfig& config, const base::Log& log);

void AddPolicyCommands(CLI::App* app, Run* run);

}  // namespace holdfast::cli
