// Loads and asks tables of any size, and holds every answer against what the number of its item says: nothing
// is remembered, so twenty million items cost it no more memory than twenty. Prints one JSON object.
//
//   size_load --port 8000 --workload load --table items --items 2000000
//   size_load --port 8000 --workload get --items 2000000 --seconds 5 --hot 10000
//
// Item n of `items` stands in partition p(n / 10) with the sort key n % 10; partitions have random names, so
// that items loaded in the order of their numbers, or in a random one, come in no order of keys. Workloads:
//
//   load        items [first, first + count), once, in a random order; with --past N each expires at second N
//   loaded      the first --count items of a load that was cut short, in its order
//   change      of forty items one is put anew, one is updated, one is deleted: `changed` from here on
//   revert      the same three are put as they were: no longer `changed`
//   get absent query query-gsi query-lsi   random items, until --seconds have passed or --count was asked
//   put update mixed                       likewise; they leave items as they were, but for a counter
//   scan        every item, in as many segments as there are connections; count and checksum have to be right
//   scan-gsi    every entry of the index by-group
//   vectors search                         `items` vectors of --dimensions, and searches for one of them
//   sessions    one event for each of `items` sessions of agents; with --token
//   session-get random sessions
//
// --state changed: `change` went before. --hot N: only the first N. --rate R: so many requests a second,
// begun on time or late, whatever the answers do; latencies count from when a request was due. --survive yes:
// a load goes on until the server is gone, and reports how many of its items, in its order, were all
// acknowledged. --wrong-max S: this share of the answers may be wrong, as those of a search that is not
// exact.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "closed_loop.h"

namespace holdfast::bench {
namespace {

constexpr int64_t kPartition = 10;  // items of a partition
constexpr int64_t kGroup = 50;      // items of a group, about

struct Options {
  LoopOptions loop;
  std::string workload, table = "items", token;
  int64_t items = 10'000, first = 0, count = 0, hot = 0, past = 0;
  size_t dimensions = 128;
  bool changed = false;
  double wrong_max = 0;
  uint64_t seed = 1;
};

uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

std::string Hex(uint64_t x) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, x);
  return text.data();
}

// What has become of an item.
enum class Fate : uint8_t { kFirst, kPutAnew, kUpdated, kDeleted };

Fate FateOf(int64_t n, bool changed) {
  if (!changed) return Fate::kFirst;
  switch (n % 40) {
    case 3: return Fate::kPutAnew;
    case 14: return Fate::kUpdated;
    case 25: return Fate::kDeleted;
    default: return Fate::kFirst;
  }
}
int64_t VersionOf(Fate fate) {
  return fate == Fate::kPutAnew ? 1 : fate == Fate::kUpdated ? 2 : 0;
}

uint64_t ChecksumOf(int64_t n, int64_t version) {
  return Mix(Mix(static_cast<uint64_t>(n)) + static_cast<uint64_t>(version)) >> 32;
}

std::string PartitionKey(int64_t n) {
  return "p" + Hex(Mix(static_cast<uint64_t>(n / kPartition)));
}
std::string Key(int64_t n) {
  return "\"pk\":{\"S\":\"" + PartitionKey(n) + "\"},\"sk\":{\"N\":\"" + std::to_string(n % kPartition) +
         "\"}";
}
std::string Quoted(const std::string& text) {
  return "\"" + text + "\"";
}

// Random letters that compress to about a half, as text does.
std::string Note(int64_t n, int64_t version) {
  std::string note;
  uint64_t state = Mix(static_cast<uint64_t>(n) * 4 + static_cast<uint64_t>(version));
  while (note.size() < 336) note += Hex(state = Mix(state));
  return note;
}
std::string Checksum(int64_t n, int64_t version) {
  return "\"h\":{\"N\":\"" + std::to_string(ChecksumOf(n, version)) + "\"}";
}

