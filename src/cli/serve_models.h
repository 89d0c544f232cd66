// The models that a server runs: found, loaded, and held against the tables that are there.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "cli/store_flags.h"
#include "holdfast/model.h"
#include "holdfast/store.h"

namespace holdfast::cli {

struct ModelsConfig {
  ModelFlags flags;    // only "none": no models
  bool apply = false;  // make what is missing
  bool demo = false;   // and fill it with made-up data
};

// Fails with file, line and path of all that is wrong. A program that was copied without the shipped models
// runs without them.
Result<std::vector<ModelPtr>> LoadServedModels(const ModelsConfig& config, const base::Log& log);

// Says in the log which tables are missing or differ, or makes them with config.apply. Fails when the store
// cannot do what a model needs, naming the model.
Status PrepareTables(Store* store, const std::vector<ModelPtr>& models, bool apply, const base::Log& log);

}  // namespace holdfast::cli
