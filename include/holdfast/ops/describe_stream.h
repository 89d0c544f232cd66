// DescribeStream: what a stream tells, and its shards. All changes of a partition key are in one shard, in
// order; a stream has four from its first moment to its last.
#pragma once

#include "holdfast/ops/list_streams.h"
#include "holdfast/ops/table.h"

namespace holdfast {

inline constexpr Rules kShardIdRules{.length_min = 28, .length_max = 65};
inline constexpr Rules kRequiredShardIdRules{.required = true, .length_min = 28, .length_max = 65};
inline constexpr Rules kRequiredStreamArnRules{.required = true, .length_min = 37, .length_max = 1024};

enum class StreamStatus : unsigned char { kEnabling, kEnabled, kDisabling, kDisabled };
template <>
struct EnumNames<StreamStatus> {
  static constexpr std::pair<StreamStatus, std::string_view> kAll[] = {
      {StreamStatus::kEnabling, "ENABLING"},
      {StreamStatus::kEnabled, "ENABLED"},
      {StreamStatus::kDisabling, "DISABLING"},
      {StreamStatus::kDisabled, "DISABLED"}};
};

enum class ShardFilterType : unsigned char { kChildShards };
template <>
struct EnumNames<ShardFilterType> {
  static constexpr std::pair<ShardFilterType, std::string_view> kAll[] = {
      {ShardFilterType::kChildShards, "CHILD_SHARDS"}};
};

// Only the shards that took over from this one: none, because shards are not split here.
struct ShardFilter {
  ShardFilterType type = ShardFilterType::kChildShards;
  std::string shard_id;

  static constexpr std::string_view kTypeName = "ShardFilter";
  static constexpr auto Fields() {
    using S = ShardFilter;
    return FieldList(Field("Type", &S::type, {.required = true}),
                     Field("ShardId", &S::shard_id, kRequiredShardIdRules));
  }
};

struct DescribeStreamRequest {
  std::string stream_arn;
  std::optional<int64_t> limit;
  std::optional<std::string> exclusive_start_shard_id;
  std::optional<ShardFilter> shard_filter;

  static constexpr std::string_view kTypeName = "DescribeStreamInput";
  static constexpr auto Fields() {
    using S = DescribeStreamRequest;
    return FieldList(Field("StreamArn", &S::stream_arn, kRequiredStreamArnRules),
                     Field("Limit", &S::limit, {.value_min = 1, .value_max = 100}),
                     Field("ExclusiveStartShardId", &S::exclusive_start_shard_id, kShardIdRules),
                     Field("ShardFilter", &S::shard_filter));
  }
};

struct SequenceNumberRange {
  std::string starting_sequence_number;
  std::optional<std::string> ending_sequence_number;  // of a shard that is closed

  static constexpr std::string_view kTypeName = "SequenceNumberRange";
  static constexpr auto Fields() {
    using S = SequenceNumberRange;
    return FieldList(Field("StartingSequenceNumber", &S::starting_sequence_number),
                     Field("EndingSequenceNumber", &S::ending_sequence_number));
  }
};

struct Shard {
  std::string shard_id;
  SequenceNumberRange sequence_number_range;
  std::optional<std::string> parent_shard_id;

  static constexpr std::string_view kTypeName = "Shard";
  static constexpr auto Fields() {
    using S = Shard;
    return FieldList(Field("ShardId", &S::shard_id), Field("SequenceNumberRange", &S::sequence_number_range),
                     Field("ParentShardId", &S::parent_shard_id));
  }
};

struct StreamDescription {
  std::string stream_arn;
  std::string stream_label;
  StreamStatus stream_status = StreamStatus::kEnabled;
  StreamViewType stream_view_type = StreamViewType::kKeysOnly;
  Timestamp creation_request_date_time;
  std::string table_name;
  std::vector<KeySchemaElement> key_schema;
  std::vector<Shard> shards;
  std::optional<std::string> last_evaluated_shard_id;

  static constexpr std::string_view kTypeName = "StreamDescription";
  static constexpr auto Fields() {
    using S = StreamDescription;
    return FieldList(Field("StreamArn", &S::stream_arn), Field("StreamLabel", &S::stream_label),
                     Field("StreamStatus", &S::stream_status), Field("StreamViewType", &S::stream_view_type),
                     Field("CreationRequestDateTime", &S::creation_request_date_time),
                     Field("TableName", &S::table_name), Field("KeySchema", &S::key_schema),
                     Field("Shards", &S::shards, {.required = true}),
                     Field("LastEvaluatedShardId", &S::last_evaluated_shard_id));
  }
};

struct DescribeStreamResponse {
  StreamDescription stream_description;

  static constexpr std::string_view kTypeName = "DescribeStreamOutput";
  static constexpr auto Fields() {
    return FieldList(Field("StreamDescription", &DescribeStreamResponse::stream_description));
  }
};

}  // namespace holdfast