class Numbers {
 public:
  explicit Numbers(const Options& options)
      : groups_(std::max<int64_t>(1, options.items / kGroup)), options_(options) {}

  int64_t group_of(int64_t n) const { return n / kPartition % groups_; }
  // Items that have this group.
  int64_t SizeOf(int64_t group) const {
    int64_t size = 0;
    for (int64_t first = group * kPartition; first < options_.items; first += groups_ * kPartition)
      size += SizeOfPartition(first);
    return size;
  }
  int64_t SizeOfPartition(int64_t first) const {
    int64_t size = 0;
    for (int64_t n = first; n < std::min(first + kPartition, options_.items); ++n)
      size += FateOf(n, options_.changed) != Fate::kDeleted ? 1 : 0;
    return size;
  }

  std::string Attributes(int64_t n, int64_t version) const {
    std::string text = Key(n) + ",\"v\":{\"N\":\"" + std::to_string(version) +
                       "\"},\"c\":{\"N\":\"0\"},\"g\":{\"S\":\"g" + std::to_string(group_of(n)) +
                       "\"},\"l\":{\"S\":\"" + Hex(Mix(static_cast<uint64_t>(n))) + "\"}," +
                       Checksum(n, version) + ",\"note\":{\"S\":\"" + Note(n, version) + "\"}";
    if (options_.past != 0) text += ",\"e\":{\"N\":\"" + std::to_string(options_.past) + "\"}";
    return text;
  }

 private:
  const int64_t groups_;
  const Options& options_;
};

bool Has(const std::string& answer, const std::string& text) {
  return answer.find(text) != std::string::npos;
}
std::string BodyOf(const std::string& answer) {
  size_t head = answer.find("\r\n\r\n");
  return head == std::string::npos ? std::string() : answer.substr(head + 4);
}
std::string Table(const Options& options) {
  return "{\"TableName\":" + Quoted(options.table);
}

// Goes through [0, count) once, in an order that looks random and needs no memory.
class Permutation {
 public:
  explicit Permutation(int64_t count) : count_(static_cast<uint64_t>(std::max<int64_t>(1, count))) {
    for (step_ = 0x9E3779B1 % count_ + 1; Gcd(step_, count_) != 1;) ++step_;
  }
  int64_t operator()(int64_t i) const {
    return static_cast<int64_t>(static_cast<uint64_t>(static_cast<unsigned __int128>(i) * step_ % count_));
  }

 private:
  static uint64_t Gcd(uint64_t a, uint64_t b) { return b == 0 ? a : Gcd(b, a % b); }
  const uint64_t count_;
  uint64_t step_;
};

// --- every item once ---

class Loader : public Source {
 public:
  explicit Loader(const Options& options)
      : options_(options),
        numbers_(options),
        count_(options.count != 0 ? options.count : options.items - options.first),
        order_(count_) {}

  std::string Next(size_t* tag) override {
    if (at_ >= count_) return "";
    *tag = static_cast<size_t>(at_ / kBatch);
    answered_.push_back(false);
    std::string body = "{\"RequestItems\":{" + Quoted(options_.table) + ":[";
    for (int64_t i = 0; i < kBatch && at_ < count_; ++i, ++at_) {
      body += (i == 0 ? "" : ",") + std::string("{\"PutRequest\":{\"Item\":{") +
              Item(options_.first + order_(at_)) + "}}}";
    }
    return Request("BatchWriteItem", body + "]}}");
  }
  bool Accept(size_t tag, const std::string& answer) override {
    if (!IsSuccess(answer) || !Has(answer, "\"UnprocessedItems\":{}")) return false;
    answered_[tag - forgotten_] = true;
    for (; !answered_.empty() && answered_.front(); ++forgotten_) answered_.pop_front();
    return true;
  }
  // So many, from the first on, are all acknowledged.
  int64_t acknowledged() const { return std::min(static_cast<int64_t>(forgotten_) * kBatch, count_); }

