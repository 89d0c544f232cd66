// Tables: made as the model says, or compared with it.

#include <algorithm>

#include "model/idempotency.h"
#include "model/live_table.h"
#include "model/runtime.h"
#include "model/table_requests.h"

namespace holdfast::model {
namespace {

// What a live table lacks or has otherwise. Indexes that only the live table has are no drift: others may
// need them.
struct Difference {
  std::vector<std::string> lines;  // what apply cannot mend
  std::vector<const Index*> missing_indexes;
  std::vector<const VectorIndex*> missing_vectors;
  bool ttl_missing = false;

  bool none() const {
    return lines.empty() && missing_indexes.empty() && missing_vectors.empty() && !ttl_missing;
  }
};

Difference Diff(const Table& table, const TableDescription& live, const DescribeTimeToLiveResponse* ttl) {
  Difference difference;
  std::vector<AttributeDefinition> definitions =
      live.attribute_definitions.value_or(std::vector<AttributeDefinition>());
  auto compare = [&](const std::string& what, const std::string& want, const std::string& have) {
    if (want != have) difference.lines.push_back(what + " should be " + want + " and is " + have);
  };
  compare("the key", KeysText(HashOf(table), RangeOf(table)),
          SchemaText(live.key_schema.value_or(std::vector<KeySchemaElement>()), definitions));
  auto live_indexes = live.global_secondary_indexes.value_or(std::vector<GlobalSecondaryIndexDescription>());
  for (const Index& index : table.indexes) {
    auto at = std::find_if(live_indexes.begin(), live_indexes.end(),
                           [&](const auto& other) { return other.index_name == index.name; });
    if (at == live_indexes.end()) {
      difference.missing_indexes.push_back(&index);
      continue;
    }
    compare("the key of the index " + index.name, KeysText(index.hash, index.range),
            SchemaText(at->key_schema, definitions));
    if (at->projection.projection_type)
      compare("the projection of the index " + index.name, index.projection,
              std::string(NameOf(*at->projection.projection_type)));
  }
  auto live_vectors = live.vector_indexes.value_or(std::vector<VectorIndexDescription>());
  for (const VectorIndex& index : table.vector_indexes) {
    auto at = std::find_if(live_vectors.begin(), live_vectors.end(),
                           [&](const auto& other) { return other.index_name == index.name; });
    if (at == live_vectors.end()) {
      difference.missing_vectors.push_back(&index);
      continue;
    }
    compare("the dimensions of " + index.name, std::to_string(index.dimensions),
            std::to_string(at->dimensions));
    compare("the attribute of " + index.name, index.attribute, at->vector_attribute.attribute_name);
  }
  if (!table.ttl.empty() && ttl != nullptr) {
    const auto& description = ttl->time_to_live_description;
    std::string have = description.attribute_name.value_or("");
    difference.ttl_missing = have.empty();
    if (!have.empty()) compare("the TTL attribute", table.ttl, have);
  }
  return difference;
}

std::vector<std::string> Lines(const Difference& difference, const Table& table) {
  std::vector<std::string> lines = difference.lines;
  for (const Index* index : difference.missing_indexes)
    lines.push_back("the index " + index->name + " is missing");
  for (const VectorIndex* index : difference.missing_vectors)
    lines.push_back("the vector index " + index->name + " is missing");
  if (difference.ttl_missing) lines.push_back("TTL by " + table.ttl + " is off");
  return lines;
}

}  // namespace

// --- one table on one store ---

class Applying {
 public:
  Applying(Store* store, const Table& table) : store_(*store), table_(table) {}

  Result<TableReport> Compare() {
    TableReport report{table_.name, "as it should be", {}};
    HF_TRY(std::optional<TableDescription> live, DescribeLive(&store_, table_.name));
    if (!live) {
      report.status = "missing";
      return report;
    }
    HF_TRY(Difference difference, DifferenceFrom(*live));
    if (!difference.none()) {
      report.status = "drifted";
      report.details = Lines(difference, table_);
    }
    return report;
  }

  Result<TableReport> Apply() {
    TableReport report{table_.name, "as it should be", {}};
    HF_TRY(std::optional<TableDescription> live, DescribeLive(&store_, table_.name));
    if (!live) {
      HF_CHECK_OK(Done(store_.Run(CreateRequest(table_))));
      report.status = "created";
      HF_TRY(live, WaitUntilReady(&store_, table_.name));
    }
    HF_TRY(Difference difference, DifferenceFrom(*live));
    if (!difference.lines.empty()) {
      report.status = "drifted";
      report.details = Lines(difference, table_);
      return report;
    }
    // A table changes one index at a time.
    for (const Index* index : difference.missing_indexes) HF_CHECK_OK(AddIndex(*index, &report));
    for (const VectorIndex* index : difference.missing_vectors) HF_CHECK_OK(AddVectorIndex(*index, &report));
    if (difference.ttl_missing && store_.abilities().time_to_live) {
      UpdateTimeToLiveRequest request;
      request.table_name = table_.name;
      request.time_to_live_specification.attribute_name = table_.ttl;
      request.time_to_live_specification.enabled = true;
      HF_CHECK_OK(Done(store_.Run(request)));
      if (report.status != "created") Note("TTL by " + table_.ttl, &report);
    }
    return report;
  }

