#include "vector/index.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <unordered_set>

#include "base/check.h"
#include "vector/parallel.h"

namespace holdfast::vector {
namespace {

// Vectors moved into a graph by one call of Tend: a second's work at most.
constexpr size_t kGrowStep = 1024;
// Members of a partition for each step of growth between two samples of how hard its walks are.
constexpr size_t kLearnEvery = 100'000;
// A graph is consolidated when this share of it is dead.
constexpr size_t kDeadShare = 5;
// Slots a filtered walk may look at, against those a scan would: a slot costs a walk about three times as
// much.
constexpr size_t kWalkCost = 3;

// In fewer dimensions many more vectors are as near as codes can tell than a walk keeps.
constexpr size_t kGraphDimensionsMin = 4;

// The share of the bound on a code's error that an error hardly ever exceeds: errors of single dimensions
// cancel, the better the more there are.
float LikelyError(size_t dimensions) {
  return std::clamp(4 / std::sqrt(static_cast<float>(dimensions)), 0.25F, 1.0F);
}

// 64-byte aligned room for a code.
class CodeBuffer {
 public:
  explicit CodeBuffer(size_t bytes) : bytes_(static_cast<int8_t*>(std::aligned_alloc(64, bytes))) {
    HF_ASSERT(bytes_ != nullptr);
  }
  ~CodeBuffer() { std::free(bytes_); }
  CodeBuffer(const CodeBuffer&) = delete;
  CodeBuffer& operator=(const CodeBuffer&) = delete;
  int8_t* get() const { return bytes_; }

