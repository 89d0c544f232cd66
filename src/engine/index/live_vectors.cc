#include "engine/index/live_vectors.h"

#include "engine/index/vector_value.h"

namespace holdfast::engine {
namespace {

vector::Metric MetricOf(DistanceFunction distance) {
  switch (distance) {
    case DistanceFunction::kCosine: return vector::Metric::kCosine;
    case DistanceFunction::kEuclidean: return vector::Metric::kEuclidean;
    case DistanceFunction::kDotProduct: return vector::Metric::kDotProduct;
  }
  HF_ASSERT(false);
}

// The item's key without the table's id, its partition hash last: equal scores come in the order of this, and
// shall come in the order of the primary key.
std::string MemoryKey(ByteView item_key) {
  return std::string(item_key.substr(6)).append(item_key.substr(4, 2));
}

std::string StorageKey(std::string_view memory_key) {
  size_t fields = memory_key.size() - 2;
  return std::string(memory_key.substr(fields)).append(memory_key.substr(0, fields));
}

}  // namespace

// What an item has to do with the index, in views of the item.
struct LiveVectors::Membership {
  value::ValueView vector;
  ByteView partition;
  std::vector<std::optional<std::string_view>> filters;

  friend bool operator==(const Membership& a, const Membership& b) {
    return a.vector == b.vector && a.partition == b.partition && a.filters == b.filters;
  }
};

std::optional<LiveVectors::Membership> LiveVectors::MembershipOf(const IndexSchema& index,
                                                                 const StoredItem& item) {
  value::MapView view = item.view();
  auto indexed = IndexedVectorOf(index, view);
  if (!indexed) return std::nullopt;
  Membership membership{indexed->vector, indexed->partition, {}};
  for (const KeyAttribute& filter : index.vector->filters) {
    auto value = view.Find(filter.name);
    membership.filters.push_back(value ? std::optional<std::string_view>(value->bytes()) : std::nullopt);
  }
  return membership;
}

LiveVectors::LiveVectors(const IndexSchema& index, size_t graph_min) : graph_min_(graph_min) {
  Reset(index);
}

void LiveVectors::Reset(const IndexSchema& index) {
  const VectorSchema& vector = *index.vector;
  vector::IndexOptions options;
  options.dimensions = static_cast<size_t>(vector.dimensions);
  options.metric = MetricOf(vector.distance);
  options.filters = vector.filters.size();
  options.m = static_cast<size_t>(vector.settings.m);
  options.ef_construction = static_cast<size_t>(vector.settings.ef_construction);
  if (graph_min_ != 0) options.graph_min = graph_min_;
  index_ = std::make_unique<vector::Index>(options);
  Configure(vector.settings);
}

void LiveVectors::Configure(const VectorSettings& settings) {
  index_->SetSearchOptions({.ef = static_cast<size_t>(settings.ef_search), .exact = settings.exact});
}

bool LiveVectors::Same(const IndexSchema& index, const StoredItem* old, const StoredItem* now) {
  std::optional<Membership> before, after;
  if (old != nullptr) before = MembershipOf(index, *old);
  if (now != nullptr) after = MembershipOf(index, *now);
  return before == after;
}

void LiveVectors::Apply(const IndexSchema& index, ByteView item_key, const StoredItem* old,
                        const StoredItem* now, uint64_t number) {
  std::optional<Membership> before, after;
  if (old != nullptr) before = MembershipOf(index, *old);
  if (now != nullptr) after = MembershipOf(index, *now);
  if (before == after) return;
  changes.fetch_add(1, std::memory_order_relaxed);
  if (stage() == Stage::kLoading) {
    base::MutexLock lock(&touched_mu_);
    touched_.emplace(item_key);
    return;
  }
  Set(item_key, after, number);
}

std::vector<std::string> LiveVectors::TakeTouched() {
  base::MutexLock lock(&touched_mu_);
  std::vector<std::string> keys(touched_.begin(), touched_.end());
  touched_.clear();
  return keys;
}

size_t LiveVectors::backlog() const {
  if (stage() != Stage::kLoading) return index_->backlog();
  base::MutexLock lock(&touched_mu_);
  return touched_.size();
}

void LiveVectors::Set(const IndexSchema& index, ByteView item_key, const StoredItem* now, uint64_t number) {
  Set(item_key, now != nullptr ? MembershipOf(index, *now) : std::nullopt, number);
}

void LiveVectors::Set(ByteView item_key, const std::optional<Membership>& membership, uint64_t number) {
  std::string key = MemoryKey(item_key);
  if (!membership) {
    index_->Remove(number, key);
    return;
  }
  std::vector<float> floats = ReadVector(membership->vector);
  if (!index_->Put(number, {key, floats.data(), membership->partition, membership->filters}))
    incomplete_ = true;
}

bool LiveVectors::Matches(const IndexSchema& index, ByteView item_key, const StoredItem& item) const {
  std::optional<Membership> membership = MembershipOf(index, item);
  if (!membership) return true;  // that it is not there shows in the count
  std::vector<float> floats = ReadVector(membership->vector);
  return index_->Holds({MemoryKey(item_key), floats.data(), membership->partition, membership->filters});
}

std::vector<LiveVectors::Found> LiveVectors::Search(const VectorQuery& query,
                                                    const vector::AsOf& as_of) const {
  vector::Query asked{.vector = query.vector.data(),
                      .k = query.top_k,
                      .partition = query.partition,
                      .filters = {},
                      .as_of = as_of,
                      .with_vectors = query.with_vectors};
  for (const VectorQuery::Filter& filter : query.filters)
    asked.filters.push_back({filter.position, filter.value});
  std::vector<Found> found;
  for (vector::Hit& hit : index_->Search(asked))
    found.push_back({StorageKey(hit.key), std::move(hit.vector), hit.score});
  return found;
}

}  // namespace holdfast::engine
