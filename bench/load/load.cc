// A load on any DynamoDB endpoint: closed loop, keep-alive connections, one thread, so that the server gets
// the rest of the machine. Prints one JSON object per run.
//
//   holdfast_load --port 8000 --workload get --connections 16 --seconds 3 --items 10000 [--pid SERVER_PID]
//   holdfast_load --port 8000 --workload prepare --items 10000          # the table the workloads use
//
// Workloads: get, put, update, query, batch, transact, mixed (80 % get, 20 % put), load (every item once, by
// BatchWriteItem), prepare. Items have about 500 bytes and stand in one global secondary index that projects
// all. With --pid the CPU time that the server took per request is reported too.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "closed_loop.h"

namespace holdfast::bench {
namespace {

struct Options {
  LoopOptions loop;
  std::string workload = "get";
  int64_t items = 10000;
  uint64_t seed = 1;
  bool raw = false;  // the ceiling server: no checks of the answer's body
};

constexpr const char* kTable = "bench";

std::string Key(int64_t n) {
  char text[32];
  std::snprintf(text, sizeof text, "key-%010lld", static_cast<long long>(n));
  return text;
}

// Each partition of the query workload has 50 items.
constexpr int64_t kGroup = 50;

std::string Attributes(int64_t n, uint64_t salt) {
  char salted[32];
  std::snprintf(salted, sizeof salted, "%016llx", static_cast<unsigned long long>(salt));
  static const std::string padding(280, 'x');
  std::string text =
      "\"pk\":{\"S\":\"" + Key(n) + "\"},\"g\":{\"S\":\"group-" + std::to_string(n / kGroup) +
      "\"},\"s\":{\"S\":\"" + Key(n % kGroup) + "\"},\"name\":{\"S\":\"A Person Of Some Name " +
      std::to_string(n) + "\"},\"count\":{\"N\":\"" + std::to_string(n % 1000) +
      "\"},\"flag\":{\"BOOL\":true},\"tags\":{\"L\":[{\"S\":\"alpha\"},{\"S\":\"beta\"}]},\"salt\":{"
      "\"S\":\"" +
      salted + "\"},\"note\":{\"S\":\"" + padding + "\"}";
  return text;
}

// Makes the next request of a workload.
class Maker : public Source {
 public:
  Maker(const Options& options) : options_(options), random_(options.seed) {}

  std::string Next(size_t*) override {
    const std::string& w = options_.workload;
    if (w == "get") return Get();
    if (w == "put") return Put();
    if (w == "update") return Update();
    if (w == "query") return Query();
    if (w == "batch") return Batch(random_() % static_cast<uint64_t>(options_.items));
    if (w == "transact") return Transact();
    if (w == "mixed") return random_() % 5 == 0 ? Put() : Get();
    if (w == "load" || w == "prepare") {
      if (loaded_ >= options_.items) return "";
      std::string request = Batch(static_cast<uint64_t>(loaded_));
      loaded_ += 25;
      return request;
    }
    Die("no such workload: " + w);
  }

  bool Accept(size_t, const std::string& answer) override { return options_.raw || IsSuccess(answer); }

  int64_t units_per_request() const {
    const std::string& w = options_.workload;
    return w == "batch" || w == "load" || w == "prepare" ? 25 : 1;
  }

 private:
  int64_t Any() { return static_cast<int64_t>(random_() % static_cast<uint64_t>(options_.items)); }

