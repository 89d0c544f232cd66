// The table that the tests of power cuts write to: items by "p", an index by "g", and one of the vectors in
// "w".
#pragma once

#include "holdfast/ops/create_table.h"

namespace holdfast {

inline CreateTableRequest IndexedTable(const std::string& name) {
  CreateTableRequest request;
  request.table_name = name;
  request.billing_mode = BillingMode::kPayPerRequest;
  request.key_schema = {{"p", KeyType::kHash}};
  request.attribute_definitions = {{"p", ScalarAttributeType::kString}, {"g", ScalarAttributeType::kString}};
  request.vector_indexes = {{{.index_name = "by_w",
                              .vector_attribute = {"w"},
                              .dimensions = 4,
                              .distance_function = DistanceFunction::kEuclidean,
                              .projection = {.projection_type = ProjectionType::kKeysOnly},
                              .search_schema = {{{"g", SearchSchemaElementType::kInlineFilter}}}}}};
  request.global_secondary_indexes = {{.index_name = "by_g",
                                       .key_schema = {{"g", KeyType::kHash}, {"p", KeyType::kRange}},
                                       .projection = {.projection_type = ProjectionType::kAll}}};
  return request;
}

}  // namespace holdfast
