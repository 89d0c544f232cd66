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

// How a vector index builds and searches its graph: holdfast's own settings, given as a tag of the table
// ("holdfast:vector:<index>", see docs/vectors.md).
struct VectorSettings {
  int64_t m = 16;                 // links of a vector in the graph
  int64_t ef_construction = 200;  // candidates looked at for them
  int64_t ef_search = 0;          // candidates a search keeps; 0: chosen by the index
  bool exact = false;             // no graph: every search looks at every vector

  friend bool operator==(const VectorSettings&, const VectorSettings&) = default;
};

// What makes an index a vector index.
struct VectorSchema {
  std::string attribute;
  int64_t dimensions = 0;
  DistanceFunction distance = DistanceFunction::kCosine;
  std::vector<SearchSchemaElement> search_schema;  // as given

  // Derived: the INLINE_FILTER attributes in order, and what the table's tags say.
  std::vector<KeyAttribute> filters;
  VectorSettings settings;
};

// When provisioned throughput was changed.
struct ThroughputChanges {
  int64_t increased_millis = 0;  // the last time; 0: never
  int64_t decreased_millis = 0;
  int64_t decreases = 0;  // on the day (UTC) of the last one

  void Note(const ProvisionedThroughput& from, const ProvisionedThroughput& to, int64_t now_millis);
  int64_t DecreasesOn(int64_t now_millis) const;
};

struct IndexSchema {
  enum class Kind : uint8_t { kLocal = 0, kGlobal = 1, kVector = 2 };  // stored on disk: never renumber

  ObjectId id = 0;
  std::string name;
  Kind kind = Kind::kGlobal;
  // One, or up to four for a global index; of a vector index the HASH attribute, if it has one.
  std::vector<KeyAttribute> partition;
  std::vector<KeyAttribute> sort;  // none, one, or up to four for a global index
  ProjectionType projection = ProjectionType::kAll;
  std::vector<std::string> included;  // NonKeyAttributes as given, for kInclude
  IndexStatus status = IndexStatus::kActive;
  std::optional<ProvisionedThroughput> throughput;
  ThroughputChanges throughput_changes;
  OnDemandThroughput on_demand;
  ProvisionedThroughput warm;          // as of TableSchema
  std::optional<VectorSchema> vector;  // of kVector
  bool allocating = false;             // kVector: created, not yet being filled

  // Derived: every attribute an entry holds, sorted; empty for kAll.
  std::vector<std::string> projected;

  bool is_global() const { return kind == Kind::kGlobal; }
  bool is_vector() const { return kind == Kind::kVector; }
  bool Projects(std::string_view attribute) const;
};

// Where the items of a restored table came from.
struct RestoredFrom {
  std::string backup_arn;  // empty: from the source's log
  std::string table_arn;
  int64_t time_millis = 0;  // as of when
  bool in_progress = false;
};

// A stream of the table's changes. A table has at most one that is enabled, the last; those before it were
// disabled less than a day ago and stay readable.
struct StreamSchema {
  StreamViewType view_type = StreamViewType::kNewAndOldImages;
  int64_t created_millis = 0;   // no two streams of a table have the same: it is the stream's label
  int64_t disabled_millis = 0;  // 0: it is enabled
  // Its records are those of commits after the first and up to the second. The engine sets them when the
  // schema comes into force.
  uint64_t after = kUnset;
  uint64_t until = kUnset;  // while it is enabled

  static constexpr uint64_t kUnset = UINT64_MAX;
  bool enabled() const { return disabled_millis == 0; }
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
  ThroughputChanges throughput_changes;
  OnDemandThroughput on_demand;  // the most it may use while it is on demand
  // Units a second that it is said to be ready for: never less than they were.
  ProvisionedThroughput warm;
  std::optional<TableClass> table_class;
  int64_t table_class_millis = 0;
  bool deletion_protection = false;
  std::vector<Tag> tags;
  // The ARN of the KMS key that an SSESpecification asked for; empty: none did. The store's own key encrypts.
  std::string sse_key_arn;

  std::string ttl_attribute;  // empty: none
  TimeToLiveStatus ttl_status = TimeToLiveStatus::kDisabled;
  int64_t ttl_changed_millis = 0;

  std::optional<RestoredFrom> restored_from;
  int64_t recovery_days = 0;          // how far back the table can be restored to any second; 0: not at all
  std::vector<StreamSchema> streams;  // oldest first

  const IndexSchema* FindIndex(std::string_view index_name) const;
  const IndexSchema* FindIndexById(ObjectId index_id) const;
  bool has_local_indexes() const;
  bool has_vector_indexes() const;
  bool ttl_enabled() const {
    return ttl_status == TimeToLiveStatus::kEnabled || ttl_status == TimeToLiveStatus::kEnabling;
  }
  bool restoring() const { return restored_from && restored_from->in_progress; }
  // Null when none is enabled.
  const StreamSchema* enabled_stream() const {
    return streams.empty() || !streams.back().enabled() ? nullptr : &streams.back();
  }
  // Whether records of the change log are needed after a restart.
  bool log_survives() const;
  // Ends whatever phase the table and its indexes are shown in.
  void Settle();
  // Fills what is derived. Call after every change.
  void Derive();
};
using SchemaPtr = std::shared_ptr<const TableSchema>;

// How much of a change its record in the change log holds, each as much as those before it: nothing; which
// item; the new item, or the key attributes of one that was removed; the item before and after.
enum class Images : uint8_t { kNone, kKey, kNew, kBoth };
// What the table's own settings ask for: the one place that knows. (Vector indexes ask item by item, watches
// as they come and go.)
Images LogLevelOf(const TableSchema& schema);

// The record in the catalog: an item, so that a later version can add attributes. docs/format.md lists them.
std::string EncodeSchema(const TableSchema& schema);
Result<TableSchema> DecodeSchema(ByteView bytes);

value::Type ToType(ScalarAttributeType type);

// What the tags of a table say about one of its vector indexes. An error names the tag and what is wrong.
inline constexpr std::string_view kVectorTagPrefix = "holdfast:vector:";
Result<VectorSettings> SettingsFromTags(const std::vector<Tag>& tags, const std::string& index);

}  // namespace holdfast::engine
