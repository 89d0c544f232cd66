// What Query and Scan share: which table or index, which attributes, which page of which range, and the
// answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "expression/condition.h"
#include "expression/projection.h"
#include "ops/capacity.h"
#include "ops/context.h"
#include "ops/table_access.h"
#include "storage/kv.h"

namespace holdfast::ops {

// A table, or one of its indexes.
struct Target {
  TableRef ref;
  const engine::IndexSchema* index = nullptr;  // owned by ref.schema

  const engine::TableSchema& schema() const { return *ref.schema; }
  engine::ObjectId id() const { return index != nullptr ? index->id : ref.schema->id; }
  storage::Space space() const {
    return index != nullptr ? storage::Space::kIndexes : storage::Space::kItems;
  }
};

// The two operations word some refusals differently.
enum class Reader : uint8_t { kQuery, kScan };

Result<Target> OpenTarget(Context& context, const std::string& table, const std::optional<std::string>& index,
                          bool consistent_read, Reader reader);

// Which attributes come back.
struct Projected {
  bool by_expression;
  bool by_names;
};
Status CheckSelect(std::optional<Select> select, Projected projected, bool has_index, Reader reader);
// What an index cannot give: DynamoDB refuses it for a global index, and reads the base table for a local
// one.
struct Shape {
  bool count_only = false;
  bool fetch_base = false;  // a local index lacks attributes that were asked for
};
Result<Shape> ChooseShape(const Target& target, std::optional<Select> select,
                          const expression::Projection* projection);

// What is wrong with an ExclusiveStartKey before any table is known.
Status CheckStartValues(const std::optional<Item>& start);
// The key after which the page starts. DynamoDB looks at the parts of an ExclusiveStartKey one by one, and a
// Query looks at its conditions in between: so these are steps, to be taken in order.
// 1. It has as many attributes as the target has key attributes.
Status CheckStartCount(const Target& target, const Item& start, Reader reader);
// 2. An attribute of the key that is read by.
Status CheckStartAttribute(const engine::KeyAttribute& key, const Item& start, bool is_partition);
// 3. The table's own key; then the storage key.
Result<std::string> StartKey(const Target& target, const Item& start);
// The same in the other direction.
Item LastKey(const Target& target, value::MapView item);

struct PageSpec {
  storage::Range range;
  bool single = false;  // at most one item can be there: nothing ever follows
  bool forward = true;
  std::optional<std::string> start_after;  // storage key
  size_t limit = SIZE_MAX;
  bool consistent = false;
  bool spans_partitions = false;  // charged partition by partition
  const expression::Condition* filter = nullptr;
  const expression::Projection* projection = nullptr;
  Shape shape;
};

struct Page {
  std::optional<std::vector<Item>> items;
  int64_t count = 0;
  int64_t scanned_count = 0;
  std::optional<Item> last_evaluated_key;
};

// Reads until the range, the limit or 1 MB ends, and adds what that costs to `usage`. Refuses when the target
// has no read capacity left.
Result<Page> ReadPage(Context& context, const Target& target, const PageSpec& spec, TableUsage* usage);

}  // namespace holdfast::ops
