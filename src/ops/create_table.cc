#include "ops/describe.h"
#include "ops/encryption.h"
#include "ops/operations.h"
#include "ops/streams.h"
#include "ops/table_schema.h"
#include "ops/throughput_settings.h"

namespace holdfast::ops {

Result<CreateTableResponse> Perform(Context& context, const CreateTableRequest& request) {
  HF_TRY(engine::TableSchema schema, SchemaFrom(request));
  if (request.sse_specification) SetEncryption(context, *request.sse_specification, &schema);
  if (request.stream_specification) {
    HF_CHECK_OK(AddStream(context, *request.stream_specification, &schema));
  }
  HF_CHECK_OK(CheckMaxima(context, schema, {}));
  engine::Engine* engine = context.engine;
  bool delayed = engine->options().transient_status_millis > 0;
  if (delayed) schema.status = TableStatus::kCreating;
  Result<engine::TablePtr> created = engine->CreateTable(std::move(schema));
  if (!created) return created.error();
  context.await_durability = true;

  CreateTableResponse response;
  response.table_description = Describe(context, **created);
  // As AWS answers; the table is ready all the same, and DescribeTable says so.
  response.table_description.table_status = TableStatus::kCreating;
  auto show_creating = [](auto& indexes) {
    if (!indexes) return;
    for (auto& index : *indexes) {
      index.index_status = IndexStatus::kCreating;
      if constexpr (requires { index.skipped_item_count; }) index.skipped_item_count.reset();
    }
  };
  show_creating(response.table_description.global_secondary_indexes);
  show_creating(response.table_description.vector_indexes);
  if (delayed) {
    engine->Settle([engine, table = *created] {
      Status active = engine->ChangeSchema(table, [](engine::TableSchema* edited) -> Status {
        edited->Settle();
        return Ok{};
      });
      if (!active) HF_LOG(engine->log(), kWarning, "table not settled", {"error", active.error().ToString()});
    });
  }
  return response;
}

}  // namespace holdfast::ops
