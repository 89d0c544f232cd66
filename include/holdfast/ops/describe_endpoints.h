// DescribeEndpoints: where to send requests, for clients that discover it.
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

struct DescribeEndpointsRequest {
  static constexpr std::string_view kTypeName = "DescribeEndpointsRequest";
  static constexpr auto Fields() { return FieldList(); }
};

struct Endpoint {
  std::string address;
  int64_t cache_period_in_minutes = 1440;

  static constexpr std::string_view kTypeName = "Endpoint";
  static constexpr auto Fields() {
    using S = Endpoint;
    return FieldList(Field("Address", &S::address),
                     Field("CachePeriodInMinutes", &S::cache_period_in_minutes));
  }
};

struct DescribeEndpointsResponse {
  std::vector<Endpoint> endpoints;

  static constexpr std::string_view kTypeName = "DescribeEndpointsResponse";
  static constexpr auto Fields() {
    return FieldList(Field("Endpoints", &DescribeEndpointsResponse::endpoints));
  }
};

}  // namespace holdfast
