// What the database knows about a table. Immutable once published: a change makes a new TableSchema.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/ops/describe_time_to_live.h"
#include "holdfast/ops/table.h"
#include "holdfast/result.h"
#include "value/flat.h"

namespace holdfast::engine {

// Tables and indexes are numbered from one counter; a number is never used twice. Stored in every key.
using ObjectId = uint32_t;

struct KeyAttribute {
  std::string name;
  value::Type type;  // kString, kNumber or kBinary

  friend bool operator==(const KeyAttribute&, const KeyAttribute&) = default;
};

struct IndexSchema {
  enum class Kind : uint8_t { kLocal = 0, kGlobal = 1 };  // stored on disk: never renumber

  ObjectId id = 0;
  std::string name;
  Kind kind = Kind::kGlobal;
  std::vector<KeyAttribute> partition;  // one, or up to four for a global index
  std::vector<KeyAttribute> sort;       // none, one, or up to four for a global index
  ProjectionType projection = ProjectionType::kAll;
  std::vector<std::string> included;  // NonKeyAttributes as given, for kInclude
  IndexStatus status = IndexStatus::kActive;
  std::optional<ProvisionedThroughput> throughput;

  // Derived: every attribute an entry holds, sorted; empty for kAll.
  std::vector<std::string> projected;

  bool is_global() const { return kind == Kind::kGlobal; }
  bool Projects(std::string_view attribute) const;
};

struct TableSchema {
  ObjectId id = 0;
  std::string name;
  std::string uuid;
  int64_t created_millis = 0;
  KeyAttribute partition;
  std::optional<KeyAttribute> sort;
  std::vector<AttributeDefinition> attributes;  // as given, in order
  std::vector<IndexSchema> indexes;             // in order of creation

  TableStatus status = TableStatus::kActive;
  BillingMode billing = BillingMode::kProvisioned;
  bool billing_mode_given = false;  // BillingModeSummary appears once a mode was asked for
  int64_t on_demand_since_millis = 0;
  ProvisionedThroughput throughput;
  int64_t throughput_increased_millis = 0;
  int64_t throughput_decreased_millis = 0;
  std::optional<TableClass> table_class;
  int64_t table_class_millis = 0;
  bool deletion_protection = false;
  std::vector<Tag> tags;

  std::string ttl_attribute;  // empty: none
  TimeToLiveStatus ttl_status = TimeToLiveStatus::kDisabled;
  int64_t ttl_changed_millis = 0;

  const IndexSchema* FindIndex(std::string_view index_name) const;
  const IndexSchema* FindIndexById(ObjectId index_id) const;
  bool has_local_indexes() const;
  bool ttl_enabled() const {
    return ttl_status == TimeToLiveStatus::kEnabled || ttl_status == TimeToLiveStatus::kEnabling;
  }
  // Fills what is derived. Call after every change.
  void Derive();
};
using SchemaPtr = std::shared_ptr<const TableSchema>;

// The record in the catalog: an item, so that a later version can add attributes. docs/format.md lists them.
std::string EncodeSchema(const TableSchema& schema);
Result<TableSchema> DecodeSchema(ByteView bytes);

value::Type ToType(ScalarAttributeType type);

}  // namespace holdfast::engine
