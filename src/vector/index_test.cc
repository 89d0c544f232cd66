#include "vector/index.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "vector/snapshot.h"

namespace holdfast::vector {
namespace {

constexpr size_t kDimensions = 24;

// What an index should hold, kept in the plainest way.
struct Known {
  std::vector<float> vector;
  std::string partition;
  std::vector<std::optional<std::string>> filters;
};
using Model = std::map<std::string, Known>;

class Fixture {
 public:
  explicit Fixture(IndexOptions options, uint64_t seed = 1) : index(Complete(options)), random_(seed) {}

  static IndexOptions Complete(IndexOptions options) {
    if (options.dimensions == 0) options.dimensions = kDimensions;
    return options;
  }

  std::vector<float> RandomVector() {
    // Around a few centres, so that a graph has something to get wrong.
    std::normal_distribution<float> normal;
    auto centre = static_cast<float>(random_() % 8);
    std::vector<float> vector(index.options().dimensions);
    for (size_t i = 0; i < vector.size(); ++i)
      vector[i] = std::sin(centre * static_cast<float>(i + 1)) + 0.4F * normal(random_);
    return vector;
  }

  void Put(const std::string& key, Known known) {
    std::vector<std::optional<std::string_view>> filters;
    for (const auto& filter : known.filters)
      filters.push_back(filter ? std::optional<std::string_view>(*filter) : std::nullopt);
    ASSERT_TRUE(index.Put(++number, {key, known.vector.data(), known.partition, filters}));
    model[key] = std::move(known);
  }
  void Remove(const std::string& key) {
    index.Remove(++number, key);
    model.erase(key);
  }
  void Settle(int threads = 2) {
    while (index.Tend(number, threads)) {
    }
  }

  // The truth, by looking at everything.
  std::vector<std::pair<std::string, float>> Nearest(const Query& query) const {
    std::vector<std::pair<std::string, float>> all;
    const Metric metric = index.options().metric;
    for (const auto& [key, known] : model) {
      bool passes = known.partition == query.partition;
      for (const auto& filter : query.filters)
        passes = passes && known.filters[filter.position] == std::string(filter.value);
      if (!passes) continue;
      double dot = 0, own = 0, other = 0, apart = 0;
      for (size_t i = 0; i < known.vector.size(); ++i) {
        double a = known.vector[i], b = query.vector[i];
        dot += a * b, own += a * a, other += b * b, apart += (a - b) * (a - b);
      }
      double score = metric == Metric::kDotProduct  ? dot
                     : metric == Metric::kEuclidean ? std::sqrt(apart)
                     : own * other == 0             ? 1
                                                    : 1 - dot / (std::sqrt(own) * std::sqrt(other));
      all.emplace_back(key, static_cast<float>(score));
    }
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& a, const auto& b) { return Nearer(metric, a.second, b.second); });
    if (all.size() > query.k) all.resize(query.k);
    return all;
  }

  void ExpectHoldsModel() {
    EXPECT_EQ(index.stats().vectors, model.size());
    for (const auto& [key, known] : model) {
      std::vector<std::optional<std::string_view>> filters;
      for (const auto& filter : known.filters)
        filters.push_back(filter ? std::optional<std::string_view>(*filter) : std::nullopt);
      EXPECT_TRUE(index.Holds({key, known.vector.data(), known.partition, filters})) << key;
    }
  }

  Index index;
  Model model;
  uint64_t number = 0;

 private:
  std::mt19937_64 random_;
};

std::string KeyOf(size_t i) {
  std::string digits = std::to_string(i);
  return std::string(6 - digits.size(), '0') + digits;
}

double Agreement(const std::vector<Hit>& hits, const std::vector<std::pair<std::string, float>>& truth) {
  std::set<std::string> wanted;
  for (const auto& [key, score] : truth) wanted.insert(key);
  size_t right = 0;
  for (const Hit& hit : hits) right += wanted.count(hit.key);
  return truth.empty() ? 1 : static_cast<double>(right) / static_cast<double>(truth.size());
}

class EachMetric : public testing::TestWithParam<Metric> {};
INSTANTIATE_TEST_SUITE_P(All, EachMetric,
                         testing::Values(Metric::kCosine, Metric::kEuclidean, Metric::kDotProduct));

