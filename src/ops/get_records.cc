#include <cinttypes>
#include <cstdio>

#include "base/limits.h"
#include "ops/operations.h"
#include "ops/streams.h"

namespace holdfast::ops {
namespace {

using Record = GetRecordsResponse::Record;

using engine::ChangePosition;
using engine::ChangeRecord;

OperationType NameOfKind(ChangeRecord::Kind kind) {
  switch (kind) {
    case ChangeRecord::Kind::kInsert: return OperationType::kInsert;
    case ChangeRecord::Kind::kRemove: return OperationType::kRemove;
    default: return OperationType::kModify;
  }
}

std::string EventId(const engine::TableSchema& table, const ChangeRecord& change) {
  char text[40];
  std::snprintf(text, sizeof text, "%08" PRIx32 "%016" PRIx64 "%08" PRIx32, table.id, change.commit_number,
                change.ordinal);
  return text;
}

int64_t SizeOf(const Item& item) {
  return static_cast<int64_t>(value::ItemSize(value::MapView(item)));
}

// What the stream's view type shows of a change. The log may hold more, for others who follow the table.
Record ToRecord(const StreamRef& ref, const std::string& region, ChangeRecord change) {
  Record record{.event_id = EventId(*ref.table, change),
                .event_name = NameOfKind(change.kind),
                .event_version = "1.1",
                .event_source = "aws:dynamodb",
                .aws_region = region};
  StreamRecord& shown = record.dynamodb;
  StreamViewType view = ref.stream.view_type;
  const Item& any = change.now ? *change.now : *change.old;
  shown.approximate_creation_date_time = Timestamp{change.time_millis / 1000 * 1000};
  shown.keys = Item::FromFlat(KeyAttributes(*ref.table, value::MapView(any)));
  shown.sequence_number = SequenceNumber({change.commit_number, change.ordinal});
  shown.size_bytes = SizeOf(shown.keys);
  shown.stream_view_type = view;
  if (view == StreamViewType::kNewImage || view == StreamViewType::kNewAndOldImages)
    shown.new_image = std::move(change.now);
  if (view == StreamViewType::kOldImage || view == StreamViewType::kNewAndOldImages)
    shown.old_image = std::move(change.old);
  if (shown.new_image) shown.size_bytes += SizeOf(*shown.new_image);
  if (shown.old_image) shown.size_bytes += SizeOf(*shown.old_image);
  if (change.by_ttl) record.user_identity = Identity{"dynamodb.amazonaws.com", "Service"};
  return record;
}

}  // namespace

Result<GetRecordsResponse> Perform(Context& context, const GetRecordsRequest& request) {
  engine::Engine* engine = context.engine;
  HF_TRY(ShardIterator iterator, DecodeIterator(request.shard_iterator));
  HF_TRY(StreamRef ref, OpenStream(context, iterator.stream_arn));
  int64_t now_millis = engine->clock().NowMillis();
  if (now_millis - iterator.issued_millis > limits::kShardIteratorMillisMax) {
    return Error(ErrorCode::kExpiredIterator,
                 "The shard iterator has expired and can no longer be used to retrieve stream records.");
  }
  auto limit = static_cast<size_t>(request.limit.value_or(limits::kStreamRecordsMax));
  GetRecordsResponse response;
  int64_t bytes = 0;
  iterator.after = std::max(iterator.after, ChangePosition{ref.stream.after, UINT32_MAX});
  ChangePosition next = iterator.after;
  bool is_full = false;
  HF_TRY(ChangePosition end, engine->change_log().Visit(
                                 ref.table->id,
                                 {.after = iterator.after,
                                  .up_to = ref.stream.until,
                                  .shard = iterator.shard,
                                  .passed_bytes_max = limits::kStreamBytesPassedMax},
                                 [&](ChangeRecord change) {
                                   ChangePosition at{change.commit_number, change.ordinal};
                                   Record record = ToRecord(ref, engine->options().region, std::move(change));
                                   bytes += record.dynamodb.size_bytes;
                                   is_full = !response.records.empty() &&
                                             bytes > static_cast<int64_t>(limits::kPageBytesMax);
                                   if (is_full) return false;
                                   response.records.push_back(std::move(record));
                                   next = at;
                                   is_full = response.records.size() == limit;
                                   return !is_full;
                                 }));
  // Looked at last: what was trimmed meanwhile may be missing among the records.
  HF_TRY(uint64_t trimmed, engine->change_log().TrimmedUpTo(ref.table->id));
  if (iterator.after.commit_number < trimmed) {
    return Error(ErrorCode::kTrimmedDataAccess,
                 "The operation attempted to read past the oldest stream record in a shard.");
  }
  if (!is_full) next = end;
  bool at_end = !ref.stream.enabled() && next >= ChangePosition{ref.stream.until, UINT32_MAX};
  if (!at_end)
    response.next_shard_iterator = EncodeIterator({iterator.stream_arn, iterator.shard, next, now_millis});
  return response;
}

}  // namespace holdfast::ops