 protected:
  virtual std::string Item(int64_t n) const { return numbers_.Attributes(n, 0); }
  const Options& options_;

 private:
  static constexpr int64_t kBatch = 25;
  const Numbers numbers_;
  const int64_t count_;
  const Permutation order_;
  int64_t at_ = 0;
  size_t forgotten_ = 0;       // batches, all of them acknowledged, that are no longer in `answered_`
  std::deque<bool> answered_;  // each batch since
};

// What a load that was cut short had been told it has.
class LoadedReader final : public Source {
 public:
  explicit LoadedReader(const Options& options) : options_(options), order_(options.items - options.first) {}

  std::string Next(size_t* tag) override {
    if (at_ >= options_.count) return "";
    int64_t n = options_.first + order_(at_++);
    *tag = static_cast<size_t>(n);
    return Request("GetItem", Table(options_) + ",\"Key\":{" + Key(n) + "}}");
  }
  bool Accept(size_t tag, const std::string& answer) override {
    return IsSuccess(answer) && Has(answer, Note(static_cast<int64_t>(tag), 0));
  }

 private:
  const Options& options_;
  const Permutation order_;
  int64_t at_ = 0;
};

std::string VectorOf(int64_t n, size_t dimensions) {
  std::string text = "[";
  uint64_t state = Mix(static_cast<uint64_t>(n));
  for (size_t i = 0; i < dimensions; ++i) {
    state = Mix(state);
    std::array<char, 24> number{};
    std::snprintf(number.data(), number.size(), "%.3f",
                  static_cast<double>(static_cast<int64_t>(state % 2001)) / 1000 - 1);
    text += (i == 0 ? "{\"N\":\"" : ",{\"N\":\"") + std::string(number.data()) + "\"}";
  }
  return text + "]";
}

class VectorLoader final : public Loader {
 public:
  using Loader::Loader;

 private:
  std::string Item(int64_t n) const override {
    return "\"pk\":{\"S\":\"v" + std::to_string(n) + "\"},\"w\":{\"L\":" + VectorOf(n, options_.dimensions) +
           "}";
  }
};

class Changer final : public Source {
 public:
  explicit Changer(const Options& options) : options_(options), numbers_(options) {}

  std::string Next(size_t*) override {
    while (at_ < options_.items && FateOf(at_, true) == Fate::kFirst) ++at_;
    if (at_ >= options_.items) return "";
    int64_t n = at_++;
    if (options_.workload == "revert")
      return Request("PutItem", Table(options_) + ",\"Item\":{" + numbers_.Attributes(n, 0) + "}}");
    switch (FateOf(n, true)) {
      case Fate::kPutAnew:
        return Request("PutItem", Table(options_) + ",\"Item\":{" + numbers_.Attributes(n, 1) + "}}");
      case Fate::kUpdated:
        return Request("UpdateItem",
                       Table(options_) + ",\"Key\":{" + Key(n) +
                           "},\"UpdateExpression\":\"SET v = :v, h = :h, note = :n\",\"ConditionExpression\":"
                           "\"attribute_exists(pk)\",\"ExpressionAttributeValues\":{\":v\":{\"N\":\"2\"},\":"
                           "h\":{\"N\":\"" +
                           std::to_string(ChecksumOf(n, 2)) + "\"},\":n\":{\"S\":\"" + Note(n, 2) + "\"}}}");
      default:
        return Request("DeleteItem", Table(options_) + ",\"Key\":{" + Key(n) +
                                         "},\"ConditionExpression\":\"attribute_exists(pk)\"}");
    }
  }
  bool Accept(size_t, const std::string& answer) override { return IsSuccess(answer); }

 private:
  const Options& options_;
  const Numbers numbers_;
  int64_t at_ = 0;
};

// --- random items ---

class Random : public Source {
 public:
  explicit Random(const Options& options) : options_(options), numbers_(options), random_(options.seed) {}

