#include "engine/index/vector_search.h"

#include "engine/engine.h"
#include "engine/index/live_vectors.h"

namespace holdfast::engine {
namespace {

// Times a search is done again because an item that it found was deleted in a commit that its view has, but
// that was not yet published: rare, and rarer each time.
constexpr int kAttempts = 4;

}  // namespace

Result<std::vector<VectorHit>> Engine::SearchVectors(const TablePtr& table, const IndexSchema& index,
                                                     const VectorQuery& query) {
  LiveVectorsPtr live = table->LiveIndex(index.id);
  if (live == nullptr) return Error(ErrorCode::kResourceNotFound, "the index is gone");
  if (live->incomplete()) {
    return Error(ErrorCode::kIo, "there was no memory for all vectors of " + index.name);
  }
  std::vector<VectorHit> hits;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    View view = NewView(Reads::kMany);
    std::vector<LiveVectors::Found> all = live->Search(query, view.number());
    hits.clear();
    for (LiveVectors::Found& found : all) {
      std::string key, stored;
      base::AppendBigEndian(&key, index.id, 4);
      key += found.item_key;
      HF_TRY(bool there,
             kv_->Get(storage::Space::kIndexes, key, view.snapshot(), storage::Wait::kMayBlock, &stored));
      if (!there) continue;
      stored.erase(0, stored.size() - DecodeStored(stored).flat.size());
      hits.push_back({Item::FromFlat(std::move(stored)), std::move(found.vector), found.score});
    }
    if (hits.size() == all.size()) break;
  }
  return hits;
}

}  // namespace holdfast::engine