// Codes only sort out candidates; what comes back must be what a plain loop over the floats gives, in order.
TEST_P(EachMetric, ASmallIndexIsExact) {
  Fixture fixture({.metric = GetParam()});
  for (size_t i = 0; i < 700; ++i) fixture.Put(KeyOf(i), {fixture.RandomVector(), "", {}});
  for (int i = 0; i < 50; ++i) {
    std::vector<float> wanted = fixture.RandomVector();
    Query query{.vector = wanted.data(), .k = 10, .partition = "", .filters = {}};
    auto truth = fixture.Nearest(query);
    auto hits = fixture.index.Search(query);
    ASSERT_EQ(hits.size(), truth.size());
    for (size_t k = 0; k < hits.size(); ++k) {
      EXPECT_EQ(hits[k].key, truth[k].first);
      EXPECT_FLOAT_EQ(hits[k].score, truth[k].second);
    }
  }
}

// Any history of writes ends with an index that holds what it should and finds it: in the tail, in the graph,
// after slots were freed and used again.
TEST_P(EachMetric, AnyHistoryEndsWithWhatItWrote) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Fixture fixture({.metric = GetParam(), .filters = 2, .graph_min = 200, .filter_scan_max = 50}, seed);
    std::mt19937_64 random(seed);
    const std::optional<std::string> colours[] = {"red", "green", std::nullopt};
    for (size_t step = 0; step < 4000; ++step) {
      std::string key = KeyOf(random() % 900);
      if (random() % 4 == 0) {
        fixture.Remove(key);
      } else {
        fixture.Put(key, {fixture.RandomVector(),
                          random() % 5 == 0 ? "small" : "large",
                          {colours[random() % 3], std::to_string(random() % 40)}});
      }
      if (random() % 97 == 0) fixture.index.Tend(fixture.number - random() % 50, 2);
    }
    fixture.ExpectHoldsModel();
    double agreement = 0;
    int asked = 0;
    for (bool settled : {false, true}) {
      if (settled) fixture.Settle();
      for (int i = 0; i < 60; ++i) {
        std::vector<float> wanted = fixture.RandomVector();
        Query query{.vector = wanted.data(), .k = 1 + random() % 12, .partition = "large", .filters = {}};
        if (i % 5 == 0) query.partition = "small";
        if (i % 3 == 1) query.filters = {{0, "red"}};
        if (i % 3 == 2) query.filters = {{0, "green"}, {1, "7"}};
        auto truth = fixture.Nearest(query);
        auto hits = fixture.index.Search(query);
        ASSERT_EQ(hits.size(), truth.size()) << "seed " << seed;
        agreement += Agreement(hits, truth);
        ++asked;
      }
    }
    EXPECT_GT(agreement / asked, 0.98) << "seed " << seed;
  }
}

// A reader of an earlier commit sees the vectors of that commit, wherever they have been moved since.
TEST(Index, ASearchSeesItsCommit) {
  Fixture fixture({.graph_min = 20});
  std::vector<float> north(kDimensions, 0), south(kDimensions, 0);
  north[0] = 1, south[0] = -1;
  for (size_t i = 0; i < 100; ++i) fixture.Put(KeyOf(i), {fixture.RandomVector(), "", {}});
  fixture.Put("mine", {south, "", {}});
  fixture.Settle();
  uint64_t before = fixture.number;
  fixture.Put("mine", {north, "", {}});
  auto find = [&](uint64_t as_of) -> std::optional<float> {
    for (const Hit& hit : fixture.index.Search(
             {.vector = north.data(), .k = 101, .partition = "", .filters = {}, .as_of = {as_of}})) {
      if (hit.key == "mine") return hit.score;
    }
    return std::nullopt;
  };
  EXPECT_FLOAT_EQ(*find(before), 2);
  EXPECT_FLOAT_EQ(*find(before + 1), 0);
  fixture.Remove("mine");
  EXPECT_FLOAT_EQ(*find(before + 1), 0);
  EXPECT_EQ(find(before + 2), std::nullopt);
  fixture.index.Tend(before, 1);  // nothing of what is not published may move
  EXPECT_FLOAT_EQ(*find(before), 2);
}