  std::string Next(size_t* tag) override {
    if (options_.count != 0 && asked_++ >= options_.count) return "";
    int64_t among = options_.hot != 0 ? std::min(options_.hot, options_.items) : options_.items;
    auto n = static_cast<int64_t>(random_() % static_cast<uint64_t>(among));
    const std::string& w = options_.workload;
    bool puts = w == "put" || (w == "mixed" && random_() % 5 == 0);
    *tag = static_cast<size_t>(n) << 1 | (puts ? 1 : 0);
    if (puts) return Request("PutItem", Table(options_) + ",\"Item\":{" + numbers_.Attributes(n, 0) + "}}");
    if (w == "get" || w == "mixed") return Get(n);
    if (w == "absent") return Get(n + options_.items);
    if (w == "update") {
      return Request("UpdateItem",
                     Table(options_) + ",\"Key\":{" + Key(n) +
                         "},\"UpdateExpression\":\"SET c = c + :one\",\"ConditionExpression\":"
                         "\"attribute_exists(pk)\",\"ExpressionAttributeValues\":{\":one\":{\"N\":\"1\"}}}");
    }
    if (w == "query" || w == "query-lsi") {
      return Request("Query",
                     Table(options_) + (w == "query" ? "" : ",\"IndexName\":\"by-letter\"") +
                         ",\"KeyConditionExpression\":\"pk = :p\",\"ExpressionAttributeValues\":{\":p\":{"
                         "\"S\":\"" +
                         PartitionKey(n) + "\"}}}");
    }
    if (w == "query-gsi") {
      return Request("Query", Table(options_) +
                                  ",\"IndexName\":\"by-group\",\"KeyConditionExpression\":\"g = :g\","
                                  "\"ExpressionAttributeValues\":{\":g\":{\"S\":\"g" +
                                  std::to_string(numbers_.group_of(n)) + "\"}}}");
    }
    if (w == "search") {
      return Request("SearchVectors", Table(options_) +
                                          ",\"IndexName\":\"by-meaning\",\"TopK\":3,\"SearchVector\":" +
                                          VectorOf(n, options_.dimensions) + "}");
    }
    Die("no such workload: " + w);
  }

  bool Accept(size_t tag, const std::string& answer) override {
    if (!IsSuccess(answer)) return false;
    auto n = static_cast<int64_t>(tag >> 1);
    const std::string& w = options_.workload;
    if ((tag & 1) != 0 || w == "update") return true;
    if (w == "absent") return BodyOf(answer) == "{}";
    if (w == "query") return IsPartition(n, answer);
    if (w == "query-lsi") return IsPartitionByLetter(n, answer);
    if (w == "query-gsi")
      return Has(answer, "\"Count\":" + std::to_string(numbers_.SizeOf(numbers_.group_of(n))) + ",");
    if (w == "search") {
      size_t first = answer.find("\"pk\":{\"S\":");
      std::string wanted = "\"pk\":{\"S\":\"v" + std::to_string(n) + "\"";
      return first != std::string::npos && answer.compare(first, wanted.size(), wanted) == 0;
    }
    Fate fate = FateOf(n, options_.changed);
    if (fate == Fate::kDeleted) return BodyOf(answer) == "{}";
    return Has(answer, Checksum(n, VersionOf(fate))) && Has(answer, Note(n, VersionOf(fate)));
  }

 private:
  std::string Get(int64_t n) const {
    return Request("GetItem", Table(options_) + ",\"Key\":{" + Key(n) + "}}");
  }

