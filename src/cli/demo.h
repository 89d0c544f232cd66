// `holdfast demo`: loads a small made-up world into a store, to try things out on.
#pragma once

#include <vector>

#include "cli/command.h"
#include "holdfast/model.h"
#include "holdfast/store.h"

namespace holdfast::cli {

void AddDemoCommand(CLI::App* app, Run* run);

// Makes the tables of the shipped models and fills them with their worlds, as `holdfast demo all` does.
Status LoadDemo(Store* store, const std::vector<ModelPtr>& models);

}  // namespace holdfast::cli
