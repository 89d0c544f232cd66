// What `holdfast model show` tells of a model.
#pragma once

#include <string>

#include "holdfast/result.h"
#include "model/generate/text.h"
#include "model/model.h"

namespace holdfast::cli {

// The entity, pattern or state machine of that name or ID; the whole model in short when `name` is empty.
Result<model::generate::Node> Describe(const model::Model& model, const std::string& name);

}  // namespace holdfast::cli
