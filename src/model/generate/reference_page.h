// The page at /docs: what a server's models offer over HTTP, for people. Plain HTML without scripts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace holdfast::model::generate {

// It links to `style`, the address of ReferenceStyle().
std::string ReferencePage(const std::vector<const Model*>& models, const std::string& version,
                          std::string_view style = "/docs.css");
// Its style sheet.
std::string_view ReferenceStyle();

}  // namespace holdfast::model::generate
