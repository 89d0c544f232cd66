#include <set>

#include "ops/cancellation.h"
#include "ops/capacity.h"
#include "ops/operations.h"
#include "ops/projection.h"
#include "ops/single_write.h"
#include "ops/throughput.h"

namespace holdfast::ops {
namespace {

struct GetPlan {
  TableRef ref;
  std::string item_key;
  std::optional<expression::Projection> projection;
};

Result<std::vector<GetPlan>> Prepare(Context& context, const TransactGetItemsRequest& request) {
  std::vector<GetPlan> plans(request.transact_items.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    const TransactGet& get = request.transact_items[i].get;
    expression::Scope scope = ScopeOf(get);
    HF_CHECK_OK(scope.CheckUsable(get.projection_expression.has_value(), false, ""));
    HF_CHECK_OK(scope.CheckMaps());
    if (const Error* defect = get.key.defect()) return *defect;
    HF_TRY(plans[i].projection, ParseProjection(get.projection_expression, &scope));
    HF_CHECK_OK(scope.CheckAllUsed());
  }
  std::set<std::string_view> distinct;
  for (size_t i = 0; i < plans.size(); ++i) {
    HF_TRY(plans[i].ref, OpenForItems(context, request.transact_items[i].get.table_name));
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    bool empty_value = false;
    Result<std::string> key =
        KeyFromParameter(*plans[i].ref.schema, request.transact_items[i].get.key, &empty_value);
    if (!key) return empty_value ? key.error() : CanceledBy(key.error(), i, plans.size());
    plans[i].item_key = *std::move(key);
    HF_CHECK_OK(CheckProjectionPaths(*plans[i].ref.schema, PointerTo(plans[i].projection)));
    if (!distinct.insert(plans[i].item_key).second) {
      return ValidationError("Transaction request cannot include multiple operations on one item");
    }
  }
  return plans;
}

// Each item costs two units at least, and those before it have theirs.
Status Admit(Context& context, const std::vector<GetPlan>& plans) {
  std::vector<CancellationReason> reasons(plans.size());
  std::map<const engine::Table*, double> planned;
  bool canceled = false;
  for (size_t i = 0; i < plans.size(); ++i) {
    double& units = planned[plans[i].ref.table.get()];
    if (Status admitted = AdmitRead(context, plans[i].ref, nullptr, units); !admitted) {
      reasons[i] = ReasonOf(admitted.error());
      canceled = true;
    }
    units += 2;
  }
  if (canceled) return TransactionCanceled(std::move(reasons));
  return Ok{};
}

}  // namespace

// Reads from one published state: nothing can be half of another transaction.
Result<TransactGetItemsResponse> Perform(Context& context, const TransactGetItemsRequest& request) {
  HF_TRY(std::vector<GetPlan> plans, Prepare(context, request));
  HF_CHECK_OK(Admit(context, plans));
  TransactGetItemsResponse response;
  std::vector<size_t> sizes;
  engine::View view = context.engine->NewView(engine::Engine::Reads::kMany);
  for (const GetPlan& plan : plans) {
    std::string stored;
    size_t size = 0;
    HF_TRY(bool found, context.engine->Get(plan.item_key, view, context.wait, &stored));
    ItemResponse& answer = response.responses.emplace_back();
    if (found) {
      Item item = TakeItem(std::move(stored), PointerTo(plan.projection), &size, &context.work);
      HF_CHECK_OK(context.work.Check());
      if (!item.empty()) answer.item = std::move(item);
    }
    sizes.push_back(size);
  }
  std::map<std::string, TableUsage> usage;
  for (size_t i = 0; i < plans.size(); ++i) {
    auto [table, is_new] = usage.try_emplace(plans[i].ref.schema->name, plans[i].ref.table.get(),
                                             plans[i].ref.schema, TableUsage::Kind::kRead);
    table->second.AddTable(2 * ReadUnits(sizes[i], /*consistent=*/true));
  }
  for (const auto& [name, table] : usage) {
    if (auto report = table.Report(request.return_consumed_capacity, TableUsage::Split::kTransaction)) {
      if (!response.consumed_capacity) response.consumed_capacity.emplace();
      response.consumed_capacity->push_back(*std::move(report));
    }
  }
  return response;
}

}  // namespace holdfast::ops
