// ListTables: names in order, 100 at a time. The next page starts after last_evaluated_table_name.
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

struct ListTablesRequest {
  std::optional<std::string> exclusive_start_table_name;
  std::optional<int64_t> limit;

  static constexpr std::string_view kTypeName = "ListTablesInput";
  static constexpr auto Fields() {
    using S = ListTablesRequest;
    return FieldList(Field("ExclusiveStartTableName", &S::exclusive_start_table_name,
                           {.length_min = 3, .length_max = 255, .pattern = kNamePattern}),
                     Field("Limit", &S::limit, {.value_min = 1, .value_max = 100}));
  }
};

struct ListTablesResponse {
  std::vector<std::string> table_names;
  std::optional<std::string> last_evaluated_table_name;

  static constexpr std::string_view kTypeName = "ListTablesOutput";
  static constexpr auto Fields() {
    using S = ListTablesResponse;
    return FieldList(Field("TableNames", &S::table_names, {.required = true}),
                     Field("LastEvaluatedTableName", &S::last_evaluated_table_name));
  }
};

}  // namespace holdfast