  // All of it, in order of the sort key.
  bool IsPartition(int64_t n, const std::string& answer) const {
    int64_t first = n / kPartition * kPartition;
    if (!Has(answer, "\"Count\":" + std::to_string(numbers_.SizeOfPartition(first)) + ",")) return false;
    size_t at = 0;
    for (int64_t i = first; i < std::min(first + kPartition, options_.items); ++i) {
      Fate fate = FateOf(i, options_.changed);
      if (fate == Fate::kDeleted) continue;
      at = answer.find(Note(i, VersionOf(fate)), at);
      if (at == std::string::npos) return false;
    }
    return true;
  }
  bool IsPartitionByLetter(int64_t n, const std::string& answer) const {
    int64_t first = n / kPartition * kPartition;
    std::vector<std::string> letters;
    for (int64_t i = first; i < std::min(first + kPartition, options_.items); ++i) {
      if (FateOf(i, options_.changed) != Fate::kDeleted)
        letters.push_back(Hex(Mix(static_cast<uint64_t>(i))));
    }
    std::sort(letters.begin(), letters.end());
    size_t at = 0;
    for (const std::string& letter : letters) {
      at = answer.find(letter, at);
      if (at == std::string::npos) return false;
    }
    return Has(answer, "\"Count\":" + std::to_string(letters.size()) + ",");
  }

  const Options& options_;
  const Numbers numbers_;
  std::mt19937_64 random_;
  int64_t asked_ = 0;
};

// --- everything ---

class Scanner final : public Source {
 public:
  explicit Scanner(const Options& options) : options_(options) {
    for (int segment = 0; segment < options.loop.connections; ++segment) pages_.push_back({segment, ""});
  }

  std::string Next(size_t* tag) override {
    if (pages_.empty()) return "";
    auto [segment, after] = pages_.front();
    pages_.pop_front();
    *tag = static_cast<size_t>(segment);
    return Request("Scan",
                   Table(options_) + (options_.workload == "scan-gsi" ? ",\"IndexName\":\"by-group\"" : "") +
                       ",\"ProjectionExpression\":\"h\",\"TotalSegments\":" +
                       std::to_string(options_.loop.connections) + ",\"Segment\":" + std::to_string(segment) +
                       (after.empty() ? "" : ",\"ExclusiveStartKey\":" + after) + "}");
  }

  bool Accept(size_t tag, const std::string& answer) override {
    if (!IsSuccess(answer)) return false;
    constexpr std::string_view kSum = "\"h\":{\"N\":\"";
    for (size_t at = answer.find(kSum); at != std::string::npos; at = answer.find(kSum, at)) {
      at += kSum.size();
      checksum_ += std::strtoull(answer.c_str() + at, nullptr, 10);
      ++count_;
    }
    constexpr std::string_view kLast = "\"LastEvaluatedKey\":";
    size_t last = answer.find(kLast);
    if (last == std::string::npos) return true;
    size_t from = last + kLast.size(), to = from;
    for (int depth = 0; to < answer.size(); ++to) {
      depth += answer[to] == '{' ? 1 : answer[to] == '}' ? -1 : 0;
      if (depth == 0) break;
    }
    pages_.push_front({static_cast<int>(tag), answer.substr(from, to + 1 - from)});
    return true;
  }

  // Says what is wrong; empty: nothing.
  std::string Verdict() const {
    int64_t count = 0;
    uint64_t checksum = 0;
    for (int64_t n = 0; n < options_.items; ++n) {
      Fate fate = FateOf(n, options_.changed);
      if (fate == Fate::kDeleted) continue;
      ++count;
      checksum += ChecksumOf(n, VersionOf(fate));
    }
    if (count == count_ && checksum == checksum_) return {};
    return std::to_string(count_) + " items with the checksum " + std::to_string(checksum_) + " instead of " +
           std::to_string(count) + " with " + std::to_string(checksum);
  }

 private:
  struct Page {
    int segment;
    std::string after;
  };
  const Options& options_;
  std::deque<Page> pages_;
  int64_t count_ = 0;
  uint64_t checksum_ = 0;
};

// --- sessions of agents ---

class Sessions final : public Source {
 public:
  explicit Sessions(const Options& options) : options_(options), random_(options.seed) {}

