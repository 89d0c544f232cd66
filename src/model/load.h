// Reads a model file and refuses a bad one with all that is wrong: file, line, path and what to do about it.
//
//   models/pm.yaml:41: entities.Project.key.PK: the template names {idd}, which is no attribute of Project
//
// A file is a stranger's bytes: size, depth and the number of nodes are bounded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "model/model.h"

namespace holdfast::model {

struct LoadOptions {
  std::string stage = "dev";            // for {stage} in the names of tables
  std::map<std::string, bool> options;  // over the file's own `options`
};

Result<std::shared_ptr<const Model>> LoadModelFile(const std::string& path, const LoadOptions& options);
// `file` is for messages.
Result<std::shared_ptr<const Model>> LoadModel(std::string_view yaml, const std::string& file,
                                               const LoadOptions& options);

}  // namespace holdfast::model
