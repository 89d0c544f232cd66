#include "ops/operations.h"
#include "ops/streams.h"

namespace holdfast::ops {
namespace {

std::vector<Shard> ShardsOf(const engine::StreamSchema& stream, const engine::ChangePosition& beginning) {
  std::vector<Shard> shards;
  for (int number = 0; number < engine::ChangeLog::kShards; ++number) {
    Shard shard{.shard_id = ShardId(stream, number)};
    shard.sequence_number_range.starting_sequence_number = SequenceNumber({beginning.commit_number + 1, 0});
    if (!stream.enabled()) {
      shard.sequence_number_range.ending_sequence_number =
          SequenceNumber({std::max(stream.until, beginning.commit_number + 1), UINT32_MAX});
    }
    shards.push_back(std::move(shard));
  }
  return shards;
}

}  // namespace

Result<DescribeStreamResponse> Perform(Context& context, const DescribeStreamRequest& request) {
  HF_TRY(StreamRef ref, OpenStream(context, request.stream_arn));
  const engine::TableSchema& table = *ref.table;
  HF_TRY(engine::ChangePosition beginning, BeginningOf(context, ref));
  DescribeStreamResponse response;
  StreamDescription& description = response.stream_description;
  description.stream_arn = request.stream_arn;
  description.stream_label = StreamLabel(ref.stream);
  description.stream_status = ref.stream.enabled() ? StreamStatus::kEnabled : StreamStatus::kDisabled;
  description.stream_view_type = ref.stream.view_type;
  description.creation_request_date_time = Timestamp{ref.stream.created_millis};
  description.table_name = table.name;
  description.key_schema.push_back({table.partition.name, KeyType::kHash});
  if (table.sort) description.key_schema.push_back({table.sort->name, KeyType::kRange});
  if (request.shard_filter) {
    if (ShardOf(ref.stream, request.shard_filter->shard_id)) return response;
    return Error(ErrorCode::kResourceNotFound,
                 "Requested resource not found: Shard: " + request.shard_filter->shard_id + " not found");
  }
  auto limit = static_cast<size_t>(request.limit.value_or(100));
  for (Shard& shard : ShardsOf(ref.stream, beginning)) {
    if (request.exclusive_start_shard_id && shard.shard_id <= *request.exclusive_start_shard_id) continue;
    if (description.shards.size() == limit) {
      description.last_evaluated_shard_id = description.shards.back().shard_id;
      break;
    }
    description.shards.push_back(std::move(shard));
  }
  return response;
}

}  // namespace holdfast::ops
