// What a month on DynamoDB on demand costs, by the list prices of one region.
//
//   Estimate estimate = EstimateCost({.storage_gb = 0.5, .writes = 50'000, .reads = 200'000});
//   std::cout << CostTable(estimate);
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::model::generate {

// Gigabytes kept and request units used in a month.
struct Usage {
  double storage_gb = 0;
  double writes = 0;
  double reads = 0;
  double index_storage_gb = 0;
  double index_writes = 0;
  double index_reads = 0;
  double pitr_gb = 0;
  double backup_gb = 0;
  double backup_price = 0;  // USD per gigabyte and month: differs by tier, so it is asked for
};

struct CostItem {
  std::string_view name;
  double amount = 0;
  std::string_view unit;  // "GB" or "requests"
  double price = 0;       // USD for one GB, or for a million requests
  double usd = 0;
};

struct Estimate {
  std::vector<CostItem> items;  // those that are used
  double usd = 0;
};

Estimate EstimateCost(const Usage& usage);

// For people: a line per item, the sum rounded to cents.
std::string CostTable(const Estimate& estimate);
// {"items":[{"name":…,"amount":…,"unit":…,"price":…,"usd":…}],"usd":0.249}
std::string CostJson(const Estimate& estimate);

}  // namespace holdfast::model::generate
