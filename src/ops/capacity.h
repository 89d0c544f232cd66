// What requests cost, in DynamoDB's units, and how that is reported.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "holdfast/ops/common.h"
#include "ops/context.h"

namespace holdfast::ops {

// A read costs one unit per 4 KB, at least one, and half of that when it need not be consistent.
double ReadUnits(size_t bytes, bool consistent);
// A write costs one unit per 1 KB of the larger of the two images, at least one.
double WriteUnits(size_t old_bytes, size_t new_bytes);

// What one request has consumed of one table. Also counts it towards the table's metrics, and charges it to
// the throughput of the table and its global indexes.
class TableUsage {
 public:
  enum class Kind : uint8_t { kRead, kWrite };

  TableUsage(engine::Table* table, engine::SchemaPtr schema, Kind kind)
      : table_(table), schema_(std::move(schema)), kind_(kind) {}

  void AddTable(double units);
  // Of a vector index the units are bytes.
  void AddIndex(const engine::IndexSchema& index, double units);
  // The table's part times `table_factor` (transactions pay double for it), each touched index's part as it
  // is.
  void AddWrite(const engine::WriteOutcome& outcome, double table_factor = 1);

  double total() const;
  // Empty when nothing was asked for. Transactions also split the figures into read and write units.
  enum class Split : uint8_t { kNone, kTransaction };
  std::optional<ConsumedCapacity> Report(std::optional<ReturnConsumedCapacity> asked,
                                         Split split = Split::kNone) const;

 private:
  void Count(double units, engine::Consumption* consumption) const;
  void Charge(double units, engine::Consumption* consumption) const;
  Capacity MakeCapacity(double units, Split split) const;

  engine::Table* table_;
  engine::SchemaPtr schema_;
  Kind kind_;
  double table_units_ = 0;
  std::map<std::string, double> local_;
  std::map<std::string, double> global_;
  std::map<std::string, double> vector_bytes_;  // not units: no part of the total
};

// Sizes are read from index blocks, which may be on the disk: kWouldBlock where nobody may wait (I-15).
// Called before anything is written.
Status CheckCollectionMetrics(const Context& context, std::optional<ReturnItemCollectionMetrics> asked,
                              const engine::TableSchema& schema);
// Empty unless asked for and the table has local secondary indexes. Requires: CheckCollectionMetrics() was.
std::optional<ItemCollectionMetrics> CollectionMetrics(const Context& context,
                                                       std::optional<ReturnItemCollectionMetrics> asked,
                                                       const engine::TableSchema& schema,
                                                       const Item& key_or_item);

}  // namespace holdfast::ops
