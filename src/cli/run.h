// `holdfast run`: a command of a model.
#pragma once

#include "cli/command.h"

namespace holdfast::cli {

void AddRunCommand(CLI::App* app, Run* run);

// What a shell asks while a `run` is being typed.
inline constexpr char kCompleteRun[] = "__complete";

}  // namespace holdfast::cli
