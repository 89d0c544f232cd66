#include "engine/catalog/schema.h"

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "engine/catalog/record.h"

namespace holdfast::engine {
namespace {

using List = std::vector<AttributeValue>;

AttributeValue EncodeKeys(const std::vector<KeyAttribute>& keys) {
  List list;
  for (const KeyAttribute& key : keys) {
    list.push_back(AttributeValue::Map({{"name", key.name}, {"type", static_cast<int>(key.type)}}));
  }
  return AttributeValue::List(std::move(list));
}

AttributeValue EncodeThroughput(const ProvisionedThroughput& throughput) {
  return AttributeValue::Map(
      {{"read", throughput.read_capacity_units}, {"write", throughput.write_capacity_units}});
}

void EncodeChanges(const ThroughputChanges& changes, AttributeMap* map) {
  if (changes.increased_millis != 0) map->emplace("throughput_increased", changes.increased_millis);
  if (changes.decreased_millis != 0) map->emplace("throughput_decreased", changes.decreased_millis);
  if (changes.decreases != 0) map->emplace("throughput_decreases", changes.decreases);
}

AttributeValue EncodeMaxima(const OnDemandThroughput& maxima) {
  AttributeMap map;
  if (maxima.max_read_request_units) map.emplace("read", *maxima.max_read_request_units);
  if (maxima.max_write_request_units) map.emplace("write", *maxima.max_write_request_units);
  return AttributeValue::Map(std::move(map));
}

class Record : public CatalogRecord {
 public:
  using CatalogRecord::CatalogRecord;

