#include "ops/capacity.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "value/key_codec.h"

namespace holdfast::ops {

double ReadUnits(size_t bytes, bool consistent) {
  size_t units = std::max<size_t>(1, (bytes + limits::kReadUnitBytes - 1) / limits::kReadUnitBytes);
  return static_cast<double>(units) * (consistent ? 1 : 0.5);
}

double WriteUnits(size_t old_bytes, size_t new_bytes) {
  return engine::WriteUnits(std::max(old_bytes, new_bytes));
}

void TableUsage::Count(double units, engine::Consumption* consumption) const {
  bool reads = kind_ == Kind::kRead;
  auto& counter = reads ? consumption->read_halves : consumption->write_halves;
  counter.fetch_add(static_cast<uint64_t>(units * 2), std::memory_order_relaxed);
}

void TableUsage::Charge(double units, engine::Consumption* consumption) const {
  (kind_ == Kind::kRead ? consumption->reads : consumption->writes).Charge(units);
}

void TableUsage::AddTable(double units) {
  table_units_ += units;
  Count(units, &table_->consumption);
  Charge(units, &table_->consumption);
}

void TableUsage::AddIndex(const engine::IndexSchema& index, double units) {
  if (index.is_vector()) {
    vector_bytes_[index.name] += units;
    return;
  }
  (index.is_global() ? global_ : local_)[index.name] += units;
  engine::Consumption* consumption = table_->IndexConsumption(index.id);
  Count(units, consumption);
  Charge(units, index.is_global() ? consumption : &table_->consumption);
}

void TableUsage::AddWrite(const engine::WriteOutcome& outcome, double table_factor) {
  AddTable(table_factor * WriteUnits(outcome.old_billed, outcome.now_billed));
  for (size_t i = 0; i < outcome.index_units.size(); ++i) {
    if (outcome.index_units[i] >= 0) AddIndex(outcome.schema->indexes[i], outcome.index_units[i]);
  }
}

double TableUsage::total() const {
  double sum = table_units_;
  for (const auto& [name, units] : local_) sum += units;
  for (const auto& [name, units] : global_) sum += units;
  return sum;
}

Capacity TableUsage::MakeCapacity(double units, Split split) const {
  Capacity capacity;
  capacity.capacity_units = units;
  if (split == Split::kTransaction) {
    (kind_ == Kind::kRead ? capacity.read_capacity_units : capacity.write_capacity_units) = units;
  }
  return capacity;
}

std::optional<ConsumedCapacity> TableUsage::Report(std::optional<ReturnConsumedCapacity> asked,
                                                   Split split) const {
  if (!asked || *asked == ReturnConsumedCapacity::kNone) return std::nullopt;
  ConsumedCapacity report;
  report.table_name = schema_->name;
  Capacity whole = MakeCapacity(total(), split);
  report.capacity_units = *whole.capacity_units;
  report.read_capacity_units = whole.read_capacity_units;
  report.write_capacity_units = whole.write_capacity_units;
  if (*asked != ReturnConsumedCapacity::kIndexes) return report;
  report.table = MakeCapacity(table_units_, split);
  auto add = [&](const std::map<std::string, double>& units,
                 std::optional<std::map<std::string, Capacity>>* out) {
    if (units.empty()) return;
    out->emplace();
    for (const auto& [name, value] : units) (*out)->emplace(name, MakeCapacity(value, split));
  };
  add(local_, &report.local_secondary_indexes);
  add(global_, &report.global_secondary_indexes);
  for (const auto& [name, bytes] : vector_bytes_) {
    if (!report.vector_indexes) report.vector_indexes.emplace();
    (*report.vector_indexes)[name].vector_write_request_bytes = bytes;
  }
  return report;
}

namespace {

bool WantsCollectionMetrics(std::optional<ReturnItemCollectionMetrics> asked,
                            const engine::TableSchema& schema) {
  return asked == ReturnItemCollectionMetrics::kSize && schema.has_local_indexes();
}

}  // namespace

Status CheckCollectionMetrics(const Context& context, std::optional<ReturnItemCollectionMetrics> asked,
                              const engine::TableSchema& schema) {
  if (context.wait == storage::Wait::kMayBlock || !WantsCollectionMetrics(asked, schema)) return Ok{};
  return Error(ErrorCode::kWouldBlock, "the size of an item collection is read from the disk");
}

std::optional<ItemCollectionMetrics> CollectionMetrics(const Context& context,
                                                       std::optional<ReturnItemCollectionMetrics> asked,
                                                       const engine::TableSchema& schema,
                                                       const Item& key_or_item) {
  if (!WantsCollectionMetrics(asked, schema)) return std::nullopt;
  HF_ASSERT(context.wait == storage::Wait::kMayBlock);
  const engine::Engine* engine = context.engine;
  auto partition = value::MapView(key_or_item).Find(schema.partition.name);
  HF_ASSERT(partition.has_value());
  auto prefix_range = [](std::string prefix) {
    std::string upper = value::PrefixSuccessor(prefix);
    return storage::Range{std::move(prefix), std::move(upper)};
  };
  uint64_t bytes = engine->kv().ApproximateSize(
      storage::Space::kItems, prefix_range(engine::ItemKey(schema, partition->payload(), std::nullopt)));
  for (const engine::IndexSchema& index : schema.indexes) {
    if (index.kind != engine::IndexSchema::Kind::kLocal) continue;
    bytes += engine->kv().ApproximateSize(
        storage::Space::kIndexes, prefix_range(engine::IndexPartitionPrefix(index, {partition->payload()})));
  }
  ItemCollectionMetrics metrics;
  metrics.item_collection_key.Set(schema.partition.name, ToAttributeValue(*partition));
  auto gigabytes = static_cast<double>(bytes >> 30);
  metrics.size_estimate_range_gb = {gigabytes, gigabytes + 1};
  return metrics;
}

}  // namespace holdfast::ops
