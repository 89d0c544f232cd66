// Vectors written and searched over HTTP; bench/vectors/compare runs it. Prints one JSON object.
//
//   holdfast_vector_load --workload truth --file F     # the queries and, by brute force, their nearest
//   holdfast_vector_load --workload load --port 8000   # every vector once, by BatchWriteItem
//   holdfast_vector_load --workload write --batch 1    # the same, with requests rendered before the clock
//   runs holdfast_vector_load --workload search --file F    # for some time, with recall holdfast_vector_load
//   --workload copy               # vectors as PostgreSQL's COPY takes them holdfast_vector_load --workload
//   copy-queries --file F
//
// The data: --count, --dimensions, --clusters, --spread (data.h), --queries.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <thread>
#include <utility>

#include "closed_loop.h"
#include "data.h"
#include "vector/kernels.h"

namespace holdfast::bench {
namespace {

struct Options {
  LoopOptions loop;
  Shape shape;
  std::string workload, file, table = "bench";
  size_t queries = 1000, batch = 10;
};

// A query and the labels of its nearest vectors.
struct Query {
  std::vector<float> vector;
  std::vector<uint32_t> nearest;
};

// --- the file of queries: for each its floats, then its labels ---

void WriteQueries(const std::vector<Query>& queries, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  auto write = [&](const auto& values) {
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof values[0]));
  };
  for (const Query& query : queries) write(query.vector), write(query.nearest);
  if (!out.flush()) Die("cannot write " + path);
}

std::vector<Query> ReadQueries(const Options& options) {
  std::ifstream in(options.file, std::ios::binary);
  auto read = [&](auto* values, size_t count) {
    values->resize(count);
    in.read(reinterpret_cast<char*>(values->data()),
            static_cast<std::streamsize>(count * sizeof(*values)[0]));
  };
  std::vector<Query> queries(options.queries);
  for (Query& query : queries) read(&query.vector, options.shape.dimensions), read(&query.nearest, kTop);
  if (!in) Die("too few queries in " + options.file);
  return queries;
}

// --- the exact answers ---

using Nearest = std::vector<std::pair<double, uint32_t>>;  // by negated similarity

void Compare(const Options& options, const std::vector<float>& block, uint32_t first,
             const std::vector<Query>& queries, size_t begin, size_t end, std::vector<Nearest>* nearest) {
  const size_t dimensions = options.shape.dimensions;
  auto dot = vector::BestKernels().dot_f32;
  for (size_t i = 0; i * dimensions < block.size(); ++i) {
    const float* vector = &block[i * dimensions];
    double norm = std::sqrt(dot(vector, vector, dimensions));
    for (size_t q = begin; q < end; ++q) {
      Nearest& best = (*nearest)[q];
      std::pair<double, uint32_t> candidate{-dot(vector, queries[q].vector.data(), dimensions) / norm,
                                            first + static_cast<uint32_t>(i)};
      if (best.size() == kTop && best.back() <= candidate) continue;
      best.insert(std::upper_bound(best.begin(), best.end(), candidate), candidate);
      if (best.size() > kTop) best.pop_back();
    }
  }
}

void Truth(const Options& options) {
  constexpr size_t kBlock = 1000;
  const Shape& shape = options.shape;
  std::vector<Query> queries(options.queries);
  ClusteredVectors skipped = shape.Vectors();
  std::vector<float> block;
  for (size_t i = 0; i < shape.count; ++i) block.clear(), skipped.Append(&block);
  for (Query& query : queries) skipped.Append(&query.vector);

  std::vector<Nearest> nearest(queries.size());
  ClusteredVectors source = shape.Vectors();
  const size_t threads = std::thread::hardware_concurrency();
  for (size_t first = 0; first < shape.count; first += kBlock) {
    block.clear();
    for (size_t i = first; i < std::min(shape.count, first + kBlock); ++i) source.Append(&block);
    std::vector<std::thread> workers;
    for (size_t t = 0; t < threads; ++t) {
      workers.emplace_back(Compare, std::cref(options), std::cref(block), static_cast<uint32_t>(first),
                           std::cref(queries), queries.size() * t / threads,
                           queries.size() * (t + 1) / threads, &nearest);
    }
    for (std::thread& worker : workers) worker.join();
  }
  for (size_t q = 0; q < queries.size(); ++q)
    for (const auto& [similarity, label] : nearest[q]) queries[q].nearest.push_back(label);
  WriteQueries(queries, options.file);
}

// --- requests ---

void AppendFloats(const std::vector<float>& vector, const char* before, const char* after, std::string* out) {
  char text[32];
  for (size_t i = 0; i < vector.size(); ++i) {
    if (i > 0) out->push_back(',');
    out->append(before).append(text, std::to_chars(text, text + sizeof text, vector[i]).ptr).append(after);
  }
}

void AppendNumbers(const std::vector<float>& vector, std::string* out) {
  AppendFloats(vector, "{\"N\":\"", "\"}", out);
}

// Every vector once, `batch` in a request.
class Writes : public Source {
 public:
  explicit Writes(const Options& options) : options_(options), vectors_(options.shape.Vectors()) {}