// Codes tell neighbours apart by their many dimensions. Where there are few, a vector that is there must be
// found all the same.
TEST(Index, VectorsOfFewDimensionsFindThemselves) {
  for (size_t dimensions : {2, 3, 4}) {
    Fixture fixture({.dimensions = dimensions, .metric = Metric::kCosine, .graph_min = 500});
    for (size_t i = 0; i < 4000; ++i) fixture.Put(KeyOf(i), {fixture.RandomVector(), "", {}});
    fixture.Settle();
    size_t found = 0;
    for (size_t i = 0; i < 4000; ++i) {
      auto hits = fixture.index.Search(
          {.vector = fixture.model[KeyOf(i)].vector.data(), .k = 1, .partition = "", .filters = {}});
      found += hits[0].score <= 1e-6F ? 1 : 0;
    }
    // In four dimensions by a graph, which may miss one now and then.
    EXPECT_GE(found, dimensions < 4 ? 4000u : 3980u) << dimensions;
  }
}

// Commits end in any order: one that is under way hides neither those before it nor those after it.
TEST(Index, ASearchSeesPastCommitsThatAreUnderWay) {
  Fixture fixture({});
  std::vector<float> vector = fixture.RandomVector();
  for (const char* key : {"a", "b", "c"}) fixture.Put(key, {vector, "", {}});
  uint64_t last = fixture.number;
  auto keys = [&](const AsOf& as_of) {
    std::string found;
    for (const Hit& hit : fixture.index.Search(
             {.vector = vector.data(), .k = 3, .partition = "", .filters = {}, .as_of = as_of})) {
      found += hit.key;
    }
    return found;
  };
  std::vector<uint64_t> under_way{last - 1};
  EXPECT_EQ(keys({last}), "abc");
  EXPECT_EQ(keys({last, under_way}), "ac");
  fixture.Remove("a");
  under_way.push_back(last + 1);
  EXPECT_EQ(keys({last + 1, under_way}), "ac");
  EXPECT_EQ(keys({last + 1}), "bc");
}

// Backlog slows writers down: it has to shrink whatever way searches go.
TEST(Index, TheGraphGrowsOnWhenSearchesBecomeExact) {
  Fixture fixture({.graph_min = 50});
  for (size_t i = 0; i < 100; ++i) fixture.Put(KeyOf(i), {fixture.RandomVector(), "", {}});
  fixture.Settle();
  fixture.index.SetSearchOptions({.exact = true});
  for (size_t i = 100; i < 200; ++i) fixture.Put(KeyOf(i), {fixture.RandomVector(), "", {}});
  fixture.Settle();
  EXPECT_EQ(fixture.index.backlog(), 0u);
}

