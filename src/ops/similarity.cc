#include "ops/similarity.h"

#include <cmath>

#include "ops/operations.h"
#include "ops/table_access.h"

namespace holdfast::ops {
namespace {

// To seven decimals, which is what a distance that is a float can tell apart. Both sides of the comparison
// are rounded so, and what is printed as equal is equal.
double Rounded(double similarity) {
  constexpr double kSteps = 1e7;
  return std::round(similarity * kSteps) / kSteps + 0.0;  // no negative zero
}

// Only a cosine distance is one minus a similarity. What is not there is for the search to report.
Status CheckIsCosine(Context& context, const SimilaritySearchRequest& request) {
  Result<TableRef> ref = OpenForItems(context, request.table_name);
  if (!ref) return Ok{};
  const engine::IndexSchema* index = ref->schema->FindIndex(request.index_name);
  if (index == nullptr || !index->is_vector() || index->vector->distance == DistanceFunction::kCosine) {
    return Ok{};
  }
  return ValidationError("Similarity is defined for the distance function COSINE only; index " + index->name +
                         " has " + std::string(NameOf(index->vector->distance)));
}

}  // namespace

Result<SimilaritySearchResponse> SearchBySimilarity(engine::Engine* engine,
                                                    const SimilaritySearchRequest& request) {
  if (!std::isfinite(request.threshold)) return ValidationError("The threshold must be a finite number");
  Context context{engine};
  HF_CHECK_OK(CheckIsCosine(context, request));
  SearchVectorsRequest search;
  search.table_name = request.table_name;
  search.index_name = request.index_name;
  search.search_vector = request.vector;
  search.top_k = request.top_k;
  search.search_condition_expression = request.search_condition_expression;
  search.projection_expression = request.projection_expression;
  search.expression_attribute_names = request.expression_attribute_names;
  search.expression_attribute_values = request.expression_attribute_values;
  HF_TRY(SearchVectorsResponse found, Run(engine, search));

  double threshold = Rounded(request.threshold);
  SimilaritySearchResponse response;
  for (SearchResult& result : found.search_results) {
    double similarity = Rounded(1 - static_cast<double>(result.score));
    if (similarity < threshold) break;  // and so are all that follow
    response.results.push_back({std::move(result.item), similarity});
  }
  return response;
}

}  // namespace holdfast::ops
