#include "model/generate/cost.h"

#include <cmath>
#include <cstdio>

#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

constexpr double kStoragePrice = 0.25;
constexpr double kWritePrice = 1.25;
constexpr double kReadPrice = 0.25;
constexpr double kPitrPrice = 0.20;
constexpr double kMillion = 1'000'000;

// Sums of prices end in binary noise: a billionth of a dollar is exact enough for an estimate.
double Clean(double usd) {
  return std::round(usd * 1e9) / 1e9;
}

std::string Padded(std::string_view name, const std::string& amount, const std::string& price,
                   const std::string& usd) {
  char line[128];
  std::snprintf(line, sizeof line, "%-16.*s %18s %22s %10s\n", static_cast<int>(name.size()), name.data(),
                amount.c_str(), price.c_str(), usd.c_str());
  return line;
}

std::string Fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// 200000, 0.12: people do not count in powers of ten.
std::string Amount(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

// Half a cent is rounded up, as on a bill: 0.2375 is 0.24.
std::string Cents(double usd) {
  return Fixed(std::floor(usd * 100 + 0.5 + 1e-9) / 100, 2);
}

}  // namespace

Estimate EstimateCost(const Usage& usage) {
  Estimate estimate;
  auto add = [&](std::string_view name, double amount, std::string_view unit, double price) {
    if (amount == 0) return;
    double usd = Clean(amount * price / (unit == "GB" ? 1 : kMillion));
    estimate.items.push_back({name, amount, unit, price, usd});
    estimate.usd = Clean(estimate.usd + usd);
  };
  add("storage", usage.storage_gb, "GB", kStoragePrice);
  add("writes", usage.writes, "requests", kWritePrice);
  add("reads", usage.reads, "requests", kReadPrice);
  add("index storage", usage.index_storage_gb, "GB", kStoragePrice);
  add("index writes", usage.index_writes, "requests", kWritePrice);
  add("index reads", usage.index_reads, "requests", kReadPrice);
  add("recovery (PITR)", usage.pitr_gb, "GB", kPitrPrice);
  add("backups", usage.backup_gb, "GB", usage.backup_price);
  return estimate;
}

std::string CostTable(const Estimate& estimate) {
  std::string table = Padded("", "amount", "price", "USD/month");
  for (const CostItem& item : estimate.items) {
    std::string_view per = item.unit == "GB" ? "/GB" : "/million";
    table += Padded(item.name, Cat(Amount(item.amount), " ", item.unit), Cat(Fixed(item.price, 2), per),
                    Fixed(item.usd, 4));
  }
  return table + Padded("total", "", "", Cents(estimate.usd));
}

std::string CostJson(const Estimate& estimate) {
  Node items = Node::List();
  for (const CostItem& item : estimate.items) {
    items.Add(Node::Map()
                  .Set("name", item.name)
                  .Set("amount", item.amount)
                  .Set("unit", item.unit)
                  .Set("price", item.price)
                  .Set("usd", item.usd));
  }
  return Node::Map().Set("items", std::move(items)).Set("usd", estimate.usd).Spell(Node::Style::kJson) + "\n";
}

}  // namespace holdfast::model::generate
