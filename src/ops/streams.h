// Streams by the names that clients know: ARNs, shard ids, sequence numbers and iterators.
//
//   ARN              arn:aws:dynamodb:us-east-1:123456789012:table/Music/stream/2026-10-08T23:07:31.275
//   shard id         shardId-00000001791500851275-00000002     when the stream was created, and which
//                    quarter of the partition hashes
//   sequence number  1 ‖ commit number, 20 digits ‖ ordinal, 10 digits
//   iterator         the ARN ‖ |1| ‖ Base64 of where to go on and since when it is good
#pragma once

#include <optional>
#include <string>

#include "engine/catalog/schema.h"
#include "engine/change/change_log.h"
#include "ops/context.h"

namespace holdfast::ops {

std::string StreamLabel(const engine::StreamSchema& stream);
std::string StreamArn(Context& context, const engine::TableSchema& table, const engine::StreamSchema& stream);

// A stream of a table that is there, or that was deleted less than a day ago.
struct StreamRef {
  engine::SchemaPtr table;
  engine::StreamSchema stream;
};
// ValidationException when it is no ARN of a stream, ResourceNotFoundException when there is no such stream.
Result<StreamRef> OpenStream(Context& context, const std::string& arn);
// ValidationException unless it is the ARN of a stream, be it there or not.
Status CheckStreamArn(const std::string& arn);

// A new stream of the table, as a change of its schema; or the end of the one that is enabled. Worded as by
// CreateTable and UpdateTable.
Status AddStream(Context& context, const StreamSpecification& wanted, engine::TableSchema* table);
Status ChangeStream(Context& context, const StreamSpecification& wanted, engine::TableSchema* table);

std::string ShardId(const engine::StreamSchema& stream, int shard);
// Nothing when the stream has no such shard.
std::optional<int> ShardOf(const engine::StreamSchema& stream, const std::string& shard_id);

std::string SequenceNumber(const engine::ChangePosition& position);
std::optional<engine::ChangePosition> ReadSequenceNumber(const std::string& text);

// After which record the stream begins: its first one that is still kept is the next.
Result<engine::ChangePosition> BeginningOf(Context& context, const StreamRef& ref);

struct ShardIterator {
  std::string stream_arn;
  int shard = 0;
  engine::ChangePosition after;
  int64_t issued_millis = 0;
};
std::string EncodeIterator(const ShardIterator& iterator);
// ValidationException when it is none.
Result<ShardIterator> DecodeIterator(const std::string& text);

}  // namespace holdfast::ops
