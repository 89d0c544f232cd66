// DeleteTable: the table, its items and its indexes.
#pragma once

#include "holdfast/ops/table.h"

namespace holdfast {

struct DeleteTableRequest {
  std::string table_name;

  static constexpr std::string_view kTypeName = "DeleteTableInput";
  static constexpr auto Fields() {
    return FieldList(Field("TableName", &DeleteTableRequest::table_name, kTableRules));
  }
};

struct DeleteTableResponse {
  TableDescription table_description;

  static constexpr std::string_view kTypeName = "DeleteTableOutput";
  static constexpr auto Fields() {
    return FieldList(Field("TableDescription", &DeleteTableResponse::table_description));
  }
};

}  // namespace holdfast