 private:
  template <class T>
  static Status Done(Result<T> result) {
    if (!result) return FromStore(result.error());
    return Ok{};
  }
  static void Note(std::string what, TableReport* report) {
    report->status = "updated";
    report->details.push_back("added " + std::move(what));
  }

  Result<Difference> DifferenceFrom(const TableDescription& live) {
    if (table_.ttl.empty() || !store_.abilities().time_to_live) return Diff(table_, live, nullptr);
    DescribeTimeToLiveRequest request;
    request.table_name = table_.name;
    auto ttl = store_.Run(request);
    if (!ttl) return FromStore(ttl.error());
    return Diff(table_, live, &*ttl);
  }

  Status AddIndex(const Index& index, TableReport* report) {
    UpdateTableRequest request;
    request.table_name = table_.name;
    Definitions definitions;
    definitions.Add(table_.key);
    definitions.Add(index.hash);
    definitions.Add(index.range);
    request.attribute_definitions = std::move(definitions.list);
    GlobalSecondaryIndexUpdate update;
    update.create.emplace();
    static_cast<GlobalSecondaryIndex&>(*update.create) = IndexRequest(index);
    request.global_secondary_index_updates.emplace().push_back(std::move(update));
    HF_CHECK_OK(Done(store_.Run(request)));
    Note("the index " + index.name, report);
    return Done(WaitUntilReady(&store_, table_.name));
  }

  Status AddVectorIndex(const VectorIndex& index, TableReport* report) {
    UpdateTableRequest request;
    request.table_name = table_.name;
    Definitions definitions;
    definitions.Add(table_.key);
    definitions.Add(index.filters);
    request.attribute_definitions = std::move(definitions.list);
    VectorIndexUpdate update;
    update.create.emplace();
    static_cast<holdfast::VectorIndex&>(*update.create) = VectorIndexRequest(index);
    request.vector_index_updates.emplace().push_back(std::move(update));
    HF_CHECK_OK(Done(store_.Run(request)));
    Note("the vector index " + index.name, report);
    return Done(WaitUntilReady(&store_, table_.name));
  }

  Store& store_;
  const Table& table_;
};

Status Runtime::CheckAbilities() const {
  StoreAbilities able = store_->abilities();
  auto refuse = [&](const std::string& what) {
    return Refuse("Unavailable",
                  store_->name() + " has no " + what + ", which the model " + model_->name + " needs");
  };
  for (const auto& table : model_->tables) {
    if (!table->vector_indexes.empty() && !able.vector_search) return refuse("vector search");
    for (const Index& index : table->indexes) {
      if ((index.hash.size() > 1 || index.range.size() > 1) && !able.multi_attribute_keys)
        return refuse("index keys of several attributes");
    }
  }
  bool transacts =
      !model_->commands.empty() || std::any_of(model_->entities.begin(), model_->entities.end(),
                                               [](const auto& entity) { return !entity->parents.empty(); });
  if (transacts && !able.transactions) return refuse("transactions");
  return Ok{};
}

// Those of the model, and the one that its commands keep their idempotency keys in.
std::vector<const Table*> Runtime::Tables() const {
  std::vector<const Table*> tables;
  for (const auto& table : model_->tables) tables.push_back(table.get());
  if (!model_->commands.empty()) tables.push_back(&IdempotencyTable());
  return tables;
}

Result<std::vector<TableReport>> Runtime::Compare() {
  std::vector<TableReport> reports;
  for (const Table* table : Tables()) {
    HF_TRY(TableReport report, Applying(store_, *table).Compare());
    reports.push_back(std::move(report));
  }
  return reports;
}

Result<std::vector<TableReport>> Runtime::Apply() {
  std::vector<TableReport> reports;
  for (const Table* table : Tables()) {
    HF_TRY(TableReport report, Applying(store_, *table).Apply());
    reports.push_back(std::move(report));
  }
  return reports;
}

Result<size_t> Runtime::WriteDefaults() {
  size_t count = 0;
  for (const auto& entity : model_->entities) {
    for (const AttributeMap& fields : entity->defaults) {
      auto made = Create(Caller::Administrator(), entity->name, Item(fields), Origin::kCaller);
      if (!made && RefusalName(made.error()) != "AlreadyExists") return made.error();
      count += made ? 1 : 0;
    }
  }
  return count;
}

}  // namespace holdfast::model
