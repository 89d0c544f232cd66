// `holdfast completion`: what makes a shell complete holdfast's commands and flags.
#pragma once

#include "cli/command.h"

namespace holdfast::cli {

// Completes whatever has been added to `app` by the time it runs.
void AddCompletionCommand(CLI::App* app, Run* run);

}  // namespace holdfast::cli