  std::string Next(size_t*) override {
    if (done_ == options_.shape.count) return "";
    if (options_.batch == 1) {
      return Request("PutItem", "{\"TableName\":\"" + options_.table + "\"," + NextItem() + "}");
    }
    std::string body = "{\"RequestItems\":{\"" + options_.table + "\":[";
    for (size_t i = 0; i < options_.batch && done_ < options_.shape.count; ++i) {
      body.append(i == 0 ? "{\"PutRequest\":{" : ",{\"PutRequest\":{").append(NextItem()).append("}}");
    }
    return Request("BatchWriteItem", body + "]}}");
  }
  bool Accept(size_t, const std::string& answer) override { return IsSuccess(answer); }

 private:
  std::string NextItem() {
    vector_.clear();
    vectors_.Append(&vector_);
    std::string item = "\"Item\":{\"id\":{\"S\":\"" + KeyOf(done_++) + "\"},\"v\":{\"L\":[";
    AppendNumbers(vector_, &item);
    return item + "]}}";
  }

  const Options& options_;
  ClusteredVectors vectors_;
  std::vector<float> vector_;
  size_t done_ = 0;
};

// The requests of another source, made before the clock runs.
class Rendered : public Source {
 public:
  explicit Rendered(Source* source) : source_(source) {
    size_t tag = 0;
    for (std::string request = source->Next(&tag); !request.empty(); request = source->Next(&tag))
      requests_.push_back(std::move(request));
  }
  std::string Next(size_t*) override { return next_ < requests_.size() ? std::move(requests_[next_++]) : ""; }
  bool Accept(size_t tag, const std::string& answer) override { return source_->Accept(tag, answer); }

 private:
  Source* const source_;
  std::vector<std::string> requests_;
  size_t next_ = 0;
};

class Searches : public Source {
 public:
  explicit Searches(const Options& options) : queries_(ReadQueries(options)) {
    for (const Query& query : queries_) {
      std::string body = "{\"TableName\":\"" + options.table +
                         "\",\"IndexName\":\"near\",\"TopK\":" + std::to_string(kTop) + ",\"SearchVector\":[";
      AppendNumbers(query.vector, &body);
      requests_.push_back(Request("SearchVectors", body + "]}"));
    }
  }

  std::string Next(size_t* tag) override {
    *tag = next_++ % requests_.size();
    return requests_[*tag];
  }

  bool Accept(size_t tag, const std::string& answer) override {
    constexpr std::string_view kBefore = "\"id\":{\"S\":\"";
    const std::vector<uint32_t>& wanted = queries_[tag].nearest;
    size_t results = 0;
    for (size_t at = answer.find(kBefore); at != std::string::npos; at = answer.find(kBefore, at + 1)) {
      ++results;
      auto label = static_cast<uint32_t>(std::strtoul(answer.c_str() + at + kBefore.size(), nullptr, 10));
      if (std::find(wanted.begin(), wanted.end(), label) != wanted.end()) ++right_;
    }
    all_ += kTop;
    return IsSuccess(answer) && results == kTop;
  }

  double recall() const { return static_cast<double>(right_) / static_cast<double>(all_); }

 private:
  std::vector<Query> queries_;
  std::vector<std::string> requests_;
  size_t next_ = 0, right_ = 0, all_ = 0;
};

// --- lines for COPY ---

void PrintRow(size_t number, const std::vector<float>& vector) {
  std::string line = std::to_string(number) + "\t[";
  AppendFloats(vector, "", "", &line);
  std::puts((line + "]").c_str());
}

void PrintVectors(const Options& options) {
  ClusteredVectors source = options.shape.Vectors();
  std::vector<float> vector;
  for (size_t i = 0; i < options.shape.count; ++i) {
    vector.clear();
    source.Append(&vector);
    PrintRow(i, vector);
  }
}

void PrintQueries(const Options& options) {
  size_t number = 0;
  for (const Query& query : ReadQueries(options)) PrintRow(number++, query.vector);
}

int Main(Options options) {
  const std::string& workload = options.workload;
  if (workload == "truth") return Truth(options), 0;
  if (workload == "copy") return PrintVectors(options), 0;
  if (workload == "copy-queries") return PrintQueries(options), 0;
  if (workload == "search") {
    Searches searches(options);
    Result result = RunClosedLoop(options.loop, &searches);
    std::printf("{%s,\"recall\":%.4f}\n", Figures(result, 1).c_str(), searches.recall());
    return ExitCode(result);
  }
  if (workload != "load" && workload != "write") Die("no such workload: " + workload);
  options.loop.seconds = 0;
  Writes writes(options);
  Result result;
  if (workload == "load") {
    result = RunClosedLoop(options.loop, &writes);
  } else {
    Rendered rendered(&writes);
    result = RunClosedLoop(options.loop, &rendered);
  }
  std::printf("{%s}\n", Figures(result, static_cast<int64_t>(options.batch)).c_str());
  return ExitCode(result);
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--workload")
      options.workload = value;
    else if (flag == "--file")
      options.file = value;
    else if (flag == "--table")
      options.table = value;
    else if (flag == "--queries")
      options.queries = std::stoull(value);
    else if (flag == "--batch")
      options.batch = std::stoull(value);
    else if (!TakeLoopFlag(flag, value, &options.loop) &&
             !options.shape.Take(flag, std::strtod(value.c_str(), nullptr)))
      Die("no such flag: " + flag);
  }
  return options;
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  return holdfast::bench::Main(holdfast::bench::ParseOptions(argc, argv));
}
