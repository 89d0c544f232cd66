// UpdateTimeToLive: name the attribute that holds, in seconds since 1970, when an item expires.
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

struct TimeToLiveSpecification {
  std::string attribute_name;
  bool enabled = false;

  static constexpr std::string_view kTypeName = "TimeToLiveSpecification";
  static constexpr auto Fields() {
    using S = TimeToLiveSpecification;
    return FieldList(
        Field("Enabled", &S::enabled, {.required = true}),
        Field("AttributeName", &S::attribute_name, {.required = true, .length_min = 1, .length_max = 255}));
  }
};

struct UpdateTimeToLiveRequest {
  std::string table_name;
  TimeToLiveSpecification time_to_live_specification;

  static constexpr std::string_view kTypeName = "UpdateTimeToLiveInput";
  static constexpr auto Fields() {
    using S = UpdateTimeToLiveRequest;
    return FieldList(Field("TableName", &S::table_name, kTableRules),
                     Field("TimeToLiveSpecification", &S::time_to_live_specification, {.required = true}));
  }
};

struct UpdateTimeToLiveResponse {
  TimeToLiveSpecification time_to_live_specification;

  static constexpr std::string_view kTypeName = "UpdateTimeToLiveOutput";
  static constexpr auto Fields() {
    return FieldList(Field("TimeToLiveSpecification", &UpdateTimeToLiveResponse::time_to_live_specification));
  }
};

}  // namespace holdfast