  std::optional<ProvisionedThroughput> Throughput(std::string_view name) const {
    const AttributeValue* value = Find(name);
    if (value == nullptr) return std::nullopt;
    Record inner(*value);
    return ProvisionedThroughput{inner.Integer("read"), inner.Integer("write")};
  }
  ThroughputChanges Changes() const {
    return {Integer("throughput_increased"), Integer("throughput_decreased"),
            Integer("throughput_decreases")};
  }
  OnDemandThroughput Maxima(std::string_view name) const {
    const AttributeValue* value = Find(name);
    if (value == nullptr) return {};
    Record inner(*value);
    OnDemandThroughput maxima;
    if (int64_t reads = inner.Integer("read"); reads > 0) maxima.max_read_request_units = reads;
    if (int64_t writes = inner.Integer("write"); writes > 0) maxima.max_write_request_units = writes;
    return maxima;
  }
  std::vector<KeyAttribute> Keys(std::string_view name) const {
    std::vector<KeyAttribute> keys;
    for (const AttributeValue& element : Elements(name)) {
      Record key(element);
      auto type = static_cast<value::Type>(key.Integer("type"));
      bool fit = type == value::Type::kString || type == value::Type::kNumber || type == value::Type::kBinary;
      if (fit) keys.push_back({key.Text("name"), type});
    }
    return keys;
  }
};

AttributeValue EncodeVector(const VectorSchema& vector) {
  List elements;
  for (const SearchSchemaElement& element : vector.search_schema) {
    elements.push_back(
        AttributeValue::Map({{"name", element.attribute_name}, {"type", NameOf(element.element_type)}}));
  }
  return AttributeValue::Map({{"attribute", vector.attribute},
                              {"dimensions", vector.dimensions},
                              {"distance", NameOf(vector.distance)},
                              {"search", AttributeValue::List(std::move(elements))}});
}

AttributeValue EncodeIndex(const IndexSchema& index) {
  List included;
  for (const std::string& name : index.included) included.emplace_back(name);
  AttributeMap map{{"id", index.id},
                   {"name", index.name},
                   {"kind", static_cast<int>(index.kind)},
                   {"partition", EncodeKeys(index.partition)},
                   {"sort", EncodeKeys(index.sort)},
                   {"projection", NameOf(index.projection)},
                   {"included", AttributeValue::List(std::move(included))},
                   {"status", NameOf(index.status)}};
  if (index.throughput) map.emplace("throughput", EncodeThroughput(*index.throughput));
  EncodeChanges(index.throughput_changes, &map);
  if (index.is_global()) {
    map.emplace("on_demand", EncodeMaxima(index.on_demand));
    map.emplace("warm", EncodeThroughput(index.warm));
  }
  if (index.vector) map.emplace("vector", EncodeVector(*index.vector));
  if (index.allocating) map.emplace("allocating", true);
  return AttributeValue::Map(std::move(map));
}

AttributeValue EncodeRestoredFrom(const RestoredFrom& from) {
  return AttributeValue::Map({{"backup", from.backup_arn},
                              {"table", from.table_arn},
                              {"time", from.time_millis},
                              {"in_progress", from.in_progress}});
}

AttributeValue EncodeStream(const StreamSchema& stream) {
  AttributeMap map{
      {"view", NameOf(stream.view_type)}, {"created", stream.created_millis}, {"after", stream.after}};
  if (!stream.enabled()) {
    map.emplace("disabled", stream.disabled_millis);
    map.emplace("until", stream.until);
  }
  return AttributeValue::Map(std::move(map));
}

template <class Enum>
Enum EnumNamed(std::string_view name, Enum fallback) {
  for (const auto& [value, known] : EnumNames<Enum>::kAll) {
    if (known == name) return value;
  }
  return fallback;
}

VectorSchema DecodeVector(const AttributeValue& value) {
  Record record(value);
  VectorSchema vector;
  vector.attribute = record.Text("attribute");
  vector.dimensions = record.Integer("dimensions");
  vector.distance = EnumNamed(record.Text("distance"), DistanceFunction::kCosine);
  for (const AttributeValue& element : record.Elements("search")) {
    Record read(element);
    vector.search_schema.push_back(
        {read.Text("name"), EnumNamed(read.Text("type"), SearchSchemaElementType::kInlineFilter)});
  }
  return vector;
}

IndexSchema DecodeIndex(const AttributeValue& value) {
  Record record(value);
  IndexSchema index;
  index.id = static_cast<ObjectId>(record.Integer("id"));
  index.name = record.Text("name");
  index.kind = static_cast<IndexSchema::Kind>(record.Integer("kind"));
  index.partition = record.Keys("partition");
  index.sort = record.Keys("sort");
  index.projection = EnumNamed(record.Text("projection"), ProjectionType::kAll);
  for (const AttributeValue& name : record.Elements("included")) {
    if (name.type() == value::Type::kString) index.included.push_back(name.AsText());
  }
  index.status = EnumNamed(record.Text("status"), IndexStatus::kActive);
  index.throughput = record.Throughput("throughput");
  index.throughput_changes = record.Changes();
  index.on_demand = record.Maxima("on_demand");
  index.warm = record.Throughput("warm").value_or(ProvisionedThroughput{});
  if (const AttributeValue* vector = record.Find("vector")) index.vector = DecodeVector(*vector);
  index.allocating = record.Flag("allocating");
  return index;
}

RestoredFrom DecodeRestoredFrom(const AttributeValue& value) {
  Record record(value);
  return {record.Text("backup"), record.Text("table"), record.Integer("time"), record.Flag("in_progress")};
}

StreamSchema DecodeStream(const AttributeValue& value) {
  Record record(value);
  StreamSchema stream;
  stream.view_type = EnumNamed(record.Text("view"), StreamViewType::kKeysOnly);
  stream.created_millis = record.Integer("created");
  stream.after = static_cast<uint64_t>(record.Integer("after"));
  stream.disabled_millis = record.Integer("disabled");
  if (!stream.enabled()) stream.until = static_cast<uint64_t>(record.Integer("until"));
  return stream;
}

// The settings that a tag's value names: "m=32 ef_construction=400 ef_search=100 search=exact".
Result<VectorSettings> ParseVectorSettings(std::string_view text) {
  VectorSettings settings;
  while (!text.empty()) {
    size_t blank = std::min(text.find(' '), text.size());
    std::string_view setting = text.substr(0, blank);
    text.remove_prefix(std::min(blank + 1, text.size()));
    if (setting.empty()) continue;
    size_t equals = std::min(setting.find('='), setting.size());
    std::string_view name = setting.substr(0, equals);
    std::string_view value = setting.substr(std::min(equals + 1, setting.size()));
    if (name == "search" && (value == "exact" || value == "auto")) {
      settings.exact = value == "exact";
      continue;
    }
    int64_t number = 0;
    auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
    bool whole = fault == std::errc() && end == value.data() + value.size() && !value.empty();
    struct Known {
      std::string_view name;
      int64_t VectorSettings::*member;
      int64_t min, max;
    };
    static constexpr Known kKnown[] = {{"m", &VectorSettings::m, 4, 64},
                                       {"ef_construction", &VectorSettings::ef_construction, 8, 2000},
                                       {"ef_search", &VectorSettings::ef_search, 1, 4000}};
    const Known* known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                      [&](const Known& candidate) { return candidate.name == name; });
    if (known == std::end(kKnown) || !whole || number < known->min || number > known->max) {
      return Error(ErrorCode::kValidation,
                   "'" + std::string(setting) +
                       "' is none of m=4..64, ef_construction=8..2000, ef_search=1..4000, search=auto|exact");
    }
    settings.*known->member = number;
  }
  return settings;
}

void DeriveVector(const TableSchema& table, IndexSchema* index) {
  index->vector->filters.clear();
  for (const SearchSchemaElement& element : index->vector->search_schema) {
    if (element.element_type == SearchSchemaElementType::kHash) continue;
    for (const AttributeDefinition& definition : table.attributes) {
      if (definition.attribute_name == element.attribute_name)
        index->vector->filters.push_back({element.attribute_name, ToType(definition.attribute_type)});
    }
  }
  index->vector->settings = SettingsFromTags(table.tags, index->name).value_or(VectorSettings{});
}

// On DynamoDB a table is as warm as the most that was ever provisioned, or as any table on demand is.
void WarmUp(BillingMode billing, const ProvisionedThroughput& units, ProvisionedThroughput* warm) {
  constexpr ProvisionedThroughput kOnDemand{limits::kWarmReadUnits, limits::kWarmWriteUnits};
  const ProvisionedThroughput& least = billing == BillingMode::kProvisioned ? units : kOnDemand;
  warm->read_capacity_units = std::max(warm->read_capacity_units, least.read_capacity_units);
  warm->write_capacity_units = std::max(warm->write_capacity_units, least.write_capacity_units);
}

}  // namespace

