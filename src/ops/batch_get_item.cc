#include <set>

#include "base/limits.h"
#include "ops/capacity.h"
#include "ops/legacy.h"
#include "ops/operations.h"
#include "ops/projection.h"
#include "ops/single_write.h"
#include "ops/throughput.h"

namespace holdfast::ops {
namespace {

// What is asked of one table, ready to read.
struct TablePlan {
  const std::string* name;  // as the request spells it
  const KeysAndAttributes* asked;
  TableRef ref;
  std::optional<expression::Projection> projection;
  std::vector<std::string> item_keys;
  // Charged, and counted, when nothing can send us back to the beginning.
  double units = 0;
  size_t throttled = 0;
};

// Everything that can be refused without the tables, for all tables, before the first is opened.
Status Validate(const BatchGetItemRequest& request, std::vector<TablePlan>* plans) {
  size_t keys = 0;
  for (const auto& [name, asked] : request.request_items) keys += asked.keys.size();
  if (keys > limits::kBatchGetKeysMax) {
    return ValidationError("Too many items requested for the BatchGetItem call");
  }
  for (const auto& [name, asked] : request.request_items) {
    HF_CHECK_OK(CheckNotMixed({{"AttributesToGet", asked.attributes_to_get.has_value()}},
                              {{"ProjectionExpression", asked.projection_expression.has_value()}}));
    expression::Scope scope = ScopeOf(asked);
    HF_CHECK_OK(scope.CheckUsable(asked.projection_expression.has_value(), false, ""));
    TablePlan plan{&name, &asked, {}, {}, {}};
    if (asked.projection_expression) {
      HF_CHECK_OK(scope.CheckMaps());
      HF_TRY(plan.projection, ParseProjection(asked.projection_expression, &scope));
      HF_CHECK_OK(scope.CheckAllUsed());
    } else {
      HF_TRY(plan.projection, ProjectionFromNames(asked.attributes_to_get));
    }
    // Values are canonical: keys that are equal have equal bytes, whatever the table's schema.
    std::set<std::string_view> distinct;
    for (const Item& key : asked.keys) {
      if (const Error* defect = key.defect()) return *defect;
      if (!distinct.insert(key.flat()).second) {
        return ValidationError("Provided list of item keys contains duplicates");
      }
    }
    plans->push_back(std::move(plan));
  }
  return Ok{};
}

Status OpenTables(Context& context, std::vector<TablePlan>* plans) {
  for (TablePlan& plan : *plans) {
    HF_TRY(plan.ref, OpenForItems(context, *plan.name));
    HF_CHECK_OK(CheckProjectionPaths(*plan.ref.schema, PointerTo(plan.projection)));
    plan.item_keys.reserve(plan.asked->keys.size());
    for (const Item& key : plan.asked->keys) {
      HF_TRY(std::string item_key, KeyFromParameter(*plan.ref.schema, key));
      plan.item_keys.push_back(std::move(item_key));
    }
  }
  return Ok{};
}

}  // namespace

Result<BatchGetItemResponse> Perform(Context& context, const BatchGetItemRequest& request) {
  std::vector<TablePlan> plans;
  HF_CHECK_OK(Validate(request, &plans));
  HF_CHECK_OK(OpenTables(context, &plans));

  BatchGetItemResponse response;
  engine::View view = context.engine->NewView(engine::Engine::Reads::kMany);
  size_t bytes = 0, processed = 0;
  bool full = false;
  for (TablePlan& plan : plans) {
    bool consistent = plan.asked->consistent_read.value_or(false);
    std::vector<Item>& items = response.responses[*plan.name];
    for (size_t i = 0; i < plan.item_keys.size(); ++i) {
      std::string stored;
      size_t size = 0;
      bool found = false;
      bool has_room = HasRoomToRead(context, plan.ref, nullptr, plan.units);
      if (!has_room) ++plan.throttled;
      bool reads = !full && has_room;
      if (reads) {
        HF_TRY(found, context.engine->Get(plan.item_keys[i], view, context.wait, &stored));
        full = found && bytes + engine::DecodeStored(stored).size > limits::kBatchGetBytesMax;
      }
      if (full || !reads) {
        KeysAndAttributes& left = response.unprocessed_keys[*plan.name];
        if (left.keys.empty()) {
          left.consistent_read = plan.asked->consistent_read;
          left.projection_expression = plan.asked->projection_expression;
          left.attributes_to_get = plan.asked->attributes_to_get;
          left.expression_attribute_names = plan.asked->expression_attribute_names;
        }
        left.keys.push_back(plan.asked->keys[i]);
        continue;
      }
      if (found) {
        items.push_back(TakeItem(std::move(stored), PointerTo(plan.projection), &size, &context.work));
        HF_CHECK_OK(context.work.Check());
      }
      bytes += size;
      ++processed;
      plan.units += ReadUnits(size, consistent);
    }
  }
  std::optional<Error> throttled;
  for (const TablePlan& plan : plans) {
    for (size_t i = 0; i < plan.throttled; ++i)
      throttled = Throttle(context, plan.ref, nullptr, Access::kRead);
  }
  if (processed == 0 && throttled) return *throttled;
  for (const TablePlan& plan : plans) {
    TableUsage usage(plan.ref.table.get(), plan.ref.schema, TableUsage::Kind::kRead);
    usage.AddTable(plan.units);
    if (auto report = usage.Report(request.return_consumed_capacity)) {
      if (!response.consumed_capacity) response.consumed_capacity.emplace();
      response.consumed_capacity->push_back(*std::move(report));
    }
  }
  return response;
}

}  // namespace holdfast::ops
