#include "engine/index/vector_search.h"

#include <algorithm>

#include "engine/engine.h"
#include "engine/index/live_vectors.h"

namespace holdfast::engine {
namespace {

// Times a search is done again because its view and the vectors do not go together: an item that it found was
// changed in a commit that was under way when the view was taken and that it has all the same, or vectors
// that it should have seen were forgotten since. Rare, and rarer each time.
constexpr int kAttempts = 4;

// Whether what the index stores of an item is what was asked for.
bool Passes(const IndexSchema& index, const VectorQuery& query, value::MapView entry) {
  auto has = [&](const KeyAttribute& attribute, const std::string& wanted) {
    auto value = entry.Find(attribute.name);
    return value && value->bytes() == wanted;
  };
  return (index.partition.empty() || has(index.partition[0], query.partition)) &&
         std::all_of(query.filters.begin(), query.filters.end(), [&](const VectorQuery::Filter& filter) {
           return has(index.vector->filters[filter.position], filter.value);
         });
}

Error GoneError(const Table& table, const IndexSchema& index) {
  if (table.dropped) return Error(ErrorCode::kResourceNotFound, "Requested resource not found");
  return Error(ErrorCode::kValidation, "The table does not have the specified index: " + index.name);
}

}  // namespace

Result<std::vector<VectorHit>> Engine::SearchVectors(const TablePtr& table, const IndexSchema& index,
                                                     const VectorQuery& query) {
  LiveVectorsPtr live = table->LiveIndex(index.id);
  if (live == nullptr) return GoneError(*table, index);
  if (!live->ready()) {
    return Error(ErrorCode::kThrottling, "The vector index " + index.name +
                                             " is being loaded since the start of the server; try again");
  }
  if (live->incomplete()) {
    return Error(ErrorCode::kIo, "there was no memory for all vectors of " + index.name);
  }
  std::vector<VectorHit> hits;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    View view = NewView(Reads::kMany);
    std::vector<LiveVectors::Found> all =
        live->Search(query, {view.commits().newest, view.commits().in_flight});
    bool forgotten = live->index().forgotten() > view.commits().number;
    hits.clear();
    for (LiveVectors::Found& found : all) {
      std::string key, stored;
      base::AppendBigEndian(&key, index.id, 4);
      key += found.item_key;
      HF_TRY(bool there,
             kv_->Get(storage::Space::kIndexes, key, view.snapshot(), storage::Wait::kMayBlock, &stored));
      if (!there || !Passes(index, query, DecodeStored(stored).view())) continue;
      stored.erase(0, stored.size() - DecodeStored(stored).flat.size());
      hits.push_back({Item::FromFlat(std::move(stored)), std::move(found.vector), found.score});
    }
    if (hits.size() == all.size() && !forgotten) return hits;
    // Whoever drops them holds the gate until both entries and vectors are gone.
    base::ReaderLock gate(&table->gate);
    if (table->dropped || table->LiveIndex(index.id) == nullptr) return GoneError(*table, index);
  }
  return hits;
}

}  // namespace holdfast::engine
