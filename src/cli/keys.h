// `holdfast keys`: the file of master keys under which encrypted attributes are sealed.
#pragma once

#include "cli/command.h"

namespace holdfast::cli {

void AddKeyCommands(CLI::App* app, Run* run);

}  // namespace holdfast::cli
