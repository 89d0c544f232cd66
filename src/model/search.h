// Search patterns: what is similar to a vector, over one set of filters or over those of several live items.
#pragma once

#include <string>
#include <vector>

#include "model/runtime.h"

namespace holdfast::model {

Result<Answer> SearchBySimilarity(Runtime* runtime, const Step& step, const AttributeMap& params);
Result<std::vector<std::string>> ExplainSearch(Runtime* runtime, const Step& step,
                                               const AttributeMap& params);

}  // namespace holdfast::model
