// `holdfast model …`: checks model files, makes their tables, and writes what is generated from them.
#pragma once

#include "cli/command.h"

namespace holdfast::cli {

// Returns the command `model`, for others to add to.
CLI::App* AddModelCommands(CLI::App* app, Run* run);

}  // namespace holdfast::cli
