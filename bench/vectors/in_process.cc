// Searches in process, one thread: holdfast's index against hnswlib on the same data, with the recall of each
// beside its speed. See bench/README.md.
//   holdfast_bench_vectors [--count N] [--dimensions D] [--clusters C] [--spread S] [--queries Q] [--peer]
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "data.h"
#include "hnswlib_peer.h"
#include "vector/index.h"

namespace holdfast::bench {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Settings : Shape {
  size_t queries = 1000, ef = 0, ef_construction = 200;
  double profile = 0;
  bool peer = false;
};

struct Data {
  std::vector<float> vectors, queries;
  std::vector<size_t> clusters;
};

Data Generate(const Settings& settings) {
  Data data;
  ClusteredVectors source = settings.Vectors();
  data.vectors.reserve(settings.count * settings.dimensions);
  for (size_t i = 0; i < settings.count; ++i) data.clusters.push_back(source.Append(&data.vectors));
  for (size_t i = 0; i < settings.queries; ++i) source.Append(&data.queries);
  return data;
}

using Found = std::vector<std::vector<std::string>>;

double Recall(const Found& found, const Found& truth) {
  size_t right = 0, all = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    std::set<std::string> wanted(truth[i].begin(), truth[i].end());
    all += wanted.size();
    for (const std::string& key : found[i]) right += wanted.count(key);
  }
  return all == 0 ? 1 : static_cast<double>(right) / static_cast<double>(all);
}

struct Run {
  Found found;
  double per_second = 0, p50 = 0, p95 = 0, p99 = 0;  // latencies in milliseconds
};

template <class Search>
Run Measure(size_t queries, const Search& search) {
  Run run;
  std::vector<double> millis;
  auto start = Clock::now();
  for (size_t i = 0; i < queries; ++i) {
    auto begun = Clock::now();
    run.found.push_back(search(i));
    millis.push_back(SecondsSince(begun) * 1000);
  }
  run.per_second = static_cast<double>(queries) / SecondsSince(start);
  std::sort(millis.begin(), millis.end());
  auto at = [&](double share) {
    return millis[static_cast<size_t>(share * static_cast<double>(millis.size() - 1))];
  };
  run.p50 = at(0.5), run.p95 = at(0.95), run.p99 = at(0.99);
  return run;
}

void Report(const char* what, const Run& run, const Found& truth) {
  std::printf("%-34s recall %.4f  %8.0f/s  p50 %.3f ms  p95 %.3f ms  p99 %.3f ms\n", what,
              Recall(run.found, truth), run.per_second, run.p50, run.p95, run.p99);
  std::fflush(stdout);
}

double PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int Main(const Settings& settings) {
  Data data = Generate(settings);
  double before = PeakMegabytes();
  vector::Index index({.dimensions = settings.dimensions,
                       .metric = vector::Metric::kCosine,
                       .filters = 2,
                       .ef_construction = settings.ef_construction});
  const char* shares[] = {"1/2", "1/10", "1/100", "1/1000"};
  const size_t share_of[] = {2, 10, 100, 1000};
  auto start = Clock::now();
  uint64_t number = 1;
  auto put = [&](size_t i, const float* floats) {
    // The first filter passes a share of all, spread evenly; the second goes with the cluster.
    std::string name = "all";
    for (size_t s = 0; s < 4; ++s) {
      if (i % share_of[s] == share_of[s] - 1) name = shares[s];
    }
    std::string cluster = std::to_string(data.clusters[i] % 8);
    bool done = index.Put(number++, {KeyOf(i), floats, "", {name, cluster}});
    if (!done) std::abort();
  };
  for (size_t i = 0; i < settings.count; ++i) put(i, &data.vectors[i * settings.dimensions]);
  double put_seconds = SecondsSince(start);
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  start = Clock::now();
  while (index.Tend(number, threads)) {
  }
  double build_seconds = SecondsSince(start);
  double memory = PeakMegabytes() - before;
  std::printf("%zu x %zu: put %.1f s, build %.1f s on %d threads, %.0f bytes a vector (peak), %.0f counted\n",
              settings.count, settings.dimensions, put_seconds, build_seconds, threads,
              memory * 1024 * 1024 / static_cast<double>(settings.count),
              static_cast<double>(index.stats().memory_bytes) / static_cast<double>(settings.count));

  auto search = [&](std::vector<vector::Query::Filter> filters = {}) {
    return [&, filters](size_t i) {
      std::vector<std::string> keys;
      for (vector::Hit& hit : index.Search({.vector = &data.queries[i * settings.dimensions],
                              .k = kTop,
                              .partition = "",
                              .filters = filters})) {
        keys.push_back(std::move(hit.key));
      }
      return keys;
    };
  };
  index.SetSearchOptions({.ef = settings.ef});
  if (settings.profile > 0) {  // nothing but searches, for a profiler to look at
    start = Clock::now();
    size_t done = 0;
    while (SecondsSince(start) < settings.profile) search()(done++ % settings.queries);
    std::printf("%.0f searches/s\n", static_cast<double>(done) / SecondsSince(start));
    return 0;
  }
  auto exactly = [&](std::vector<vector::Query::Filter> filters = {}) {
    index.SetSearchOptions({.exact = true});
    Run run = Measure(settings.queries, search(filters));
    index.SetSearchOptions({.ef = settings.ef});
    return run;
  };
  Run exact = exactly();
  Report("holdfast, exact", exact, exact.found);
  Report("holdfast", Measure(settings.queries, search()), exact.found);
  for (size_t ef : {32, 48, 64, 96, 128, 192}) {
    index.SetSearchOptions({.ef = ef});
    Report(("holdfast, ef " + std::to_string(ef)).c_str(), Measure(settings.queries, search()), exact.found);
  }
  index.SetSearchOptions({.ef = settings.ef});
  for (const char* share : shares) {
    std::vector<vector::Query::Filter> filters{{0, share}};
    Run truth = exactly(filters);
    Report((std::string("holdfast, filter ") + share).c_str(), Measure(settings.queries, search(filters)),
           truth.found);
  }
  std::vector<vector::Query::Filter> correlated{{1, "3"}};
  Run truth = exactly(correlated);
  Report("holdfast, filter by cluster", Measure(settings.queries, search(correlated)), truth.found);

  if (settings.peer) {
    start = Clock::now();
    HnswlibPeer peer(settings.dimensions, settings.count, 16, settings.ef_construction);
    peer.Build(data.vectors, threads);
    std::printf("hnswlib: build %.1f s on %d threads\n", SecondsSince(start), threads);
    for (size_t ef : {32, 48, 64, 96, 128, 192}) {
      peer.SetEf(ef);
      Run run = Measure(settings.queries, [&](size_t i) {
        std::vector<std::string> keys;
        for (const HnswlibPeer::Found& found : peer.Search(&data.queries[i * settings.dimensions], kTop))
          keys.push_back(KeyOf(found.label));
        return keys;
      });
      Report(("hnswlib, ef " + std::to_string(ef)).c_str(), run, exact.found);
    }
  }

  // A third of all is replaced by new vectors of the same kind.
  start = Clock::now();
  for (size_t i = 0; i < settings.count; ++i) {
    if (i % 10 >= 3) continue;
    std::vector<float> fresh(
        data.vectors.begin() + static_cast<ptrdiff_t>((i + 3) % settings.count * settings.dimensions),
        data.vectors.begin() + static_cast<ptrdiff_t>(((i + 3) % settings.count + 1) * settings.dimensions));
    for (float& x : fresh) x += 0.01F * static_cast<float>(i % 7);
    put(i, fresh.data());
  }
  while (index.Tend(number, threads)) {
  }
  std::printf("churn of 30 %%: %.1f s, dead %zu\n", SecondsSince(start), index.stats().dead);
  truth = exactly();
  Report("holdfast after churn", Measure(settings.queries, search()), truth.found);
  return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  holdfast::bench::Settings settings;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--peer") {
      settings.peer = true;
      continue;
    }
    double value = i + 1 < argc ? std::strtod(argv[++i], nullptr) : 0;
    if (flag == "--queries")
      settings.queries = static_cast<size_t>(value);
    else if (flag == "--profile")
      settings.profile = value;
    else if (flag == "--ef")
      settings.ef = static_cast<size_t>(value);
    else if (flag == "--ef-construction")
      settings.ef_construction = static_cast<size_t>(value);
    else
      settings.Take(flag, value);
  }
  return holdfast::bench::Main(settings);
}
