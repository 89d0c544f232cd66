// How many of the truly nearest a search finds, with the settings that ship: on clustered data, fresh, after
// a third was replaced, after a restart, and under filters of every width.
//
// The short form runs always. HOLDFAST_RECALL=100000x1024 or 1000000x128 is the long form; it needs memory
// for the vectors twice and some minutes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include "base/check.h"
#include "vector/clustered.h"
#include "vector/index.h"
#include "vector/snapshot.h"

namespace holdfast::vector {
namespace {

constexpr size_t kTop = 10;

struct Size {
  size_t count = 20'000, dimensions = 96, queries = 100;
};

Size SizeWanted() {
  Size size;
  if (const char* wanted = std::getenv("HOLDFAST_RECALL")) {
    HF_ASSERT(std::sscanf(wanted, "%zux%zu", &size.count, &size.dimensions) == 2);
    size.queries = 200;
  }
  return size;
}

class Recall {
 public:
  Recall(const Size& size, size_t ef_construction)
      : size_(size), source_(size.dimensions, std::max<size_t>(8, size.count / 100), 0.6, 42) {
    options_.dimensions = size.dimensions;
    options_.filters = 2;
    options_.ef_construction = ef_construction;
    index_ = std::make_unique<Index>(options_);
    for (size_t i = 0; i < size.count; ++i) Put(i);
    Settle();
    for (size_t i = 0; i < size.queries; ++i) source_.Append(&queries_);
  }

  // Of one kind of search. Checks that every result is full: each of these filters passes more than enough.
  double Measure(const std::vector<Query::Filter>& filters) {
    auto search = [&] {
      std::vector<std::vector<Hit>> found;
      for (size_t i = 0; i < size_.queries; ++i) {
        found.push_back(index_->Search(
            {.vector = &queries_[i * size_.dimensions], .k = kTop, .partition = "", .filters = filters}));
        EXPECT_EQ(found.back().size(), kTop);
      }
      return found;
    };
    auto found = search();
    index_->SetSearchOptions({.exact = true});
    auto truth = search();
    index_->SetSearchOptions({});
    size_t right = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      std::set<std::string> wanted;
      for (const Hit& hit : truth[i]) wanted.insert(hit.key);
      for (const Hit& hit : found[i]) right += wanted.count(hit.key);
    }
    return static_cast<double>(right) / static_cast<double>(kTop * found.size());
  }

  void ExpectAll(const char* when) {
    const std::pair<const char*, std::vector<Query::Filter>> kinds[] = {
        {"no filter", {}},          {"1 of 2", {{0, "2"}}},       {"1 of 10", {{0, "10"}}},
        {"1 of 100", {{0, "100"}}}, {"1 of 1000", {{0, "1000"}}}, {"by cluster", {{1, "3"}}}};
    for (const auto& [name, filters] : kinds) {
      double recall = Measure(filters);
      std::printf("  %zu x %zu, %s, %s: %.4f\n", size_.count, size_.dimensions, when, name, recall);
      EXPECT_GE(recall, 0.99) << when << ", " << name;
    }
  }

  void Churn() {
    for (size_t i = 0; i < size_.count; ++i) {
      if (i % 10 < 3) Put(i);
    }
    Settle();
  }

  void Restart() {
    std::string graph, floats;
    auto to = [](std::string* out) -> Sink {
      return [out](std::string_view bytes) -> Status {
        out->append(bytes);
        return Ok{};
      };
    };
    auto from = [](const std::string& bytes) -> Source {
      return [rest = std::string_view(bytes)](size_t size, char* out) mutable -> Status {
        HF_ASSERT(size <= rest.size());
        rest.copy(out, size);
        rest.remove_prefix(size);
        return Ok{};
      };
    };
    SnapshotWriter writer(index_.get(), number_);
    ASSERT_TRUE(writer.WriteFloats(SnapshotWriter::Which::kAll, to(&floats)));
    ASSERT_TRUE(writer.WriteGraph(to(&graph)));
    index_ = std::make_unique<Index>(options_);
    SnapshotReader reader(index_.get());
    ASSERT_TRUE(reader.ReadGraph(from(graph)));
    ASSERT_TRUE(reader.ReadFloats(from(floats)));
    ASSERT_TRUE(reader.Finish());
  }

 private:
  void Put(size_t i) {
    std::vector<float> vector;
    size_t cluster = source_.Append(&vector);
    // Each share of all, spread evenly; and one that goes with the clusters.
    std::string share = "rest";
    for (size_t one_of : {2, 10, 100, 1000}) {
      if (i % one_of == one_of - 1) share = std::to_string(one_of);
    }
    std::string group = std::to_string(cluster % 8);
    std::string key = std::to_string(i);
    EXPECT_TRUE(index_->Put(++number_, {key, vector.data(), "", {share, group}}));
  }
  void Settle() {
    auto threads = static_cast<int>(std::thread::hardware_concurrency());
    while (index_->Tend(number_, threads)) {
    }
  }

  const Size size_;
  ClusteredVectors source_;
  IndexOptions options_;
  std::unique_ptr<Index> index_;
  std::vector<float> queries_;
  uint64_t number_ = 0;
};

TEST(Recall, IsAtLeastNinetyNinePercentWithShippedSettings) {
  Recall recall(SizeWanted(), IndexOptions().ef_construction);
  recall.ExpectAll("fresh");
  recall.Churn();
  recall.ExpectAll("after 30 % churn");
  recall.Restart();
  recall.ExpectAll("after restart");
}

// What a graph built with fewer candidates gives: told, because people choose it for its speed.
TEST(Recall, OfAGraphBuiltWithSixtyFourIsTold) {
  Recall recall(SizeWanted(), 64);
  double share = recall.Measure({});
  std::printf("  ef_construction 64: %.4f\n", share);
  EXPECT_GT(share, 0.9);
}

}  // namespace
}  // namespace holdfast::vector