TEST(Index, EqualScoresComeInOrderOfKeyWhereverTheyAre) {
  for (size_t graph_min : {size_t{10'000}, size_t{50}}) {
    Fixture fixture({.graph_min = graph_min});
    std::vector<float> same(kDimensions, 0.5F);
    std::vector<size_t> order(600);
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937_64(3));
    for (size_t i : order) fixture.Put(KeyOf(i), {same, "", {}});
    fixture.Settle();
    auto hits = fixture.index.Search({.vector = same.data(), .k = 20, .partition = "", .filters = {}});
    ASSERT_EQ(hits.size(), 20u);
    for (size_t i = 0; i < hits.size(); ++i) EXPECT_EQ(hits[i].key, KeyOf(i));
  }
}

// A filter may hold for vectors that are all far away from the query: a walk that gives up must not be the
// answer.
TEST(Index, AResultIsFullWheneverEnoughPass) {
  Fixture fixture({.filters = 1, .graph_min = 100, .filter_scan_max = 20});
  std::mt19937_64 random(5);
  for (size_t i = 0; i < 3000; ++i) {
    std::vector<float> vector = fixture.RandomVector();
    bool far = i % 20 == 0;
    if (far) std::fill(vector.begin(), vector.end(), -3.0F - static_cast<float>(i % 7));
    fixture.Put(KeyOf(i), {vector, "", {far ? "far" : "near"}});
  }
  fixture.Settle();
  for (int i = 0; i < 40; ++i) {
    std::vector<float> wanted = fixture.RandomVector();
    Query query{.vector = wanted.data(), .k = 100, .partition = "", .filters = {{0, "far"}}};
    auto hits = fixture.index.Search(query);
    EXPECT_EQ(hits.size(), 100u);
    EXPECT_EQ(Agreement(hits, fixture.Nearest(query)), 1);
  }
}

// Everything that is a float may come in; nothing but finite numbers may come out, and still in order.
TEST_P(EachMetric, ExtremeVectorsGiveFiniteScoresInOrder) {
  Fixture fixture({.dimensions = 3, .metric = GetParam()});
  const float values[] = {0, 1, -1, 3.4e38F, -3.4e38F, 1e-45F, -1e-30F, 1e20F, 7e15F};
  size_t count = 0;
  for (float x : values) {
    for (float y : values) fixture.Put(KeyOf(count++), {{x, y, 1e-3F * x}, "", {}});
  }
  for (const auto& [key, known] : fixture.model) {
    Query query{.vector = known.vector.data(), .k = 30, .partition = "", .filters = {}};
    auto hits = fixture.index.Search(query);
    ASSERT_EQ(hits.size(), 30u);
    auto truth = fixture.Nearest(query);
    for (size_t i = 0; i < hits.size(); ++i) {
      EXPECT_TRUE(std::isfinite(hits[i].score));
      EXPECT_FALSE(i > 0 && Nearer(GetParam(), hits[i].score, hits[i - 1].score));
      if (std::abs(truth[i].second) < 1e37F) {
        EXPECT_NEAR(hits[i].score, truth[i].second, 1e-5F * (1 + std::abs(truth[i].second)));
      }
    }
  }
}

// Memory that a replaced vector took is used again.
TEST(Index, SlotsAreUsedAgain) {
  Fixture fixture({.graph_min = 100});
  for (size_t i = 0; i < 500; ++i) fixture.Put(KeyOf(i), {fixture.RandomVector(), "", {}});
  fixture.Settle();
  size_t before = fixture.index.stats().memory_bytes;
  for (size_t round = 0; round < 20; ++round) {
    for (size_t i = 0; i < 500; ++i) fixture.Put(KeyOf(i), {fixture.RandomVector(), "", {}});
    fixture.Settle();
  }
  EXPECT_LT(fixture.index.stats().memory_bytes, 3 * before);
  fixture.ExpectHoldsModel();
}

// Who is left after most went was linked to them, and they to one another: the graph must not fall apart.
TEST(Index, TheFewThatAreLeftAreFound) {
  size_t left = 0, found = 0;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    Fixture fixture({.ef_construction = 50, .graph_min = 40}, seed);
    for (size_t i = 0; i < 2000; ++i) fixture.Put(KeyOf(i), {fixture.RandomVector(), "", {}});
    fixture.Settle(1);
    for (size_t i = 0; i < 2000; ++i) {
      if (i % 40 != 0) fixture.Remove(KeyOf(i));
    }
    fixture.Settle(1);
    for (const auto& [key, known] : fixture.model) {
      auto hits =
          fixture.index.Search({.vector = known.vector.data(), .k = 1, .partition = "", .filters = {}});
      found += hits[0].key == key ? 1 : 0;
      ++left;
    }
  }
  EXPECT_GE(found, left - left / 100);  // a graph may miss one now and then
}

// Ranks must not depend on the processor.
TEST(Index, EveryKernelGivesTheSameRanks) {
  std::vector<std::vector<std::string>> ranks;
  for (const Kernels* kernels : AvailableKernels()) {
    Fixture fixture({.dimensions = 200, .kernels = kernels, .graph_min = 300});
    for (size_t i = 0; i < 1000; ++i) fixture.Put(KeyOf(i), {fixture.RandomVector(), "", {}});
    fixture.Settle(1);
    ranks.emplace_back();
    for (int i = 0; i < 50; ++i) {
      std::vector<float> wanted = fixture.RandomVector();
      for (const Hit& hit :
           fixture.index.Search({.vector = wanted.data(), .k = 10, .partition = "", .filters = {}}))
        ranks.back().push_back(hit.key + std::to_string(hit.score));
    }
    EXPECT_EQ(ranks.back(), ranks.front()) << kernels->name;
  }
}