  std::string Next(size_t* tag) override {
    bool appends = options_.workload == "sessions";
    if (appends ? at_ >= options_.items : options_.count != 0 && at_ >= options_.count) return "";
    int64_t n = appends ? at_ : static_cast<int64_t>(random_() % static_cast<uint64_t>(options_.items));
    ++at_;
    *tag = static_cast<size_t>(n);
    std::string path = "/v1/sessions/u" + std::to_string(n) + ":size:t1";
    if (!appends) return Head("GET", path) + "\r\n";
    std::string body = "{\"id\":\"e1\",\"type\":\"user_message\",\"payload\":{\"text\":\"hello from " +
                       std::to_string(n) + "\"}}";
    return Head("POST", path + "/events") +
           "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  }
  bool Accept(size_t tag, const std::string& answer) override {
    if (options_.workload == "sessions") return answer.compare(9, 3, "201") == 0;
    return IsSuccess(answer) && Has(answer, "\"u" + std::to_string(tag) + ":size:t1\"");
  }

 private:
  std::string Head(const std::string& method, const std::string& path) const {
    return method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + options_.token +
           "\r\n";
  }
  const Options& options_;
  std::mt19937_64 random_;
  int64_t at_ = 0;
};

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc) Die(std::string("a flag needs a value: ") + argv[i]);
    std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--workload")
      options.workload = value;
    else if (flag == "--table")
      options.table = value;
    else if (flag == "--token")
      options.token = value;
    else if (flag == "--items")
      options.items = std::stoll(value);
    else if (flag == "--first")
      options.first = std::stoll(value);
    else if (flag == "--count")
      options.count = std::stoll(value);
    else if (flag == "--hot")
      options.hot = std::stoll(value);
    else if (flag == "--past")
      options.past = std::stoll(value);
    else if (flag == "--dimensions")
      options.dimensions = std::stoull(value);
    else if (flag == "--seed")
      options.seed = std::stoull(value);
    else if (flag == "--wrong-max")
      options.wrong_max = std::stod(value);
    else if (flag == "--state")
      options.changed = value == "changed";
    else if (!TakeLoopFlag(flag, value, &options.loop))
      Die("no such flag: " + flag);
  }
  return options;
}

int Main(Options options) {
  const std::string& w = options.workload;
  bool once = w == "loaded" || w == "revert" || w == "load" || w == "change" || w == "vectors" ||
              w == "scan" || w == "scan-gsi" || w == "sessions";
  if (once || options.count != 0) options.loop.seconds = 0;
  std::unique_ptr<Source> source;
  Scanner* scanner = nullptr;
  Loader* loader = nullptr;
  if (w == "load")
    source = std::unique_ptr<Source>(loader = new Loader(options));
  else if (w == "loaded")
    source = std::make_unique<LoadedReader>(options);
  else if (w == "vectors")
    source = std::make_unique<VectorLoader>(options);
  else if (w == "change" || w == "revert")
    source = std::make_unique<Changer>(options);
  else if (w == "scan" || w == "scan-gsi")
    source = std::unique_ptr<Source>(scanner = new Scanner(options));
  else if (w == "sessions" || w == "session-get")
    source = std::make_unique<Sessions>(options);
  else
    source = std::make_unique<Random>(options);
  Result result = RunClosedLoop(options.loop, source.get());
  std::printf("{\"workload\":\"%s\",\"connections\":%d,\"acknowledged\":%lld,%s}\n", w.c_str(),
              options.loop.connections,
              static_cast<long long>(loader == nullptr ? 0 : loader->acknowledged()),
              Figures(result, w == "load" || w == "vectors" ? 25 : 1).c_str());
  if (scanner != nullptr && result.errors == 0) {
    std::string fault = scanner->Verdict();
    if (!fault.empty()) Die("the scan found " + fault);
  }
  if (static_cast<double>(result.errors) <= options.wrong_max * static_cast<double>(result.requests))
    return 0;
  return ExitCode(result);
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  return holdfast::bench::Main(holdfast::bench::ParseOptions(argc, argv));
}
