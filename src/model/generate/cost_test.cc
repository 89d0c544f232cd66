// The estimates that people compare offers with (DB-C-01, DB-C-02): to the cent, and item by item.
#include "model/generate/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::model::generate {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// A month of the workbench: its table alone.
constexpr Usage kTable = {.storage_gb = 0.5, .writes = 50'000, .reads = 200'000};

// With an index and recovery beside it.
Usage Whole(double table_gb, double index_gb) {
  Usage usage = kTable;
  usage.storage_gb = usage.pitr_gb = table_gb;
  usage.index_storage_gb = index_gb;
  usage.index_writes = usage.index_reads = 50'000;
  return usage;
}

TEST(Cost, ASmallWorkbenchWithAnIndexAndRecovery) {
  Estimate estimate = EstimateCost(Whole(0.12, 0.03));
  EXPECT_DOUBLE_EQ(estimate.usd, 0.249);
  EXPECT_THAT(CostTable(estimate), EndsWith(" 0.25\n"));
  ASSERT_EQ(estimate.items.size(), 7U);
  EXPECT_EQ(estimate.items[1].name, "writes");
  EXPECT_DOUBLE_EQ(estimate.items[1].usd, 0.0625);
}

TEST(Cost, TheTableAlone) {
  Estimate estimate = EstimateCost(kTable);
  EXPECT_DOUBLE_EQ(estimate.usd, 0.2375);
  EXPECT_THAT(CostTable(estimate), EndsWith(" 0.24\n"));
  EXPECT_THAT(CostTable(estimate), HasSubstr(" 200000 requests")) << "not 2e+05";
}

TEST(Cost, TheTableWithItsIndexAndRecovery) {
  Estimate estimate = EstimateCost(Whole(0.5, 0.3));
  EXPECT_DOUBLE_EQ(estimate.usd, 0.4875);
  EXPECT_THAT(CostTable(estimate), EndsWith(" 0.49\n"));
}

TEST(Cost, BackupsCostWhatTheCallerSays) {
  Estimate estimate = EstimateCost({.backup_gb = 10, .backup_price = 0.1});
  ASSERT_EQ(estimate.items.size(), 1U) << "what is not used is not listed";
  EXPECT_DOUBLE_EQ(estimate.usd, 1.0);
}

TEST(Cost, JsonHasTheUnroundedSum) {
  std::string json = CostJson(EstimateCost({.storage_gb = 0.5, .writes = 50'000}));
  EXPECT_THAT(json,
              HasSubstr(R"({"name": "storage", "amount": 0.5, "unit": "GB", "price": 0.25, "usd": 0.125})"));
  EXPECT_THAT(json, HasSubstr(R"("usd": 0.1875)"));
}

}  // namespace
}  // namespace holdfast::model::generate
