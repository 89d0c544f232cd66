// DescribeTable: the schema of a table, its indexes and their state, how many items it holds and their size.
#pragma once

#include "holdfast/ops/table.h"

namespace holdfast {

struct DescribeTableRequest {
  std::string table_name;

  static constexpr std::string_view kTypeName = "DescribeTableInput";
  static constexpr auto Fields() {
    return FieldList(Field("TableName", &DescribeTableRequest::table_name, kTableRules));
  }
};

struct DescribeTableResponse {
  TableDescription table;

  static constexpr std::string_view kTypeName = "DescribeTableOutput";
  static constexpr auto Fields() { return FieldList(Field("Table", &DescribeTableResponse::table)); }
};

}  // namespace holdfast