Result<VectorSettings> SettingsFromTags(const std::vector<Tag>& tags, const std::string& index) {
  for (const Tag& tag : tags) {
    if (tag.key != std::string(kVectorTagPrefix) + index) continue;
    Result<VectorSettings> settings = ParseVectorSettings(tag.value);
    if (settings) return settings;
    return Error(ErrorCode::kValidation, "One or more parameter values were invalid: Tag " + tag.key + ": " +
                                             settings.error().message());
  }
  return VectorSettings{};
}

value::Type ToType(ScalarAttributeType type) {
  switch (type) {
    case ScalarAttributeType::kString: return value::Type::kString;
    case ScalarAttributeType::kNumber: return value::Type::kNumber;
    case ScalarAttributeType::kBinary: return value::Type::kBinary;
  }
  HF_ASSERT(false);
}

void ThroughputChanges::Note(const ProvisionedThroughput& from, const ProvisionedThroughput& to,
                             int64_t now_millis) {
  if (to.read_capacity_units > from.read_capacity_units ||
      to.write_capacity_units > from.write_capacity_units) {
    increased_millis = now_millis;
  }
  if (to.read_capacity_units < from.read_capacity_units ||
      to.write_capacity_units < from.write_capacity_units) {
    decreases = DecreasesOn(now_millis) + 1;
    decreased_millis = now_millis;
  }
}

int64_t ThroughputChanges::DecreasesOn(int64_t now_millis) const {
  constexpr int64_t kDayMillis = 86'400'000;
  return decreased_millis / kDayMillis == now_millis / kDayMillis ? decreases : 0;
}

