#include "engine/catalog/catalog.h"

namespace holdfast::engine {

ActiveSchema::ActiveSchema(SchemaPtr s, const std::map<ObjectId, LiveVectorsPtr>& live)
    : schema(std::move(s)), images(LogLevelOf(*schema)) {
  for (const IndexSchema& index : schema->indexes) {
    if (index.is_vector()) {
      vectors.push_back(live.at(index.id));
      indexes.push_back(std::make_unique<VectorIndexMaintainer>(&index, vectors.back()));
    } else {
      indexes.push_back(std::make_unique<SecondaryIndexMaintainer>(&index));
    }
  }
  if (schema->ttl_enabled()) ttl = std::make_unique<TtlMaintainer>();
}

size_t ActiveSchema::VectorBacklog() const {
  size_t backlog = 0;
  for (const LiveVectorsPtr& live : vectors) backlog += live->backlog();
  return backlog;
}

Table::Table(SchemaPtr schema, size_t vector_graph_min, std::shared_ptr<ItemGuard> item_guard)
    : guard(std::move(item_guard)), vector_graph_min_(vector_graph_min) {
  Activate(std::move(schema), -1);  // its buckets are full whenever they are first looked at
}

std::shared_ptr<const ActiveSchema> Table::active() const {
  base::MutexLock lock(&mu_);
  return active_;
}

void Table::Activate(SchemaPtr schema, int64_t now_millis) {
  std::map<ObjectId, LiveVectorsPtr> live;
  {
    base::MutexLock lock(&mu_);
    for (const IndexSchema& index : schema->indexes) {
      if (!index.is_vector()) continue;
      auto known = live_vectors_.find(index.id);
      LiveVectorsPtr vectors = known != live_vectors_.end()
                                   ? known->second
                                   : std::make_shared<LiveVectors>(index, vector_graph_min_);
      vectors->Configure(index.vector->settings);
      live.emplace(index.id, std::move(vectors));
    }
    live_vectors_ = live;
    has_vectors = !live.empty();
  }
  auto next = std::make_shared<ActiveSchema>(std::move(schema), live);
  for (const IndexSchema& index : next->schema->indexes) {
    next->index_tallies.push_back(IndexTally(index.id));
    next->index_consumption.push_back(IndexConsumption(index.id));
  }
  SetLimits(*next, now_millis);
  base::MutexLock lock(&mu_);
  for (const IndexSchema& index : next->schema->indexes) index_names_.emplace(index.id, index.name);
  active_ = std::move(next);
}

void Table::SetLimits(const ActiveSchema& active, int64_t now_millis) {
  const TableSchema& schema = *active.schema;
  bool provisioned = schema.billing == BillingMode::kProvisioned;
  bool any = false;
  auto set = [&](const std::optional<ProvisionedThroughput>& units, const OnDemandThroughput& maxima,
                 Consumption* consumption) {
    ProvisionedThroughput rates = provisioned
                                      ? units.value_or(ProvisionedThroughput{})
                                      : ProvisionedThroughput{maxima.max_read_request_units.value_or(0),
                                                              maxima.max_write_request_units.value_or(0)};
    consumption->reads.SetRate(rates.read_capacity_units, now_millis);
    consumption->writes.SetRate(rates.write_capacity_units, now_millis);
    any = any || rates != ProvisionedThroughput{};
  };
  set(schema.throughput, schema.on_demand, &consumption);
  for (size_t i = 0; i < schema.indexes.size(); ++i) {
    const IndexSchema& index = schema.indexes[i];
    if (index.is_global()) set(index.throughput, index.on_demand, active.index_consumption[i]);
  }
  limited = any;
}

Tally* Table::IndexTally(ObjectId index) {
  base::MutexLock lock(&mu_);
  auto& tally = index_tallies_[index];
  if (tally == nullptr) tally = std::make_unique<Tally>();
  return tally.get();
}

Consumption* Table::IndexConsumption(ObjectId index) {
  base::MutexLock lock(&mu_);
  auto& consumption = index_consumption_[index];
  if (consumption == nullptr) consumption = std::make_unique<Consumption>();
  return consumption.get();
}

UsedByName Table::Usage() const {
  auto used = [](const Consumption& of) {
    return Used{static_cast<double>(of.read_halves) / 2, static_cast<double>(of.write_halves) / 2,
                static_cast<double>(of.throttled_reads + of.throttled_writes)};
  };
  base::MutexLock lock(&mu_);
  const std::string& name = active_->schema->name;
  UsedByName usage{{name, used(consumption)}};
  for (const auto& [id, index_name] : index_names_)
    usage[name + "/" + index_name].Add(used(*index_consumption_.at(id)));
  return usage;
}

void Table::RefillBuckets() {
  auto refill = [](Consumption* of) {
    of->reads.Refill();
    of->writes.Refill();
  };
  refill(&consumption);
  base::MutexLock lock(&mu_);
  for (const auto& [id, of_index] : index_consumption_) refill(of_index.get());
}

LiveVectorsPtr Table::LiveIndex(ObjectId index) const {
  base::MutexLock lock(&mu_);
  auto found = live_vectors_.find(index);
  return found == live_vectors_.end() ? nullptr : found->second;
}

TablePtr Catalog::Find(std::string_view name) const {
  base::ReaderLock lock(&mu_);
  auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

std::vector<TablePtr> Catalog::All() const {
  base::ReaderLock lock(&mu_);
  std::vector<TablePtr> all;
  for (const auto& [name, table] : tables_) all.push_back(table);
  return all;
}

std::vector<std::string> Catalog::Names(const std::string& after, size_t limit) const {
  base::ReaderLock lock(&mu_);
  std::vector<std::string> names;
  for (auto at = tables_.upper_bound(after); at != tables_.end() && names.size() < limit; ++at) {
    names.push_back(at->first);
  }
  return names;
}

size_t Catalog::size() const {
  base::ReaderLock lock(&mu_);
  return tables_.size();
}

bool Catalog::Add(TablePtr table) {
  base::WriterLock lock(&mu_);
  std::string name = table->schema()->name;
  return tables_.emplace(std::move(name), std::move(table)).second;
}

void Catalog::Remove(const std::string& name) {
  constexpr size_t kNamesMax = 10'000;
  base::WriterLock lock(&mu_);
  auto table = tables_.find(name);
  if (table == tables_.end()) return;
  for (const auto& [of, used] : table->second->Usage()) {
    if (used_before_.size() < kNamesMax || used_before_.contains(of)) used_before_[of].Add(used);
  }
  tables_.erase(table);
}

UsedByName Catalog::Usage() const {
  base::ReaderLock lock(&mu_);
  UsedByName usage = used_before_;
  for (const auto& [name, table] : tables_) {
    for (const auto& [of, used] : table->Usage()) usage[of].Add(used);
  }
  return usage;
}

std::vector<SchemaPtr> Catalog::Dropped() const {
  base::ReaderLock lock(&mu_);
  std::vector<SchemaPtr> all;
  for (const auto& [id, schema] : dropped_) all.push_back(schema);
  return all;
}

void Catalog::AddDropped(SchemaPtr schema) {
  base::WriterLock lock(&mu_);
  ObjectId id = schema->id;
  dropped_.emplace(id, std::move(schema));
}

void Catalog::RemoveDropped(ObjectId id) {
  base::WriterLock lock(&mu_);
  dropped_.erase(id);
}

}  // namespace holdfast::engine
