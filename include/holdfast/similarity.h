// SimilaritySearch: what is like a vector, with a bound on how like it must be. holdfast's own; DynamoDB has
// SearchVectors alone.
//
//   auto like = db->SimilaritySearch({.table_name = "Docs", .index_name = "by-meaning", .vector = embedding,
//                                     .threshold = 0.8, .top_k = 5});
//   for (const auto& result : like->results) Use(result.item, result.similarity);
#pragma once

#include "holdfast/ops/search_vectors.h"

namespace holdfast {

struct SimilaritySearchRequest {
  std::string table_name;
  std::string index_name;  // of the distance function COSINE
  SearchVector vector;
  // -1 (opposite) to 1 (same direction). A result that is exactly as similar passes.
  double threshold = 0;
  int64_t top_k = 10;  // 1 to 100
  // As in SearchVectorsRequest.
  std::optional<std::string> search_condition_expression;
  std::optional<std::string> projection_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  std::optional<ExpressionValues> expression_attribute_values;
};

struct SimilarItem {
  SearchResultItem item;
  double similarity = 0;  // 1 minus the distance, to seven decimals: a float tells no more apart

  static constexpr std::string_view kTypeName = "SimilarItem";
  static constexpr auto Fields() {
    return FieldList(Field("Item", &SimilarItem::item), Field("Similarity", &SimilarItem::similarity));
  }
};

struct SimilaritySearchResponse {
  std::vector<SimilarItem> results;  // most similar first; fewer than top_k when fewer pass

  static constexpr std::string_view kTypeName = "SimilaritySearchOutput";
  static constexpr auto Fields() { return FieldList(Field("Results", &SimilaritySearchResponse::results)); }
};

}  // namespace holdfast
