// `holdfast demo`: loads a small made-up world into a store, to try things out on.
#pragma once

#include "cli/command.h"

namespace holdfast::cli {

void AddDemoCommand(CLI::App* app, Run* run);

}  // namespace holdfast::cli