// --- snapshots ---

struct Files {
  std::string graph;
  std::vector<std::string> floats;
};

Sink To(std::string* out) {
  return [out](std::string_view bytes) -> Status {
    out->append(bytes);
    return Ok{};
  };
}

Source From(const std::string& bytes) {
  return [rest = std::string_view(bytes)](size_t size, char* out) mutable -> Status {
    if (size > rest.size()) return Error(ErrorCode::kCorruption, "cut off");
    rest.copy(out, size);
    rest.remove_prefix(size);
    return Ok{};
  };
}

void Save(Index* index, uint64_t number, Files* files) {
  SnapshotWriter writer(index, number);
  if (writer.unsaved() > 0) {
    files->floats.emplace_back();
    ASSERT_TRUE(writer.WriteFloats(SnapshotWriter::Which::kUnsaved, To(&files->floats.back())));
  }
  files->graph.clear();
  ASSERT_TRUE(writer.WriteGraph(To(&files->graph)));
  writer.Done();
}

Status Load(const Files& files, Index* index) {
  SnapshotReader reader(index);
  HF_CHECK_OK(reader.ReadGraph(From(files.graph)));
  for (const std::string& floats : files.floats) HF_CHECK_OK(reader.ReadFloats(From(floats)));
  return reader.Finish();
}

TEST(Snapshot, HoldsWhatItsCommitHeldAndGoesOn) {
  IndexOptions options{.filters = 1, .graph_min = 100};
  Fixture fixture(options);
  std::mt19937_64 random(11);
  Files files;
  auto churn = [&](size_t steps) {
    for (size_t i = 0; i < steps; ++i) {
      std::string key = KeyOf(random() % 600);
      if (random() % 5 == 0) {
        fixture.Remove(key);
      } else {
        fixture.Put(key,
                    {fixture.RandomVector(), random() % 9 == 0 ? "b" : "a", {std::to_string(random() % 3)}});
      }
    }
  };
  for (int round = 0; round < 6; ++round) {
    churn(500);
    fixture.Settle();
    churn(50);  // a tail
    uint64_t number = fixture.number;
    Model then = fixture.model;
    churn(100);  // not in the snapshot
    Save(&fixture.index, number, &files);

    Fixture copy(options);
    copy.number = fixture.number;
    copy.model = then;
    Status loaded = Load(files, &copy.index);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
    copy.ExpectHoldsModel();
    double agreement = 0;
    for (int i = 0; i < 40; ++i) {
      std::vector<float> wanted = fixture.RandomVector();
      Query query{.vector = wanted.data(), .k = 10, .partition = "a", .filters = {}};
      auto hits = copy.index.Search(query);
      EXPECT_EQ(hits.size(), 10u);
      agreement += Agreement(hits, copy.Nearest(query)) / 40;
    }
    EXPECT_GT(agreement, 0.98);
    // What was read is an index like any other.
    for (size_t i = 0; i < 300; ++i) copy.Put(KeyOf(i), {copy.RandomVector(), "a", {"1"}});
    copy.Settle();
    copy.ExpectHoldsModel();
  }
  EXPECT_GT(files.floats.size(), 3u);
}

// Values of a filter come and go, times and names of sessions for instance: those that no vector has any more
// must cost nothing.
TEST(Snapshot, ForgetsFilterValuesThatNoVectorHas) {
  IndexOptions options{.filters = 1, .graph_min = 50};
  Fixture fixture(options);
  std::vector<size_t> bytes;
  for (size_t round = 0; round < 3; ++round) {
    for (size_t i = 0; i < 2000; ++i) {
      fixture.Put(KeyOf(i % 100), {fixture.RandomVector(), "", {"value" + std::to_string(round * 2000 + i)}});
      if (i % 20 == 0) fixture.Settle();
    }
    Files files;
    Save(&fixture.index, fixture.number, &files);
    bytes.push_back(files.graph.size());
    Fixture copy(options);
    copy.model = fixture.model;
    ASSERT_TRUE(Load(files, &copy.index).has_value());
    copy.ExpectHoldsModel();
    for (size_t i = 0; i < 100; ++i) copy.Put(KeyOf(i), {copy.RandomVector(), "", {"other" + KeyOf(i)}});
    copy.ExpectHoldsModel();
  }
  EXPECT_LT(bytes[2], bytes[0] + bytes[0] / 4);
}