bool IndexSchema::Projects(std::string_view attribute) const {
  return projection == ProjectionType::kAll ||
         std::binary_search(projected.begin(), projected.end(), attribute);
}

const IndexSchema* TableSchema::FindIndex(std::string_view index_name) const {
  for (const IndexSchema& index : indexes) {
    if (index.name == index_name) return &index;
  }
  return nullptr;
}

const IndexSchema* TableSchema::FindIndexById(ObjectId index_id) const {
  for (const IndexSchema& index : indexes) {
    if (index.id == index_id) return &index;
  }
  return nullptr;
}

bool TableSchema::has_local_indexes() const {
  return std::any_of(indexes.begin(), indexes.end(),
                     [](const IndexSchema& index) { return index.kind == IndexSchema::Kind::kLocal; });
}

bool TableSchema::has_vector_indexes() const {
  return std::any_of(indexes.begin(), indexes.end(),
                     [](const IndexSchema& index) { return index.is_vector(); });
}

bool TableSchema::log_survives() const {
  return has_vector_indexes() || !streams.empty() || LogLevelOf(*this) != Images::kNone;
}

Images LogLevelOf(const TableSchema& schema) {
  const StreamSchema* stream = schema.enabled_stream();
  if (stream == nullptr) return schema.recovery_days > 0 ? Images::kNew : Images::kNone;
  bool wants_old =
      stream->view_type == StreamViewType::kOldImage || stream->view_type == StreamViewType::kNewAndOldImages;
  return wants_old ? Images::kBoth : Images::kNew;
}

void TableSchema::Settle() {
  status = TableStatus::kActive;
  for (IndexSchema& index : indexes) index.allocating = false;
}

void TableSchema::Derive() {
  WarmUp(billing, throughput, &warm);
  for (IndexSchema& index : indexes) {
    if (index.is_global()) WarmUp(billing, index.throughput.value_or(ProvisionedThroughput{}), &index.warm);
    index.projected.clear();
    if (index.vector) DeriveVector(*this, &index);
    if (index.projection == ProjectionType::kAll) continue;
    index.projected = index.included;
    index.projected.push_back(partition.name);
    if (sort) index.projected.push_back(sort->name);
    for (const KeyAttribute& key : index.partition) index.projected.push_back(key.name);
    for (const KeyAttribute& key : index.sort) index.projected.push_back(key.name);
    if (index.vector) {
      for (const KeyAttribute& key : index.vector->filters) index.projected.push_back(key.name);
    }
    if (index.vector) std::erase(index.projected, index.vector->attribute);  // held as floats, apart
    std::sort(index.projected.begin(), index.projected.end());
    index.projected.erase(std::unique(index.projected.begin(), index.projected.end()), index.projected.end());
  }
}

std::string EncodeSchema(const TableSchema& schema) {
  List attributes, indexes, tags;
  for (const AttributeDefinition& attribute : schema.attributes) {
    attributes.push_back(AttributeValue::Map(
        {{"name", attribute.attribute_name}, {"type", NameOf(attribute.attribute_type)}}));
  }
  for (const IndexSchema& index : schema.indexes) indexes.push_back(EncodeIndex(index));
  for (const Tag& tag : schema.tags)
    tags.push_back(AttributeValue::Map({{"key", tag.key}, {"value", tag.value}}));
  std::vector<KeyAttribute> keys{schema.partition};
  if (schema.sort) keys.push_back(*schema.sort);

  AttributeMap map{{"id", schema.id},
                   {"name", schema.name},
                   {"uuid", schema.uuid},
                   {"created", schema.created_millis},
                   {"keys", EncodeKeys(keys)},
                   {"attributes", AttributeValue::List(std::move(attributes))},
                   {"indexes", AttributeValue::List(std::move(indexes))},
                   {"status", NameOf(schema.status)},
                   {"billing", NameOf(schema.billing)},
                   {"billing_given", schema.billing_mode_given},
                   {"on_demand_since", schema.on_demand_since_millis},
                   {"throughput", EncodeThroughput(schema.throughput)},
                   {"on_demand", EncodeMaxima(schema.on_demand)},
                   {"warm", EncodeThroughput(schema.warm)},
                   {"class_changed", schema.table_class_millis},
                   {"protected", schema.deletion_protection},
                   {"tags", AttributeValue::List(std::move(tags))},
                   {"ttl_attribute", schema.ttl_attribute},
                   {"ttl_status", NameOf(schema.ttl_status)},
                   {"ttl_changed", schema.ttl_changed_millis}};
  EncodeChanges(schema.throughput_changes, &map);
  if (!schema.sse_key_arn.empty()) map.emplace("sse_key", schema.sse_key_arn);
  if (schema.table_class) map.emplace("class", NameOf(*schema.table_class));
  if (schema.restored_from) map.emplace("restored_from", EncodeRestoredFrom(*schema.restored_from));
  if (schema.recovery_days > 0) map.emplace("recovery_days", schema.recovery_days);
  if (!schema.streams.empty()) {
    List streams;
    for (const StreamSchema& stream : schema.streams) streams.push_back(EncodeStream(stream));
    map.emplace("streams", AttributeValue::List(std::move(streams)));
  }
  return std::move(Item(map)).TakeFlat();
}

