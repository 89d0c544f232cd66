// The OpenAPI 3.1 document of a server that has these models: what `holdfast model openapi` prints and
// /openapi.json answers.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace holdfast::model::generate {

// `version` is the program's. The same models give the same text; it is large, so keep it.
std::string OpenApiOf(const std::vector<const Model*>& models, const std::string& version);

}  // namespace holdfast::model::generate
