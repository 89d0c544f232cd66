// A TableWatch by way of DynamoDB Streams: for tables of a store elsewhere that have one with both images.
//
// A stream is read shard by shard. Shards end and others take over from them: one is begun only when those it
// comes from were read to their end, so that the changes of an item stay in order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "holdfast/store.h"

namespace holdfast::store {

// The operations it needs; each waits for its answer.
struct StreamCalls {
  std::function<Result<DescribeTableResponse>(const DescribeTableRequest&)> describe_table;
  std::function<Result<DescribeStreamResponse>(const DescribeStreamRequest&)> describe_stream;
  std::function<Result<GetShardIteratorResponse>(const GetShardIteratorRequest&)> get_shard_iterator;
  std::function<Result<GetRecordsResponse>(const GetRecordsRequest&)> get_records;
};

// As Store::Watch. kNotSupported, saying what to do, when the table has no such stream. `where` is the
// store's name, for messages. The clock must outlive the watch.
Result<std::unique_ptr<TableWatch>> OpenStreamWatch(StreamCalls calls, const std::string& where,
                                                    const base::Clock* clock, const std::string& table,
                                                    const std::optional<std::string>& from);

}  // namespace holdfast::store
