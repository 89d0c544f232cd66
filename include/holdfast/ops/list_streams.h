// ListStreams: the streams of one table or of all, those included that were disabled, or whose table was
// deleted, less than a day ago. The next page starts after last_evaluated_stream_arn.
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

inline constexpr Rules kStreamArnRules{.length_min = 37, .length_max = 1024};

struct ListStreamsRequest {
  std::optional<std::string> table_name;
  std::optional<int64_t> limit;
  std::optional<std::string> exclusive_start_stream_arn;

  static constexpr std::string_view kTypeName = "ListStreamsInput";
  static constexpr auto Fields() {
    using S = ListStreamsRequest;
    return FieldList(
        Field("TableName", &S::table_name, {.length_min = 3, .length_max = 255, .pattern = kNamePattern}),
        Field("Limit", &S::limit, {.value_min = 1, .value_max = 100}),
        Field("ExclusiveStartStreamArn", &S::exclusive_start_stream_arn, kStreamArnRules));
  }
};

struct Stream {
  std::string stream_arn;
  std::string table_name;
  std::string stream_label;

  static constexpr std::string_view kTypeName = "Stream";
  static constexpr auto Fields() {
    using S = Stream;
    return FieldList(Field("StreamArn", &S::stream_arn), Field("TableName", &S::table_name),
                     Field("StreamLabel", &S::stream_label));
  }
};

struct ListStreamsResponse {
  std::vector<Stream> streams;
  std::optional<std::string> last_evaluated_stream_arn;

  static constexpr std::string_view kTypeName = "ListStreamsOutput";
  static constexpr auto Fields() {
    using S = ListStreamsResponse;
    return FieldList(Field("Streams", &S::streams, {.required = true}),
                     Field("LastEvaluatedStreamArn", &S::last_evaluated_stream_arn));
  }
};

}  // namespace holdfast
