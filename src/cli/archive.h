// `holdfast backup`, `holdfast restore`, `holdfast archive status` (docs/archive.md).
#pragma once

#include "cli/command.h"

namespace holdfast::cli {

void AddArchiveCommands(CLI::App* app, Run* run);

}  // namespace holdfast::cli