// An index with a HASH attribute over sessions has a partition for each: those that have ended must cost
// neither memory nor room in snapshots, or both grow as long as the server runs.
TEST(Snapshot, ForgetsPartitionsThatNoVectorHas) {
  IndexOptions options{.filters = 1, .graph_min = 20};
  Fixture fixture(options);
  auto session = [&](size_t number, size_t vectors) {
    for (size_t i = 0; i < vectors; ++i)
      fixture.Put(KeyOf(number) + KeyOf(i), {fixture.RandomVector(), "session" + KeyOf(number), {"v"}});
  };
  auto end = [&](size_t number, size_t vectors) {
    for (size_t i = 0; i < vectors; ++i) fixture.Remove(KeyOf(number) + KeyOf(i));
  };
  auto snapshot_bytes = [&] {
    Files files;
    Save(&fixture.index, fixture.number, &files);
    return files.graph.size() + (files.floats.empty() ? 0 : files.floats[0].size());
  };
  fixture.Settle();
  const size_t empty = snapshot_bytes();
  session(0, 3);
  fixture.Settle();
  EXPECT_EQ(fixture.index.stats().partitions, 1u);
  size_t most = 0;
  for (size_t number = 1; number <= 400; ++number) {
    size_t vectors = number % 50 == 0 ? 60 : 1 + number % 4;  // some large enough for a graph
    session(number, vectors);
    if (number % 3 == 0) fixture.Settle();
    end(number, vectors);
    if (number % 5 == 0) fixture.Settle();
    most = std::max(most, fixture.index.stats().partitions);
  }
  fixture.Settle();
  EXPECT_LE(most, 10u);
  EXPECT_EQ(fixture.index.stats().partitions, 1u);
  EXPECT_EQ(fixture.index.stats().graphs, 0u);
  EXPECT_EQ(fixture.index.stats().dead, 0u);
  fixture.ExpectHoldsModel();

  // One that comes back is an ordinary one.
  session(7, 40);
  fixture.Settle();
  std::vector<float> wanted = fixture.RandomVector();
  EXPECT_EQ(
      fixture.index.Search({.vector = wanted.data(), .k = 100, .partition = "session" + KeyOf(7)}).size(),
      40u);
  Files files;
  Save(&fixture.index, fixture.number, &files);
  Fixture copy(options);
  copy.model = fixture.model;
  ASSERT_TRUE(Load(files, &copy.index).has_value());
  copy.ExpectHoldsModel();
  EXPECT_EQ(copy.index.stats().partitions, 2u);
  end(7, 40), end(0, 3);
  fixture.Settle();
  EXPECT_EQ(fixture.index.stats().partitions, 0u);
  EXPECT_EQ(snapshot_bytes(), empty);
}

// What ended by a commit that readers do not see yet stays until they do.
TEST(Index, APartitionGoesWhenItsEndIsPublished) {
  Fixture fixture({.graph_min = 20});
  fixture.Put("a", {fixture.RandomVector(), "p", {}});
  uint64_t then = fixture.number;
  fixture.Remove("a");
  std::vector<float> wanted = fixture.RandomVector();
  for (int i = 0; i < 3; ++i) fixture.index.Tend(then, 1);
  EXPECT_EQ(fixture.index.stats().partitions, 1u);
  EXPECT_EQ(fixture.index.Search({.vector = wanted.data(), .partition = "p", .as_of = {then}}).size(), 1u);
  fixture.Settle();
  EXPECT_EQ(fixture.index.stats().partitions, 0u);
  EXPECT_TRUE(fixture.index.Search({.vector = wanted.data(), .partition = "p"}).empty());
}

