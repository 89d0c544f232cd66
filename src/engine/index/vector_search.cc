#include "engine/index/vector_search.h"

#include <algorithm>
#include <cmath>

#include "engine/engine.h"
#include "engine/index/vector_value.h"

namespace holdfast::engine {

Result<std::vector<VectorHit>> Engine::SearchVectors(const TablePtr& table, const IndexSchema& index,
                                                     const VectorQuery& query) {
  SchemaPtr schema = table->schema();
  View view = NewView(Reads::kMany);
  std::vector<std::pair<std::string, VectorHit>> all;
  auto it = kv_->Iterate(storage::Space::kItems, ObjectRange(schema->id), view.snapshot(),
                         storage::Wait::kMayBlock);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    StoredItem stored = DecodeStored(it->value());
    auto entry = MakeVectorEntry(*schema, index, stored);
    if (!entry) continue;
    auto has = [&](const std::string& name, const std::string& value) {
      auto found = stored.view().Find(name);
      return found && found->bytes() == value;
    };
    bool fits = index.partition.empty() || has(index.partition[0].name, query.partition);
    for (const auto& filter : query.filters)
      fits &= has(index.vector->filters[filter.position].name, filter.value);
    if (!fits) continue;
    VectorHit hit;
    hit.vector = ReadVector(*VectorOf(*index.vector, stored.view()));
    double dot = 0, own = 0, other = 0, apart = 0;
    for (size_t i = 0; i < hit.vector.size(); ++i) {
      double a = hit.vector[i], b = query.vector[i];
      dot += a * b, own += a * a, other += b * b, apart += (a - b) * (a - b);
    }
    double score = 0;
    switch (index.vector->distance) {
      case DistanceFunction::kCosine:
        score = own * other == 0 ? 1 : 1 - dot / std::sqrt(own) / std::sqrt(other);
        break;
      case DistanceFunction::kEuclidean: score = std::sqrt(apart); break;
      case DistanceFunction::kDotProduct: score = dot; break;
    }
    hit.score = static_cast<float>(score);
    hit.item = Item::FromFlat(std::string(DecodeStored(entry->value).flat));
    all.emplace_back(std::string(it->key()), std::move(hit));
  }
  HF_CHECK_OK(it->status());
  bool descending = index.vector->distance == DistanceFunction::kDotProduct;
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    if (a.second.score != b.second.score)
      return descending ? a.second.score > b.second.score : a.second.score < b.second.score;
    return a.first < b.first;
  });
  std::vector<VectorHit> hits;
  for (auto& [key, hit] : all) {
    if (hits.size() < query.top_k) hits.push_back(std::move(hit));
  }
  return hits;
}

}  // namespace holdfast::engine