 private:
  int8_t* const bytes_;
};

// Geometric with base m, from the slot's own number: a level needs no luck, only to be spread.
uint32_t LevelOf(Slot slot, size_t m) {
  uint64_t x = (slot + 1) * uint64_t{0x9E3779B97F4A7C15};
  x = (x ^ x >> 30) * uint64_t{0xBF58476D1CE4E5B9};
  x = (x ^ x >> 27) * uint64_t{0x94D049BB133111EB};
  x ^= x >> 31;
  double uniform = (static_cast<double>(x >> 11) + 1) / 9007199254740993.0;  // in (0, 1)
  return static_cast<uint32_t>(std::min(-std::log(uniform) / std::log(static_cast<double>(m)), 15.0));
}

IndexOptions WithGraphMin(IndexOptions options) {
  // A scan is bound by memory: so many bytes of rows take as long as a search may take without a thought.
  constexpr size_t kScanBytes = 3'300'000;
  if (options.graph_min != 0) return options;
  size_t row_bytes = sizeof(SlotRow) + CodeBytes(options.dimensions);
  options.graph_min = std::clamp<size_t>(kScanBytes / row_bytes, 1000, 20'000);
  return options;
}

bool BySlot(const Candidate& a, const Candidate& b) {
  return a.slot < b.slot;
}

SearchScratch* ThreadScratch() {
  static thread_local SearchScratch scratch;
  return &scratch;
}

}  // namespace

struct Index::PreparedQuery {
  PreparedQuery(const IndexOptions& options, const Kernels& kernels, const float* floats)
      : vector(floats), buffer(CodeBytes(options.dimensions)) {
    coded.code = Encode(options.metric, floats, options.dimensions, kernels, buffer.get());
    coded.bytes = buffer.get();
  }
  const float* vector;
  CodeBuffer buffer;
  CodedQuery coded;
};

Index::Index(const IndexOptions& options)
    : options_(WithGraphMin(options)),
      kernels_(options.kernels != nullptr ? *options.kernels : BestKernels()),
      slots_(options.dimensions, options.m),
      epoch_(std::make_shared<int>(0)) {}

Index::~Index() = default;

void Index::SetSearchOptions(const SearchOptions& options) {
  ef_ = options.ef;
  exact_ = options.exact;
}

// --- writing ---

Index::Partition* Index::PartitionNamed(std::string_view name) {
  auto found = partitions_.find(name);
  if (found != partitions_.end()) return found->second.get();
  auto partition = std::make_unique<Partition>();
  if (free_partition_ids_.empty()) {
    free_partition_ids_.push_back(static_cast<uint32_t>(partition_by_id_.size()));
    partition_by_id_.push_back(nullptr);
  }
  partition->id = free_partition_ids_.back();
  free_partition_ids_.pop_back();
  partition->name = name;
  partition->filters.resize(options_.filters);
  partition_by_id_[partition->id] = partition.get();
  return partitions_.emplace(std::string(name), std::move(partition)).first->second.get();
}

uint32_t Index::FilterId(FilterValues* values, std::string_view value) {
  if (auto known = values->ids.find(value); known != values->ids.end()) return known->second;
  if (values->free.empty()) {
    values->lists.push_back(std::make_unique<FilterValue>());
    values->free.push_back(static_cast<uint32_t>(values->lists.size()));
  }
  uint32_t id = values->free.back();
  values->free.pop_back();
  FilterValue& fresh = *values->lists[id - 1];
  fresh.name = value;
  values->ids.emplace(fresh.name, id);
  return id;
}

void Index::FreeIfUnused(FilterValues* values, uint32_t id) {
  FilterValue& value = *values->lists[id - 1];
  if (!value.slots.empty()) return;
  values->ids.erase(value.name);
  value = {};
  values->free.push_back(id);
}

void Index::Queue(Partition* partition) {
  if (partition->queued) return;
  partition->queued = true;
  work_.push_back(partition);
}

void Index::End(Slot slot, uint64_t number) {
  SlotRow& row = slots_.row(slot);
  row.died.store(number, std::memory_order_release);
  Partition* partition = partition_by_id_[row.partition];
  partition->dead.Append(slot);
  ++dead_;
  Queue(partition);
}

bool Index::Put(uint64_t number, const Entry& entry) {
  HF_ASSERT(entry.filters.size() == options_.filters);
  Slot slot = kNoSlot;
  {
    base::WriterLock lock(&mu_);
    slot = slots_.Allocate();
  }
  if (slot == kNoSlot) return false;
  // The slot is nobody's yet: its bytes are written without the lock.
  SlotRow& row = slots_.row(slot);
  std::copy_n(entry.vector, options_.dimensions, slots_.floats(slot));
  Code code = Encode(options_.metric, entry.vector, options_.dimensions, kernels_, row.code());
  row.scale = code.scale;
  row.offset = code.offset;
  row.error = code.error;
  row.norm = code.norm;
  slots_.SetLevel(slot, LevelOf(slot, options_.m));

  base::WriterLock lock(&mu_);
  Partition* partition = PartitionNamed(entry.partition);
  std::vector<uint32_t> filters(options_.filters, 0);
  for (size_t i = 0; i < filters.size(); ++i) {
    if (!entry.filters[i]) continue;
    filters[i] = FilterId(&partition->filters[i], *entry.filters[i]);
    partition->filters[i].lists[filters[i] - 1]->slots.Append(slot);
  }
  row.partition = partition->id;
  row.info = SlotInfo::Make(entry.key, filters);
  KeyMap::Map& keys = by_key_.Of(row.info->key());
  auto [at, is_new] = keys.try_emplace(row.info->key(), slot);
  if (is_new) {
    ++vectors_;
  } else {
    Slot old = at->second;
    // The old key's bytes go with the old slot.
    keys.erase(at);
    keys.emplace(row.info->key(), slot);
    End(old, number);
  }
  partition->tail.Append(slot);
  row.born.store(number, std::memory_order_release);
  if (partition->graph != nullptr) backlog_.fetch_add(1, std::memory_order_relaxed);
  Queue(partition);
  return true;
}

void Index::Remove(uint64_t number, std::string_view key) {
  base::WriterLock lock(&mu_);
  KeyMap::Map& keys = by_key_.Of(key);
  auto found = keys.find(key);
  if (found == keys.end()) return;
  Slot slot = found->second;
  keys.erase(found);
  --vectors_;
  End(slot, number);
}

// --- searching ---

Index::Plan Index::MakePlan(const Query& query) const {
  Plan plan;
  base::ReaderLock lock(&mu_);
  auto found = partitions_.find(query.partition);
  if (found == partitions_.end()) return {};
  const Partition& partition = *found->second;
  plan.partition = &partition;
  for (const Query::Filter& filter : query.filters) {
    const FilterValues& values = partition.filters[filter.position];
    auto id = values.ids.find(filter.value);
    if (id == values.ids.end()) return {};
    plan.filter_ids.emplace_back(filter.position, id->second);
  }
  plan.epoch = epoch_;
  plan.members = partition.members();
  const SlotList* narrowest = Narrowest(plan);
  plan.matches_max = narrowest != nullptr ? narrowest->size() : plan.members;
  plan.ef = EfFor(query, partition);
  // A walk looks at about ef vectors for each that passes: the fewer pass, the more it looks at.
  double worth = std::sqrt(3.0 * static_cast<double>(plan.ef * plan.members));
  size_t scan_max = std::min(options_.filter_scan_max, static_cast<size_t>(worth));
  bool narrow = narrowest != nullptr && plan.matches_max <= scan_max;
  bool walks = partition.graph != nullptr && !exact_ && !narrow;
  if (walks) plan.graph = partition.graph.get();
  plan.scan = walks ? std::vector<SlotList>{partition.tail} : Everything(plan);
  if (walks) NoteHold(partition.tail.blocks());
  return plan;
}

const SlotList* Index::Narrowest(const Plan& plan) {
  const SlotList* narrowest = nullptr;
  for (auto [position, id] : plan.filter_ids) {
    const SlotList& list = plan.partition->filters[position].lists[id - 1]->slots;
    if (narrowest == nullptr || list.size() < narrowest->size()) narrowest = &list;
  }
  return narrowest;
}

std::vector<SlotList> Index::Everything(const Plan& plan) const {
  std::vector<SlotList> all;
  if (const SlotList* narrowest = Narrowest(plan)) {
    all = {*narrowest};
  } else {
    all = {plan.partition->nodes, plan.partition->tail};
  }
  size_t blocks = 0;
  for (const SlotList& list : all) blocks += list.blocks();
  NoteHold(blocks);
  return all;
}

bool Index::Accepts(const SlotRow& row, const Plan& plan, const AsOf& as_of) const {
  if (!row.IsVisible(as_of)) return false;
  for (auto [position, id] : plan.filter_ids) {
    if (row.info->filters()[position] != id) return false;
  }
  return true;
}

template <class Accept>
void Index::Scan(const CodedQuery& query, const SlotList& slots, const Accept& accept,
                 std::vector<Candidate>* found) const {
  constexpr size_t kAhead = 3;
  found->reserve(found->size() + slots.size());
  slots.ForEachRun(0, [&](std::span<const Slot> run) {
    auto prefetch = [&](size_t i) {
      if (i < run.size()) slots_.Prefetch(run[i]);
    };
    for (size_t i = 0; i < kAhead; ++i) prefetch(i);
    for (size_t i = 0; i < run.size(); ++i) {
      prefetch(i + kAhead);
      const SlotRow& row = slots_.row(run[i]);
      if (!accept(row)) continue;
      found->push_back({Distance(options_.metric, kernels_, options_.dimensions, query, row), run[i]});
    }
  });
}

std::vector<Hit> Index::Settle(const PreparedQuery& prepared, std::vector<Candidate> candidates,
                               const Query& query, bool complete, bool* tied) const {
  const size_t k = query.k;
  *tied = false;
  // What a walk brings is not certain anyway: there the likely error will do.
  float share = complete ? 1.0F : LikelyError(options_.dimensions);
  auto bound = [&](const Candidate& candidate) {
    const SlotRow& row = slots_.row(candidate.slot);
    return share * Bound(options_.metric, prepared.coded.code, row.error, row.norm);
  };
  if (candidates.size() > k) {
    // Whatever may be nearer than the k-th at its worst must be looked at.
    std::vector<float> worst;
    worst.reserve(candidates.size());
    for (const Candidate& candidate : candidates) worst.push_back(candidate.distance + bound(candidate));
    std::nth_element(worst.begin(), worst.begin() + static_cast<ptrdiff_t>(k - 1), worst.end());
    float limit = worst[k - 1];
    std::erase_if(candidates,
                  [&](const Candidate& candidate) { return candidate.distance - bound(candidate) > limit; });
  }
  struct Settled {
    float score;
    Slot slot;
  };
  std::vector<Settled> settled;
  settled.reserve(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (i + 1 < candidates.size()) {
      const auto* next = reinterpret_cast<const char*>(slots_.floats(candidates[i + 1].slot));
      for (size_t at = 0; at < options_.dimensions * sizeof(float); at += 64) __builtin_prefetch(next + at);
    }
    const SlotRow& row = slots_.row(candidates[i].slot);
    settled.push_back({Score(options_.metric, prepared.vector, prepared.coded.code.norm,
                             slots_.floats(candidates[i].slot), row.norm, options_.dimensions, kernels_),
                       candidates[i].slot});
  }
  auto before = [&](const Settled& a, const Settled& b) {
    if (a.score != b.score) return Nearer(options_.metric, a.score, b.score);
    return slots_.row(a.slot).info->key() < slots_.row(b.slot).info->key();
  };
  size_t count = std::min(k, settled.size());
  std::partial_sort(settled.begin(), settled.begin() + static_cast<ptrdiff_t>(count), settled.end(), before);
  // All that a walk kept is as near as the last of the result: others as near may have been dropped.
  if (!complete && settled.size() > k) {
    *tied = std::all_of(settled.begin() + static_cast<ptrdiff_t>(k), settled.end(),
                        [&](const Settled& other) { return other.score == settled[k - 1].score; });
  }
  std::vector<Hit> hits;
  hits.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    hits.push_back({std::string(slots_.row(settled[i].slot).info->key()), {}, settled[i].score});
    if (!query.with_vectors) continue;
    const float* floats = slots_.floats(settled[i].slot);
    hits.back().vector.assign(floats, floats + options_.dimensions);
  }
  return hits;
}

size_t Index::EfFor(const Query& query, const Partition& partition) const {
  size_t chosen = ef_.load(std::memory_order_relaxed);
  if (chosen == 0) chosen = partition.effort.ef();
  if (chosen == 0) {
    // Nothing is known yet. More vectors, more ways to go astray.
    auto members = static_cast<double>(partition.nodes.size());
    chosen = 64 + static_cast<size_t>(8 * std::log2(std::max(1.0, members / 10'000)));
  }
  size_t beyond = query.k > Effort::kNearest ? query.k - Effort::kNearest : 0;
  return std::max(chosen, Effort::kNearest) + 2 * beyond;
}

std::vector<Hit> Index::Search(const Query& query) const {
  Plan plan = MakePlan(query);
  if (plan.partition == nullptr || query.k == 0) return {};
  PreparedQuery prepared(options_, kernels_, query.vector);
  auto accept = [&](const SlotRow& row) { return Accepts(row, plan, query.as_of); };
  std::vector<Candidate> candidates;
  for (const SlotList& list : plan.scan) Scan(prepared.coded, list, accept, &candidates);
  bool tied = false;
  if (plan.graph == nullptr) return Settle(prepared, std::move(candidates), query, true, &tied);

  Graph::Limits limits{.ef = plan.ef};
  if (!plan.filter_ids.empty()) {
    limits.visits_max = plan.matches_max / kWalkCost;
    limits.share = static_cast<float>(plan.matches_max) / static_cast<float>(plan.members);
  }
  std::vector<Candidate> walked;
  bool found = !prepared.coded.code.is_blank() &&
               plan.graph->Search(prepared.coded, limits, accept, ThreadScratch(), &walked) &&
               candidates.size() + walked.size() >= std::min(query.k, plan.matches_max);
  if (found) {
    // What moved from the tail into the graph meanwhile was met twice.
    std::sort(walked.begin(), walked.end(), BySlot);
    std::erase_if(candidates, [&](const Candidate& candidate) {
      return std::binary_search(walked.begin(), walked.end(), candidate, BySlot);
    });
    candidates.insert(candidates.end(), walked.begin(), walked.end());
    std::vector<Hit> hits = Settle(prepared, std::move(candidates), query, false, &tied);
    if (!tied) return hits;
  }
  {
    base::ReaderLock lock(&mu_);
    plan.scan = Everything(plan);
  }
  candidates.clear();
  for (const SlotList& list : plan.scan) Scan(prepared.coded, list, accept, &candidates);
  return Settle(prepared, std::move(candidates), query, true, &tied);
}

// --- tending ---

bool Index::Tend(uint64_t published, int threads) {
  if (stop_tending_) return false;
  FreeRetired();
  size_t rounds = 0;
  {
    base::ReaderLock lock(&mu_);
    rounds = work_.size();
  }
  bool more = false;
  for (; rounds > 0 && !more && !stop_tending_; --rounds) {
    Partition* partition = nullptr;
    {
      base::WriterLock lock(&mu_);
      if (work_.empty()) break;
      partition = work_.front();
      work_.pop_front();
      partition->queued = false;
    }
    more = TendPartition(partition, published, threads);
    if (more) {
      base::WriterLock lock(&mu_);
      Queue(partition);
    }
  }
  base::ReaderLock lock(&mu_);
  return !stop_tending_ && (more || !work_.empty() || !retired_.empty());
}

bool Index::TendPartition(Partition* partition, uint64_t published, int threads) {
  Sweep(partition, published, threads);
  {
    base::WriterLock lock(&mu_);
    if (RemoveIfEmpty(partition)) return false;
    // Empty once the commits that ended its vectors are published: looked at again then.
    if (partition->dead.size() == partition->members()) Queue(partition);
    if (partition->graph == nullptr) {
      if (exact_ || options_.dimensions < kGraphDimensionsMin) return false;
      if (partition->tail.size() <= options_.graph_min) return false;
      partition->graph =
          std::make_unique<Graph>(&slots_, options_.metric, &kernels_, options_.ef_construction);
      ++graphs_;
      backlog_.fetch_add(partition->tail.size(), std::memory_order_relaxed);
    }
  }
  Grow(partition, published, threads);
  base::ReaderLock lock(&mu_);
  return !partition->tail.empty();
}

void Index::LearnFrom(Slot slot, Partition* partition, uint64_t published, SearchScratch* scratch) const {
  CodedQuery query = CodedQuery::Of(slots_.row(slot));
  auto accept = [&](const SlotRow& row) { return row.died.load(std::memory_order_acquire) > published; };
  std::vector<Candidate> all;
  Scan(query, partition->nodes, accept, &all);
  if (all.size() <= Effort::kNearest) return;
  auto last = all.begin() + static_cast<ptrdiff_t>(Effort::kNearest - 1);
  std::nth_element(all.begin(), last, all.end());
  Candidate farthest = *last;
  Effort::Sample sample;
  sample.fill(Effort::kNearest);
  for (size_t step = 0; step < Effort::kSteps.size(); ++step) {
    std::vector<Candidate> found;
    partition->graph->Search(query, {.ef = Effort::kSteps[step]}, accept, scratch, &found);
    auto right =
        std::count_if(found.begin(), found.end(), [&](const Candidate& c) { return !(farthest < c); });
    sample[step] = static_cast<uint8_t>(right);
    if (sample[step] == Effort::kNearest) break;  // who keeps more finds no less
  }
  partition->effort.Note(sample);
}

void Index::Grow(Partition* partition, uint64_t published, int threads) {
  SlotList tail;
  {
    base::ReaderLock lock(&mu_);
    tail = partition->tail;
    NoteHold(tail.blocks());
  }
  std::vector<Slot> moving;
  tail.ForEach(0, [&](Slot slot) {
    if (moving.size() < kGrowStep && slots_.row(slot).born.load(std::memory_order_acquire) <= published)
      moving.push_back(slot);
  });
  if (moving.empty()) return;
  std::vector<SearchScratch> scratches(static_cast<size_t>(std::max(threads, 1)));
  if (!partition->nodes.empty() && partition->steps_to_sample-- == 0) {
    for (size_t i = 0; i < std::min<size_t>(2, moving.size()); ++i)
      LearnFrom(moving[i * (moving.size() / 2)], partition, published, &scratches[0]);
    // To look one by one takes the longer the more there are: as often as it costs little beside the growth.
    partition->steps_to_sample = partition->nodes.size() / kLearnEvery;
  }
  // The first ones alone: many hands in an empty graph would not find each other.
  size_t alone = partition->nodes.empty() ? std::min<size_t>(moving.size(), 64) : 0;
  auto insert = [&](int thread, size_t i) {
    if (stop_tending_.load(std::memory_order_relaxed)) return;
    partition->graph->Insert(moving[i], &scratches[static_cast<size_t>(thread)]);
    slots_.row(moving[i]).linked.store(1, std::memory_order_release);
  };
  for (size_t i = 0; i < alone; ++i) insert(0, i);
  ForEach(moving.size() - alone, threads, [&](int thread, size_t i) { insert(thread, alone + i); });
  // In the graph before it leaves the tail: a search that copied the tail earlier meets it twice, never not
  // at all. And from one list to the other in one hold: who compares all meets it once.
  std::erase_if(moving, [&](Slot slot) { return slots_.row(slot).linked.load() == 0; });
  SlotList nodes = partition->nodes;
  for (Slot slot : moving) nodes.Append(slot);
  Filter(
      &partition->tail, [&](Slot slot) { return slots_.row(slot).linked.load() != 0; },
      [&] { std::swap(partition->nodes, nodes); });
  backlog_.fetch_sub(moving.size(), std::memory_order_relaxed);
}

template <class Gone, class Then>
void Index::Filter(SlotList* list, const Gone& gone, const Then& then) {
  SlotList seen, kept;
  size_t passed = 0;
  while (true) {
    {
      base::ReaderLock lock(&mu_);
      seen = *list;
      NoteHold(seen.blocks());
    }
    seen.ForEach(passed, [&](Slot slot) {
      if (!gone(slot)) kept.Append(slot);
    });
    passed = seen.size();
    base::WriterLock lock(&mu_);
    size_t since = list->size() - passed;
    if (since > kHoldMax) continue;
    // What came meanwhile cannot be gone.
    list->ForEach(passed, [&](Slot slot) { kept.Append(slot); });
    std::swap(*list, kept);
    then();
    NoteHold(since);
    return;
  }
}

// Takes out what ended by `published`, once there is enough of it to be worth the work.
void Index::Sweep(Partition* partition, uint64_t published, int threads) {
  SlotList dead;
  size_t tail_size = 0;
  {
    base::ReaderLock lock(&mu_);
    dead = partition->dead;
    tail_size = partition->tail.size();
    NoteHold(dead.blocks());
  }
  std::unordered_set<Slot> unlinked, linked;
  dead.ForEach(0, [&](Slot slot) {
    const SlotRow& row = slots_.row(slot);
    if (row.died.load() > published) return;
    (row.linked.load() != 0 ? linked : unlinked).insert(slot);
  });
  // A partition of which nothing is left goes, however little it was.
  bool all = unlinked.size() + linked.size() == tail_size + partition->nodes.size();
  if (!all && (unlinked.size() < 16 || unlinked.size() * kDeadShare < tail_size)) unlinked.clear();
  if (!all && linked.size() * kDeadShare < partition->nodes.size()) linked.clear();
  if (unlinked.empty() && linked.empty()) return;
  forgotten_.store(published, std::memory_order_release);
  auto is_swept = [&](Slot slot) { return linked.contains(slot) || unlinked.contains(slot); };
  auto nothing = [] {};
  if (!linked.empty()) {
    std::vector<Slot> nodes;
    nodes.reserve(partition->nodes.size());
    partition->nodes.ForEach(0, [&](Slot slot) { nodes.push_back(slot); });
    auto is_dead = [&](Slot slot) { return linked.contains(slot); };
    if (!partition->graph->Remove(nodes, is_dead, threads, stop_tending_)) return;
    Filter(&partition->nodes, is_swept, nothing);
  }
  if (!unlinked.empty()) {
    Filter(&partition->tail, is_swept, nothing);
    if (partition->graph != nullptr) backlog_.fetch_sub(unlinked.size(), std::memory_order_relaxed);
  }
  std::vector<Slot> swept(linked.begin(), linked.end());
  swept.insert(swept.end(), unlinked.begin(), unlinked.end());
  FilterValueLists(partition, swept, is_swept);
  Filter(&partition->dead, is_swept, nothing);
  base::WriterLock lock(&mu_);
  dead_ -= swept.size();
  Retire(std::move(swept), nullptr);
}

template <class Gone>
void Index::FilterValueLists(Partition* partition, const std::vector<Slot>& swept, const Gone& gone) {
  for (size_t position = 0; position < options_.filters; ++position) {
    std::unordered_set<uint32_t> touched;
    for (Slot slot : swept) {
      if (uint32_t id = slots_.row(slot).info->filters()[position]; id != 0) touched.insert(id);
    }
    FilterValues* values = &partition->filters[position];
    for (uint32_t id : touched) {
      SlotList* list = nullptr;
      {
        base::ReaderLock lock(&mu_);
        list = &values->lists[id - 1]->slots;
      }
      Filter(list, gone, [&] { FreeIfUnused(values, id); });
    }
  }
}

// Requires: nobody finds them any more.
void Index::Retire(std::vector<Slot> slots, std::unique_ptr<Partition> partition) {
  retired_slots_ += slots.size();
  retired_.push_back({epoch_, std::move(slots), std::move(partition)});
  epoch_ = std::make_shared<int>(0);
}

bool Index::RemoveIfEmpty(Partition* partition) {
  if (partition->members() > 0 || partition->queued) return false;
  HF_ASSERT(partition->dead.empty());
  auto found = partitions_.find(partition->name);
  HF_ASSERT(found != partitions_.end() && found->second.get() == partition);
  partition_by_id_[partition->id] = nullptr;
  free_partition_ids_.push_back(partition->id);
  graphs_ -= partition->graph != nullptr ? 1 : 0;
  std::unique_ptr<Partition> removed = std::move(found->second);
  partitions_.erase(found);
  Retire({}, std::move(removed));
  return true;
}

void Index::FreeRetired() {
  bool more = true;
  while (more) {
    std::unique_ptr<Partition> partition;  // its memory is freed without the lock
    base::WriterLock lock(&mu_);
    more = !retired_.empty() && retired_.front().searches.expired();
    if (!more) return;
    std::vector<Slot>& slots = retired_.front().slots;
    size_t freed = 0;
    for (; freed < kHoldMax && !slots.empty(); ++freed, slots.pop_back()) {
      Slot slot = slots.back();
      slots_.Free(slot);
      if (slot < saved_.size()) saved_[slot] = false;
    }
    retired_slots_ -= freed;
    NoteHold(freed);
    if (!slots.empty()) continue;
    partition = std::move(retired_.front().partition);
    retired_.pop_front();
  }
}

bool Index::Holds(const Entry& entry) const {
  base::ReaderLock lock(&mu_);
  const KeyMap::Map& keys = by_key_.Of(entry.key);
  auto found = keys.find(entry.key);
  if (found == keys.end()) return false;
  const SlotRow& row = slots_.row(found->second);
  const Partition& partition = *partition_by_id_[row.partition];
  if (partition.name != entry.partition) return false;
  for (size_t i = 0; i < options_.filters; ++i) {
    uint32_t id = row.info->filters()[i];
    if ((id != 0) != entry.filters[i].has_value()) return false;
    if (id == 0) continue;
    auto named = partition.filters[i].ids.find(*entry.filters[i]);
    if (named == partition.filters[i].ids.end() || named->second != id) return false;
  }
  return std::equal(entry.vector, entry.vector + options_.dimensions, slots_.floats(found->second));
}

IndexStats Index::stats() const {
  base::ReaderLock lock(&mu_);
  IndexStats stats;
  stats.vectors = vectors_;
  stats.dead = dead_ + retired_slots_;
  stats.partitions = partitions_.size();
  stats.graphs = graphs_;
  stats.hold_max = hold_max_.load(std::memory_order_relaxed);
  // Hash table, key and lists: about a hundred bytes a vector besides the slot.
  stats.memory_bytes = slots_.memory_bytes() + vectors_ * 120;
  return stats;
}

}  // namespace holdfast::vector