// Writers wait for the index's lock on I/O threads (I-15): sweeps, growth, snapshots and searches that
// compare everything must hold it for a number of steps that does not grow with the index.
TEST(Snapshot, NobodyHoldsTheLockForLongHoweverManyVectorsThereAre) {
  constexpr size_t kVectors = 60'000;
  for (bool exact : {true, false}) {
    // With a graph, few links and short walks: what is counted does not depend on them.
    Fixture fixture({.dimensions = 4, .filters = 1, .m = 4, .ef_construction = 8, .graph_min = 1000});
    fixture.index.SetSearchOptions({.ef = 0, .exact = exact});
    std::vector<float> vector = fixture.RandomVector();
    const size_t vectors = exact ? kVectors : kVectors / 3;
    for (size_t i = 0; i < vectors; ++i) {
      vector[i % 4] += 0.01F;
      std::string value = i % 2 == 0 ? "even" : "value" + std::to_string(i);
      ASSERT_TRUE(fixture.index.Put(++fixture.number, {KeyOf(i), vector.data(), "p", {value}}));
    }
    fixture.Settle();
    EXPECT_EQ(fixture.index.stats().graphs, exact ? 0u : 1u);
    EXPECT_EQ(fixture.index.Search({.vector = vector.data(), .k = 10, .partition = "p"}).size(), 10u);
    Files files;
    Save(&fixture.index, fixture.number, &files);
    for (size_t i = 0; i < vectors; ++i) {
      if (i % 3 != 0) fixture.index.Remove(++fixture.number, KeyOf(i));
    }
    fixture.Settle();
    EXPECT_EQ(fixture.index.stats().vectors, (vectors + 2) / 3);
    EXPECT_EQ(fixture.index.stats().dead, 0u);
    for (size_t i = 0; i < vectors; i += 3) fixture.index.Remove(++fixture.number, KeyOf(i));
    fixture.Settle();
    EXPECT_EQ(fixture.index.stats().partitions, 0u);
    EXPECT_LE(fixture.index.stats().hold_max, Index::kHoldMax);
  }
}

// A damaged snapshot is refused, so that the index is made again; it never brings the program down.
TEST(Snapshot, DamageIsNoticed) {
  IndexOptions options{.dimensions = 4, .filters = 1, .graph_min = 30};
  Fixture fixture(options);
  for (size_t i = 0; i < 60; ++i) fixture.Put(KeyOf(i), {fixture.RandomVector(), "p", {"v"}});
  fixture.Settle();
  Files files;
  Save(&fixture.index, fixture.number, &files);
  std::mt19937_64 random(13);
  for (int i = 0; i < 3000; ++i) {
    Files damaged = files;
    std::string& file = random() % 2 == 0 ? damaged.graph : damaged.floats[0];
    if (random() % 4 == 0) {
      file.resize(random() % file.size());
    } else {
      file[random() % file.size()] ^= static_cast<char>(1 + random() % 255);
    }
    Index index(Fixture::Complete(options));
    EXPECT_FALSE(Load(damaged, &index));
  }
  Index other(Fixture::Complete({.dimensions = 5, .filters = 1}));
  EXPECT_FALSE(Load(files, &other));
}

// --- at the same time ---

// Kernels that do something else now and then while they compare, but not while they do that.
std::function<void()> between_comparisons;
int32_t InterruptedDot(const int8_t* a, const int8_t* b, size_t bytes) {
  constexpr size_t kEvery = 101;  // comparisons
  static size_t count = 0;
  if (between_comparisons && ++count % kEvery == 0) {
    std::function<void()> interruption = std::exchange(between_comparisons, nullptr);
    interruption();
    between_comparisons = std::move(interruption);
  }
  return BestKernels().dot_i8(a, b, bytes);
}

// However far the keeper has come, what it leaves alone must be found: a vector that is half in the graph
// must not be a dead end.
TEST(Index, SearchesInTheMidstOfTendingFindWhatStays) {
  Kernels interrupted = BestKernels();
  interrupted.dot_i8 = InterruptedDot;
  Fixture fixture({.ef_construction = 50, .kernels = &interrupted, .graph_min = 40});
  std::vector<std::vector<float>> fixed;
  for (size_t i = 0; i < 50; ++i) {
    fixed.push_back(fixture.RandomVector());
    fixture.Put("fixed" + std::to_string(i), {fixed.back(), "", {}});
  }
  fixture.Settle(1);
  size_t searches = 0, missed = 0;
  auto search = [&] {
    size_t i = searches++ % fixed.size();
    auto hits = fixture.index.Search({.vector = fixed[i].data(), .k = 5, .partition = "", .filters = {}});
    missed += hits.empty() || hits[0].key != "fixed" + std::to_string(i) ? 1 : 0;
  };
  for (size_t i = 0; i < 1000; ++i) {
    fixture.Put(KeyOf(i % 300), {fixture.RandomVector(), "", {}});
    if (i % 100 != 99) continue;
    between_comparisons = search;
    fixture.Settle(1);
    between_comparisons = nullptr;
  }
  EXPECT_GT(searches, 1000u);
  EXPECT_EQ(missed, 0u);
}

