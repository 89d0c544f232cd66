// `holdfast query`, `get`, `put`, `patch`, `delete` and `list`: an application's data by its model.
#pragma once

#include "cli/command.h"

namespace holdfast::cli {

void AddEntityCommands(CLI::App* app, Run* run);

}  // namespace holdfast::cli
