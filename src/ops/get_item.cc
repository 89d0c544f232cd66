#include "expression/projection.h"
#include "ops/capacity.h"
#include "ops/legacy.h"
#include "ops/operations.h"
#include "ops/projection.h"
#include "ops/single_write.h"
#include "ops/throughput.h"

namespace holdfast::ops {

Result<GetItemResponse> Perform(Context& context, const GetItemRequest& request) {
  HF_CHECK_OK(CheckNotMixed({{"AttributesToGet", request.attributes_to_get.has_value()}},
                            {{"ProjectionExpression", request.projection_expression.has_value()}}));
  expression::Scope scope = ScopeOf(request);
  HF_CHECK_OK(scope.CheckUsable(request.projection_expression.has_value(), false, ""));
  if (const Error* defect = request.key.defect()) return *defect;
  HF_CHECK_OK(scope.CheckMaps());
  HF_TRY(auto projection, ParseProjection(request.projection_expression, &scope));
  if (!projection) {
    HF_TRY(projection, ProjectionFromNames(request.attributes_to_get));
  }
  HF_CHECK_OK(scope.CheckAllUsed());
  HF_TRY(TableRef ref, OpenForItems(context, request.table_name));
  HF_TRY(std::string item_key, KeyFromParameter(*ref.schema, request.key));
  HF_CHECK_OK(CheckProjectionPaths(*ref.schema, PointerTo(projection)));
  HF_CHECK_OK(AdmitRead(context, ref));

  engine::View view = context.engine->NewView(engine::Engine::Reads::kOne);
  std::string stored;
  HF_TRY(bool found, context.engine->Get(item_key, view, context.wait, &stored));

  GetItemResponse response;
  size_t size = 0;
  if (found) response.item = TakeItem(std::move(stored), PointerTo(projection), &size, &context.work);
  TableUsage usage(ref.table.get(), ref.schema, TableUsage::Kind::kRead);
  usage.AddTable(ReadUnits(size, request.consistent_read.value_or(false)));
  response.consumed_capacity = usage.Report(request.return_consumed_capacity);
  return response;
}

}  // namespace holdfast::ops