// Searches while others write, while the graph grows and is consolidated. Each reader knows what it must
// find: keys that never change. Meant for the thread sanitizer as much as for what it asserts.
TEST(Index, SearchesDuringWritesFindWhatStays) {
  Fixture fixture({.filters = 1, .graph_min = 200});
  std::vector<std::vector<float>> fixed;
  for (size_t i = 0; i < 50; ++i) {
    fixed.push_back(fixture.RandomVector());
    fixture.Put("fixed" + std::to_string(i), {fixed.back(), "", {"stays"}});
  }
  std::vector<std::vector<float>> churning;
  for (size_t i = 0; i < 4000; ++i) churning.push_back(fixture.RandomVector());
  std::atomic<uint64_t> published{fixture.number};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    uint64_t number = fixture.number;
    for (size_t i = 0; i < churning.size(); ++i) {
      std::string key = KeyOf(i % 700);
      ++number;
      if (i % 6 == 5) {
        fixture.index.Remove(number, key);
      } else {
        EXPECT_TRUE(fixture.index.Put(number, {key, churning[i].data(), "", {"moves"}}));
      }
      published = number;
    }
    stop = true;
  });
  std::thread keeper([&] {
    while (!stop) fixture.index.Tend(published, 2);
  });
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&, r] {
      std::mt19937_64 random(static_cast<uint64_t>(r));
      while (!stop) {
        size_t i = random() % fixed.size();
        Query query{.vector = fixed[i].data(), .k = 5, .partition = "", .filters = {}, .as_of = {published}};
        if (random() % 2 == 0) query.filters = {{0, "stays"}};
        auto hits = fixture.index.Search(query);
        ASSERT_FALSE(hits.empty());
        EXPECT_EQ(hits[0].key, "fixed" + std::to_string(i));
        EXPECT_NEAR(hits[0].score, 0, 1e-6);
        for (const Hit& hit : hits) EXPECT_TRUE(std::isfinite(hit.score));
      }
    });
  }
  writer.join();
  keeper.join();
  for (std::thread& reader : readers) reader.join();
}

// Stopping a program must not wait for a graph: growth and consolidation end where they are, and the index
// can still be searched and saved.
TEST(VectorIndex, StopsTendingWhereItIsAndStaysSound) {
  Fixture fixture({.graph_min = 100});
  auto put = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) fixture.Put(KeyOf(i), {fixture.RandomVector(), "", {}});
  };
  put(0, 2500);
  fixture.Settle();
  for (size_t i = 0; i < 1000; ++i) fixture.Remove(KeyOf(i));  // enough for a consolidation
  put(2500, 4000);
  std::thread keeper([&] { fixture.Settle(); });
  fixture.index.StopTending();
  keeper.join();
  fixture.ExpectHoldsModel();
  for (size_t i = 1000; i < 4000; i += 7) {
    const Known& known = fixture.model[KeyOf(i)];
    Query query{
        .vector = known.vector.data(), .k = 1, .partition = "", .filters = {}, .as_of = {fixture.number}};
    std::vector<Hit> hits = fixture.index.Search(query);
    ASSERT_EQ(hits.size(), 1u);
    EXPECT_EQ(hits[0].key, KeyOf(i));
  }
  put(4000, 5500);
  size_t backlog = fixture.index.backlog();
  EXPECT_FALSE(fixture.index.Tend(fixture.number, 2));
  EXPECT_EQ(fixture.index.backlog(), backlog) << "nothing is begun any more";
}

}  // namespace
}  // namespace holdfast::vector
