// In-process GetItem against a bare RocksDB Get of the same bytes: what the layers between cost.
#include <benchmark/benchmark.h>
#include <rocksdb/db.h>

#include <filesystem>
#include <random>

#include "holdfast/database.h"

namespace holdfast {
namespace {

constexpr int kItems = 10000;

std::string Name(int number) {
  return "item-" + std::to_string(number);
}

Item MakeItem(int number) {
  return {{"p", Name(number)}, {"g", "group"}, {"n", number}, {"pad", std::string(430, 'x')}};
}

std::string Directory(const char* name) {
  auto path = std::filesystem::temp_directory_path() / (std::string("holdfast-micro-") + name);
  std::filesystem::remove_all(path);
  return path;
}

template <class T>
T Must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
    std::abort();
  }
  return *std::move(result);
}

void HoldfastGetItem(benchmark::State& state) {
  std::string directory = Directory("holdfast");
  {
    auto db = Must(Database::Open({.directory = directory, .durability = Durability::kNone}));
    CreateTableRequest table{.table_name = "micro"};
    table.billing_mode = BillingMode::kPayPerRequest;
    table.key_schema = {{"p", KeyType::kHash}};
    table.attribute_definitions = {{"p", ScalarAttributeType::kString}};
    Must(db->CreateTable(table));
    for (int i = 0; i < kItems; ++i) Must(db->PutItem({.table_name = "micro", .item = MakeItem(i)}));
  }
  auto db = Must(Database::Open({.directory = directory}));
  std::mt19937 random(1);
  for (auto _ : state) {
    auto got =
        db->GetItem({.table_name = "micro", .key = {{"p", Name(static_cast<int>(random() % kItems))}}});
    benchmark::DoNotOptimize(got);
    if (!got || !got->item) state.SkipWithError("not there");
  }
  db.reset();
  std::filesystem::remove_all(directory);
}
BENCHMARK(HoldfastGetItem);

void RocksDbGet(benchmark::State& state) {
  std::string directory = Directory("rocksdb");
  rocksdb::Options options;
  options.create_if_missing = true;
  auto open = [&] {
    rocksdb::DB* opened = nullptr;
    if (!rocksdb::DB::Open(options, directory, &opened).ok()) std::abort();
    return std::unique_ptr<rocksdb::DB>(opened);
  };
  {
    auto db = open();
    for (int i = 0; i < kItems; ++i) db->Put({}, Name(i), MakeItem(i).flat()).PermitUncheckedError();
    db->Flush({}).PermitUncheckedError();
  }
  auto db = open();
  std::mt19937 random(1);
  std::string value;
  for (auto _ : state) {
    bool found = db->Get({}, Name(static_cast<int>(random() % kItems)), &value).ok();
    benchmark::DoNotOptimize(value);
    if (!found) state.SkipWithError("not there");
  }
  db.reset();
  std::filesystem::remove_all(directory);
}
BENCHMARK(RocksDbGet);

}  // namespace
}  // namespace holdfast

BENCHMARK_MAIN();
