// DescribeLimits: the account quotas that DynamoDB would answer with.
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

struct DescribeLimitsRequest {
  static constexpr std::string_view kTypeName = "DescribeLimitsInput";
  static constexpr auto Fields() { return FieldList(); }
};

struct DescribeLimitsResponse {
  int64_t account_max_read_capacity_units = 80000;
  int64_t account_max_write_capacity_units = 80000;
  int64_t table_max_read_capacity_units = 40000;
  int64_t table_max_write_capacity_units = 40000;

  static constexpr std::string_view kTypeName = "DescribeLimitsOutput";
  static constexpr auto Fields() {
    using S = DescribeLimitsResponse;
    return FieldList(Field("AccountMaxReadCapacityUnits", &S::account_max_read_capacity_units),
                     Field("AccountMaxWriteCapacityUnits", &S::account_max_write_capacity_units),
                     Field("TableMaxReadCapacityUnits", &S::table_max_read_capacity_units),
                     Field("TableMaxWriteCapacityUnits", &S::table_max_write_capacity_units));
  }
};

}  // namespace holdfast
