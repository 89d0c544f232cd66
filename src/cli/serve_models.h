// The models that a server runs: found, loaded, and held against the tables that are there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/store_flags.h"
#include "holdfast/model.h"
#include "holdfast/store.h"

namespace holdfast::cli {

struct ModelsConfig {
  ModelFlags flags;      // only "none": no models
  bool apply = false;    // make what is missing
  bool demo = false;     // and fill it with made-up data
  std::string embedder;  // what makes vectors of texts
};

// Fails with file, line and path of all that is wrong. A program that was copied without the shipped models
// runs without them.
Result<std::vector<ModelPtr>> LoadServedModels(const ModelsConfig& config, const base::Log& log);

// The models at work on a store. Fails when the store cannot do what a model needs, naming the model.
using Applications = std::vector<std::unique_ptr<Application>>;
Result<Applications> OpenApplications(Store* store, const std::vector<ModelPtr>& models,
                                      const ApplicationOptions& options);

// Says in the log which tables are missing or differ, or makes them with `apply`.
Status PrepareTables(const Applications& applications, bool apply, const base::Log& log);

}  // namespace holdfast::cli
