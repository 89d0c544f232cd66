#include <algorithm>

#include "ops/operations.h"
#include "ops/streams.h"

namespace holdfast::ops {

Result<ListStreamsResponse> Perform(Context& context, const ListStreamsRequest& request) {
  const std::string after = request.exclusive_start_stream_arn.value_or("");
  if (!after.empty()) HF_CHECK_OK(CheckStreamArn(after));
  ListStreamsResponse response;
  auto add = [&](const engine::TableSchema& table) {
    if (request.table_name && table.name != *request.table_name) return;
    for (const engine::StreamSchema& stream : table.streams) {
      std::string arn = StreamArn(context, table, stream);
      if (arn > after) response.streams.push_back({std::move(arn), table.name, StreamLabel(stream)});
    }
  };
  for (const engine::TablePtr& table : context.engine->catalog().All()) add(*table->schema());
  for (const engine::SchemaPtr& dropped : context.engine->catalog().Dropped()) add(*dropped);
  // In order of ARN, so that the next page begins in the right place whatever has gone meanwhile.
  std::sort(response.streams.begin(), response.streams.end(),
            [](const Stream& a, const Stream& b) { return a.stream_arn < b.stream_arn; });
  auto limit = static_cast<size_t>(request.limit.value_or(100));
  if (response.streams.size() > limit) {
    response.streams.resize(limit);
    response.last_evaluated_stream_arn = response.streams.back().stream_arn;
  }
  return response;
}

}  // namespace holdfast::ops
