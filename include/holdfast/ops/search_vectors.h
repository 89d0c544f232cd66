// SearchVectors: the items of a vector index whose vectors are nearest to a given one.
//
//   auto found = db->SearchVectors({.table_name = "Docs",
//                                   .index_name = "by-meaning",
//                                   .search_vector = embedding,  // a std::vector<float>
//                                   .top_k = 5,
//                                   .search_condition_expression = "tenant = :t",
//                                   .expression_attribute_values = {{{":t", "acme"}}}});
//   for (const auto& result : found->search_results) Use(result.item, result.score);
#pragma once

#include <initializer_list>

#include "holdfast/ops/common.h"

namespace holdfast {

// The vector to search near. What came as JSON may have held something that is no float; then it is not
// sound.
class SearchVector {
 public:
  SearchVector() = default;
  SearchVector(std::vector<float> values) : values_(std::move(values)) {}  // NOLINT
  SearchVector(std::initializer_list<float> values) : values_(values) {}   // NOLINT
  static SearchVector Unsound(size_t size) {
    SearchVector vector(std::vector<float>(size, 0.0F));
    vector.sound_ = false;
    return vector;
  }

  const std::vector<float>& values() const { return values_; }
  size_t size() const { return values_.size(); }
  bool sound() const { return sound_; }

 private:
  std::vector<float> values_;
  bool sound_ = true;
};

struct SearchVectorsRequest {
  std::string table_name;
  std::string index_name;
  SearchVector search_vector;  // as many numbers as the index has dimensions
  int64_t top_k = 0;           // 1 to 100
  // "tenant = :t AND lang = :l": values of attributes in the index's search schema, its HASH attribute among
  // them.
  std::optional<std::string> search_condition_expression;
  // Without it a result has all that the index projects, except the vector.
  std::optional<std::string> projection_expression;
  std::optional<ExpressionNames> expression_attribute_names;
  std::optional<ExpressionValues> expression_attribute_values;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;

  static constexpr std::string_view kTypeName = "SearchVectorsInput";
  // AWS reads this operation with another decoder than the others: json/strict_reader.h.
  static constexpr bool kStrict = true;
  static constexpr auto Fields() {
    using S = SearchVectorsRequest;
    Rules index_name = kIndexNameRules;
    index_name.required = index_name.terse = true;
    return FieldList(Field("TableName", &S::table_name, kItemTableRules),
                     Field("IndexName", &S::index_name, index_name),
                     Field("SearchVector", &S::search_vector,
                           {.required = true, .length_min = 1, .length_max = 4096, .terse = true}),
                     Field("TopK", &S::top_k, {.required = true, .value_min = 1}),
                     Field("SearchConditionExpression", &S::search_condition_expression),
                     Field("ProjectionExpression", &S::projection_expression),
                     Field("ExpressionAttributeNames", &S::expression_attribute_names),
                     Field("ExpressionAttributeValues", &S::expression_attribute_values),
                     Field("ReturnConsumedCapacity", &S::return_consumed_capacity));
  }
};

// An item of a search. The vector in it, when it was asked for, is that of the index: floats, and written so.
struct SearchResultItem : Item {
  std::string vector_attribute;
};

struct SearchResult {
  SearchResultItem item;
  // Cosine and Euclidean: a distance, the lower the nearer. Dot product: the higher the nearer.
  float score = 0;

  static constexpr std::string_view kTypeName = "SearchResult";
  static constexpr auto Fields() {
    return FieldList(Field("Item", &SearchResult::item), Field("Score", &SearchResult::score));
  }
};

struct SearchVectorsResponse {
  std::vector<SearchResult> search_results;  // nearest first
  std::optional<VectorCapacity> consumed_capacity;

  static constexpr std::string_view kTypeName = "SearchVectorsOutput";
  static constexpr auto Fields() {
    using S = SearchVectorsResponse;
    return FieldList(Field("SearchResults", &S::search_results),
                     Field("ConsumedCapacity", &S::consumed_capacity));
  }
};

}  // namespace holdfast