Result<TableSchema> DecodeSchema(ByteView bytes) {
  if (!value::IsWellFormedItem(bytes))
    return Error(ErrorCode::kCorruption, "a table's catalog record is damaged");
  Record record(Item::FromFlat(std::string(bytes)).ToMap());
  std::vector<KeyAttribute> keys = record.Keys("keys");
  if (keys.empty()) return Error(ErrorCode::kCorruption, "a table's catalog record has no key");

  TableSchema schema;
  schema.id = static_cast<ObjectId>(record.Integer("id"));
  schema.name = record.Text("name");
  schema.uuid = record.Text("uuid");
  schema.created_millis = record.Integer("created");
  schema.partition = keys[0];
  if (keys.size() > 1) schema.sort = keys[1];
  for (const AttributeValue& element : record.Elements("attributes")) {
    Record attribute(element);
    schema.attributes.push_back(
        {attribute.Text("name"), EnumNamed(attribute.Text("type"), ScalarAttributeType::kString)});
  }
  for (const AttributeValue& element : record.Elements("indexes"))
    schema.indexes.push_back(DecodeIndex(element));
  schema.status = EnumNamed(record.Text("status"), TableStatus::kActive);
  schema.billing = EnumNamed(record.Text("billing"), BillingMode::kProvisioned);
  schema.billing_mode_given = record.Flag("billing_given");
  schema.on_demand_since_millis = record.Integer("on_demand_since");
  schema.throughput = record.Throughput("throughput").value_or(ProvisionedThroughput{});
  schema.throughput_changes = record.Changes();
  schema.on_demand = record.Maxima("on_demand");
  schema.warm = record.Throughput("warm").value_or(ProvisionedThroughput{});
  if (record.Find("class") != nullptr)
    schema.table_class = EnumNamed(record.Text("class"), TableClass::kStandard);
  schema.table_class_millis = record.Integer("class_changed");
  schema.deletion_protection = record.Flag("protected");
  for (const AttributeValue& element : record.Elements("tags")) {
    Record tag(element);
    schema.tags.push_back({tag.Text("key"), tag.Text("value")});
  }
  schema.sse_key_arn = record.Text("sse_key");
  schema.ttl_attribute = record.Text("ttl_attribute");
  schema.ttl_status = EnumNamed(record.Text("ttl_status"), TimeToLiveStatus::kDisabled);
  schema.ttl_changed_millis = record.Integer("ttl_changed");
  if (const AttributeValue* from = record.Find("restored_from"))
    schema.restored_from = DecodeRestoredFrom(*from);
  schema.recovery_days = record.Integer("recovery_days");
  for (const AttributeValue& element : record.Elements("streams"))
    schema.streams.push_back(DecodeStream(element));
  schema.Derive();
  return schema;
}

}  // namespace holdfast::engine