  std::string Get() {
    return Request("GetItem", std::string("{\"TableName\":\"") + kTable + "\",\"Key\":{\"pk\":{\"S\":\"" +
                                  Key(Any()) + "\"}}}");
  }
  std::string Put() {
    return Request("PutItem", std::string("{\"TableName\":\"") + kTable + "\",\"Item\":{" +
                                  Attributes(Any(), random_()) + "}}");
  }
  // A conditional counter.
  std::string Update() {
    return Request(
        "UpdateItem",
        std::string("{\"TableName\":\"") + kTable + "\",\"Key\":{\"pk\":{\"S\":\"" + Key(Any()) +
            "\"}},\"UpdateExpression\":\"SET #c = #c + :one\",\"ConditionExpression\":\"attribute_exists(pk) "
            "AND #c >= :zero\",\"ExpressionAttributeNames\":{\"#c\":\"count\"},"
            "\"ExpressionAttributeValues\":{\":one\":{\"N\":\"1\"},\":zero\":{\"N\":\"0\"}}}");
  }
  std::string Query() {
    return Request("Query", std::string("{\"TableName\":\"") + kTable +
                                "\",\"IndexName\":\"by-group\",\"KeyConditionExpression\":\"g = :g\","
                                "\"ExpressionAttributeValues\":{\":g\":{\"S\":\"group-" +
                                std::to_string(Any() / kGroup) + "\"}},\"Limit\":50}");
  }
  std::string Batch(uint64_t first) {
    std::string body = std::string("{\"RequestItems\":{\"") + kTable + "\":[";
    for (uint64_t i = 0; i < 25; ++i) {
      auto n = static_cast<int64_t>((first + i) % static_cast<uint64_t>(options_.items));
      body +=
          (i == 0 ? "" : ",") + std::string("{\"PutRequest\":{\"Item\":{") + Attributes(n, random_()) + "}}}";
    }
    return Request("BatchWriteItem", body + "]}}");
  }
  // Four conditional actions on four items.
  std::string Transact() {
    int64_t first = Any();
    std::string body = "{\"TransactItems\":[";
    for (int64_t i = 0; i < 4; ++i) {
      int64_t n = (first + i * 7) % options_.items;
      body +=
          (i == 0 ? "" : ",") + std::string("{\"Update\":{\"TableName\":\"") + kTable +
          "\",\"Key\":{\"pk\":{\"S\":\"" + Key(n) +
          "\"}},\"UpdateExpression\":\"SET #c = #c + :one\",\"ConditionExpression\":\"attribute_exists(pk)\","
          "\"ExpressionAttributeNames\":{\"#c\":\"count\"},\"ExpressionAttributeValues\":{\":one\":{\"N\":"
          "\"1\"}}}}";
    }
    return Request("TransactWriteItems", body + "]}");
  }

  const Options& options_;
  std::mt19937_64 random_;
  int64_t loaded_ = 0;
};

void CreateTable(int port) {
  std::string body =
      std::string("{\"TableName\":\"") + kTable +
      "\",\"AttributeDefinitions\":[{\"AttributeName\":\"pk\",\"AttributeType\":\"S\"},{"
      "\"AttributeName\":\"g\",\"AttributeType\":\"S\"},{\"AttributeName\":\"s\",\"AttributeType\":"
      "\"S\"}],\"KeySchema\":[{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"}],\"BillingMode\":"
      "\"PAY_PER_REQUEST\",\"GlobalSecondaryIndexes\":[{\"IndexName\":\"by-group\",\"KeySchema\":[{"
      "\"AttributeName\":\"g\",\"KeyType\":\"HASH\"},{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],"
      "\"Projection\":{\"ProjectionType\":\"ALL\"}}]}";
  std::string answer = Ask(port, Request("CreateTable", body));
  if (!IsSuccess(answer)) Die("CreateTable: " + answer);
  for (int i = 0; i < 200; ++i) {
    answer = Ask(port, Request("DescribeTable", std::string("{\"TableName\":\"") + kTable + "\"}"));
    if (answer.find("\"TableStatus\":\"ACTIVE\"") != std::string::npos) return;
    ::usleep(50'000);
  }
  Die("the table does not become ACTIVE");
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--raw") {
      options.raw = true;
      continue;
    }
    if (i + 1 >= argc) Die("a flag needs a value: " + flag);
    std::string value = argv[++i];
    if (flag == "--workload")
      options.workload = value;
    else if (flag == "--items")
      options.items = std::stoll(value);
    else if (flag == "--seed")
      options.seed = std::stoull(value);
    else if (!TakeLoopFlag(flag, value, &options.loop))
      Die("no such flag: " + flag);
  }
  return options;
}

int Main(Options options) {
  if (options.workload == "prepare" || options.workload == "load") {
    CreateTable(options.loop.port);
    options.loop.seconds = 0;
  }
  Maker maker(options);
  Result result = RunClosedLoop(options.loop, &maker);
  std::printf("{\"workload\":\"%s\",\"connections\":%d,%s}\n", options.workload.c_str(),
              options.loop.connections, Figures(result, maker.units_per_request()).c_str());
  return ExitCode(result);
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  return holdfast::bench::Main(holdfast::bench::ParseOptions(argc, argv));
}
