// SimilaritySearch, on top of SearchVectors.
#pragma once

#include "holdfast/similarity.h"
#include "ops/context.h"

namespace holdfast::ops {

Result<SimilaritySearchResponse> SearchBySimilarity(engine::Engine* engine,
                                                    const SimilaritySearchRequest& request);

}  // namespace holdfast::ops
