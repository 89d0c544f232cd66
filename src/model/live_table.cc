#include "model/live_table.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "model/refusal.h"

namespace holdfast::model {
namespace {

constexpr int64_t kReadyMicrosMax = int64_t{10} * 60 * 1'000'000;

bool IsReady(const TableDescription& table) {
  bool ready = table.table_status == TableStatus::kActive;
  for (const auto& index :
       table.global_secondary_indexes.value_or(std::vector<GlobalSecondaryIndexDescription>()))
    ready = ready && index.index_status == IndexStatus::kActive;
  for (const auto& index : table.vector_indexes.value_or(std::vector<VectorIndexDescription>()))
    ready = ready && index.index_status == IndexStatus::kActive;
  return ready;
}

}  // namespace

Result<std::optional<TableDescription>> DescribeLive(Store* store, const std::string& table) {
  DescribeTableRequest request;
  request.table_name = table;
  auto described = store->Run(request);
  if (described) return std::optional<TableDescription>(std::move(described->table));
  if (described.error().code() == ErrorCode::kResourceNotFound) return std::optional<TableDescription>();
  return FromStore(described.error());
}

Result<TableDescription> WaitUntilReady(Store* store, const std::string& table) {
  int64_t until = base::SteadyMicros() + kReadyMicrosMax;
  for (int pause = 1;; pause = std::min(pause * 2, 1000)) {
    HF_TRY(std::optional<TableDescription> live, DescribeLive(store, table));
    if (live && IsReady(*live)) return *std::move(live);
    if (base::SteadyMicros() > until)
      return Refuse("Unavailable", "the table " + table + " does not become active");
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  }
}

}  // namespace holdfast::model
