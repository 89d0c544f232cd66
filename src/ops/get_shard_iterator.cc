#include "ops/operations.h"
#include "ops/streams.h"

namespace holdfast::ops {
namespace {

using engine::ChangePosition;

bool NamesRecord(ShardIteratorType type) {
  return type == ShardIteratorType::kAtSequenceNumber || type == ShardIteratorType::kAfterSequenceNumber;
}

Status Validate(const GetShardIteratorRequest& request) {
  bool names_record = NamesRecord(request.shard_iterator_type);
  if (names_record == request.sequence_number.has_value()) return Ok{};
  return ValidationError(std::string("One or more parameter values were invalid: SequenceNumber ") +
                         (names_record ? "must be specified when ShardIteratorType is "
                                       : "must not be specified when ShardIteratorType is ") +
                         std::string(NameOf(request.shard_iterator_type)));
}

// The position before the record `at`.
ChangePosition Before(const ChangePosition& at) {
  if (at.ordinal > 0) return {at.commit_number, at.ordinal - 1};
  return {at.commit_number == 0 ? 0 : at.commit_number - 1, UINT32_MAX};
}

Result<ChangePosition> PositionOf(Context& context, const GetShardIteratorRequest& request,
                                  const StreamRef& ref) {
  HF_TRY(ChangePosition beginning, BeginningOf(context, ref));
  if (request.shard_iterator_type == ShardIteratorType::kTrimHorizon) return beginning;
  if (request.shard_iterator_type == ShardIteratorType::kLatest) {
    // Every write that was answered has this number or a lower one; every later one a higher.
    return ChangePosition{std::min(context.engine->committer().begun_number(), ref.stream.until), UINT32_MAX};
  }
  std::optional<ChangePosition> named = ReadSequenceNumber(*request.sequence_number);
  if (!named) return ValidationError("Invalid SequenceNumber");
  ChangePosition after =
      request.shard_iterator_type == ShardIteratorType::kAtSequenceNumber ? Before(*named) : *named;
  // Past the newest record a reader would pass by what comes; only where the next one begins may be named.
  uint64_t newest = std::max(std::min(context.engine->committer().begun_number(), ref.stream.until),
                             beginning.commit_number + 1);
  if (named->commit_number <= ref.stream.after || named->commit_number > newest) {
    return ValidationError("One or more parameter values were invalid: SequenceNumber " +
                           *request.sequence_number + " is not in the shard");
  }
  if (after.commit_number < beginning.commit_number) {
    return Error(ErrorCode::kTrimmedDataAccess,
                 "The operation attempted to read past the oldest stream record in a shard.");
  }
  return after;
}

}  // namespace

Result<GetShardIteratorResponse> Perform(Context& context, const GetShardIteratorRequest& request) {
  HF_CHECK_OK(Validate(request));
  HF_TRY(StreamRef ref, OpenStream(context, request.stream_arn));
  std::optional<int> shard = ShardOf(ref.stream, request.shard_id);
  if (!shard) {
    return Error(ErrorCode::kResourceNotFound, "Requested resource not found: Shard does not exist");
  }
  HF_TRY(ChangePosition after, PositionOf(context, request, ref));
  int64_t now_millis = context.engine->clock().NowMillis();
  return GetShardIteratorResponse{EncodeIterator({request.stream_arn, *shard, after, now_millis})};
}

}  // namespace holdfast::ops
