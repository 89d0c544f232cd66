// `holdfast model purge|backfill|migrate|rewrap`: the jobs of model/jobs.h on the command line.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace holdfast::cli {

// Adds the commands to `model`. `run` is set to what the one that is called should do; it returns the exit
// code.
void AddJobCommands(CLI::App* model, std::function<int()>* run);

}  // namespace holdfast::cli
