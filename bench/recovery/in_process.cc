// What recovery costs and how fast tables come back, in one process without HTTP:
//   build/release/bench/holdfast_bench_recovery [DIRECTORY [ITEMS]]
// Items of 500 bytes, one index with all attributes. Prints the rate of a backup and of a restore, and the
// processor time of a PutItem with point-in-time recovery off and on, in turns.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "engine/backup/backups.h"
#include "engine/backup/recovery.h"
#include "engine/backup/restorer.h"
#include "engine/engine.h"
#include "ops/operations.h"

namespace {

using namespace holdfast;

constexpr int kThreads = 16;
constexpr int kRounds = 6;
constexpr int kPutsPerRound = 48'000;

double Seconds() {
  return static_cast<double>(base::SteadyMicros()) * 1e-6;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <class Request>
auto Do(engine::Engine* engine, const Request& request) {
  auto done = ops::Run(engine, request);
  if (!done) {
    std::fprintf(stderr, "%s\n", done.error().ToString().c_str());
    std::exit(1);
  }
  return *std::move(done);
}

void CreateTable(engine::Engine* engine, const std::string& name) {
  CreateTableRequest request;
  request.table_name = name;
  request.billing_mode = BillingMode::kPayPerRequest;
  request.key_schema = {{"p", KeyType::kHash}};
  request.attribute_definitions = {{"p", ScalarAttributeType::kString}, {"g", ScalarAttributeType::kString}};
  request.global_secondary_indexes = {{.index_name = "by_g",
                                       .key_schema = {{"g", KeyType::kHash}, {"p", KeyType::kRange}},
                                       .projection = {.projection_type = ProjectionType::kAll}}};
  Do(engine, request);
}

Item MakeItem(int key) {
  return {{"p", "item-" + std::to_string(key)},
          {"g", "g" + std::to_string(key % 1000)},
          {"n", key},
          {"pad", std::string(440, static_cast<char>('a' + key % 26))}};
}

void Load(engine::Engine* engine, int items) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([=] {
      for (int key = t * 25; key < items; key += kThreads * 25) {
        BatchWriteItemRequest request;
        for (int i = key; i < std::min(key + 25, items); ++i) {
          WriteRequest write;
          write.put_request = PutRequest{MakeItem(i)};
          request.request_items["source"].push_back(std::move(write));
        }
        Do(engine, request);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Processor microseconds of a PutItem.
double Puts(engine::Engine* engine, const std::string& table) {
  double begun = CpuSeconds();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([=] {
      for (int i = t; i < kPutsPerRound; i += kThreads)
        Do(engine, PutItemRequest{.table_name = table, .item = MakeItem(i)});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return (CpuSeconds() - begun) * 1e6 / kPutsPerRound;
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory = argc > 1 ? argv[1] : "/tmp/holdfast-bench-recovery";
  int items = argc > 2 ? std::atoi(argv[2]) : 300'000;
  std::filesystem::remove_all(directory);
  engine::EngineOptions options;
  options.options.directory = directory;
  auto opened = engine::Engine::Open(options);
  if (!opened) return std::fprintf(stderr, "%s\n", opened.error().ToString().c_str()), 1;
  engine::Engine* engine = opened->get();

  CreateTable(engine, "source");
  Load(engine, items);
  double begun = Seconds(), cpu = CpuSeconds();
  std::string arn = Do(engine, CreateBackupRequest{"source", "bench"}).backup_details.backup_arn;
  engine->backups().thread().WaitIdle();
  std::printf("backup   %d items: %.0f items/s, %.2f us of processor an item\n", items,
              items / (Seconds() - begun), (CpuSeconds() - cpu) * 1e6 / items);
  for (int round = 0; round < 3; ++round) {
    RestoreTableFromBackupRequest restore;
    restore.backup_arn = arn;
    restore.target_table_name = "target" + std::to_string(round);
    begun = Seconds(), cpu = CpuSeconds();
    Do(engine, restore);
    engine->restorer().WaitIdle();
    std::printf("restore  %d items: %.0f items/s, %.2f us of processor an item\n", items,
                items / (Seconds() - begun), (CpuSeconds() - cpu) * 1e6 / items);
    Do(engine, DeleteTableRequest{restore.target_table_name});
  }

  CreateTable(engine, "plain");
  CreateTable(engine, "recoverable");
  Do(engine, UpdateContinuousBackupsRequest{"recoverable", {true, {}}});
  Puts(engine, "plain");
  Puts(engine, "recoverable");
  double off = 0, on = 0;
  for (int round = 0; round < kRounds; ++round) {
    off += Puts(engine, "plain") / kRounds;
    on += Puts(engine, "recoverable") / kRounds;
  }
  std::printf("PutItem  %.1f us of processor without recovery, %.1f us with: %+.1f %%\n", off, on,
              (on / off - 1) * 100);
  opened->reset();
  std::filesystem::remove_all(directory);
  return 0;
}
