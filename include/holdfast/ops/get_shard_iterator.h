// GetShardIterator: where to begin reading a shard. An iterator is good for 15 minutes; GetRecords gives the
// next one.
#pragma once

#include "holdfast/ops/describe_stream.h"

namespace holdfast {

// The oldest record that is kept, what comes from now on, or at or after a record that was seen.
enum class ShardIteratorType : unsigned char {
  kTrimHorizon,
  kLatest,
  kAtSequenceNumber,
  kAfterSequenceNumber
};
template <>
struct EnumNames<ShardIteratorType> {
  static constexpr std::pair<ShardIteratorType, std::string_view> kAll[] = {
      {ShardIteratorType::kTrimHorizon, "TRIM_HORIZON"},
      {ShardIteratorType::kLatest, "LATEST"},
      {ShardIteratorType::kAtSequenceNumber, "AT_SEQUENCE_NUMBER"},
      {ShardIteratorType::kAfterSequenceNumber, "AFTER_SEQUENCE_NUMBER"}};
};

struct GetShardIteratorRequest {
  std::string stream_arn;
  std::string shard_id;
  ShardIteratorType shard_iterator_type = ShardIteratorType::kTrimHorizon;
  std::optional<std::string> sequence_number;

  static constexpr std::string_view kTypeName = "GetShardIteratorInput";
  static constexpr auto Fields() {
    using S = GetShardIteratorRequest;
    return FieldList(Field("StreamArn", &S::stream_arn, kRequiredStreamArnRules),
                     Field("ShardId", &S::shard_id, kRequiredShardIdRules),
                     Field("ShardIteratorType", &S::shard_iterator_type, {.required = true}),
                     Field("SequenceNumber", &S::sequence_number, {.length_min = 21, .length_max = 40}));
  }
};

struct GetShardIteratorResponse {
  std::string shard_iterator;

  static constexpr std::string_view kTypeName = "GetShardIteratorOutput";
  static constexpr auto Fields() {
    return FieldList(Field("ShardIterator", &GetShardIteratorResponse::shard_iterator));
  }
};

}  // namespace holdfast
