// `holdfast policy`: what a file of policies allows; and the file that a server is given.
#pragma once

#include <memory>

#include "auth/permissions.h"
#include "cli/command.h"
#include "cli/config.h"

namespace holdfast::cli {

// Of --policies, or of the file of --credentials. Without either nobody is held to anything.
Result<std::unique_ptr<auth::Permissions>> LoadPermissions(const ServeConfig& config);

void AddPolicyCommands(CLI::App* app, Run* run);

}  // namespace holdfast::cli
