// DescribeTimeToLive: which attribute says when an item expires, if any does.
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

enum class TimeToLiveStatus : unsigned char { kEnabling, kDisabling, kEnabled, kDisabled };
template <>
struct EnumNames<TimeToLiveStatus> {
  static constexpr std::pair<TimeToLiveStatus, std::string_view> kAll[] = {
      {TimeToLiveStatus::kEnabling, "ENABLING"},
      {TimeToLiveStatus::kDisabling, "DISABLING"},
      {TimeToLiveStatus::kEnabled, "ENABLED"},
      {TimeToLiveStatus::kDisabled, "DISABLED"}};
};

struct DescribeTimeToLiveRequest {
  std::string table_name;

  static constexpr std::string_view kTypeName = "DescribeTimeToLiveInput";
  static constexpr auto Fields() {
    return FieldList(Field("TableName", &DescribeTimeToLiveRequest::table_name, kTableRules));
  }
};

struct TimeToLiveDescription {
  TimeToLiveStatus time_to_live_status = TimeToLiveStatus::kDisabled;
  std::optional<std::string> attribute_name;

  static constexpr std::string_view kTypeName = "TimeToLiveDescription";
  static constexpr auto Fields() {
    using S = TimeToLiveDescription;
    return FieldList(Field("TimeToLiveStatus", &S::time_to_live_status),
                     Field("AttributeName", &S::attribute_name));
  }
};

struct DescribeTimeToLiveResponse {
  TimeToLiveDescription time_to_live_description;

  static constexpr std::string_view kTypeName = "DescribeTimeToLiveOutput";
  static constexpr auto Fields() {
    return FieldList(Field("TimeToLiveDescription", &DescribeTimeToLiveResponse::time_to_live_description));
  }
};

}  // namespace holdfast
