#include "ops/page.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "ops/constraints.h"
#include "ops/projection.h"
#include "ops/throughput.h"

namespace holdfast::ops {
namespace {

using engine::IndexSchema;
using engine::KeyAttribute;
using engine::TableSchema;
using value::MapView;

// Every key attribute of the target: the index's, then the table's that the index has not.
std::vector<const KeyAttribute*> KeyAttributes(const Target& target) {
  std::vector<const KeyAttribute*> keys;
  auto add = [&](const KeyAttribute& key) {
    bool known =
        std::any_of(keys.begin(), keys.end(), [&](const KeyAttribute* k) { return k->name == key.name; });
    if (!known) keys.push_back(&key);
  };
  if (target.index != nullptr) {
    for (const KeyAttribute& key : target.index->partition) add(key);
    for (const KeyAttribute& key : target.index->sort) add(key);
  }
  add(target.schema().partition);
  if (target.schema().sort) add(*target.schema().sort);
  return keys;
}

// Top-level attributes that the request needs and the index does not hold.
std::vector<std::string> Unprojected(const IndexSchema& index, const expression::Projection* projection) {
  std::vector<std::string> missing;
  std::set<std::string_view> known;
  if (projection == nullptr) return missing;
  for (const expression::Path& path : projection->tree().paths()) {
    std::string_view name = path[0].name;
    if (!index.Projects(name) && known.insert(name).second) missing.emplace_back(name);
  }
  return missing;
}

}  // namespace

Result<Target> OpenTarget(Context& context, const std::string& table, const std::optional<std::string>& index,
                          bool consistent_read, Reader reader) {
  Target target;
  HF_TRY(target.ref, OpenForItems(context, table));
  if (!index) return target;
  target.index = target.ref.schema->FindIndex(*index);
  if (target.index == nullptr) {
    return ValidationError("The table does not have the specified index: " + *index);
  }
  if (target.index->is_vector()) {
    return ValidationError(std::string(reader == Reader::kQuery ? "Query" : "Scan") +
                           " operation not supported on this index type");
  }
  if (target.index->is_global() && consistent_read) {
    return ValidationError("Consistent reads are not supported on global secondary indexes");
  }
  if (target.index->status == IndexStatus::kCreating) {
    return ValidationError("Cannot read from backfilling global secondary index: " + *index);
  }
  return target;
}

Status CheckSelect(std::optional<Select> select, Projected projected, bool has_index, Reader reader) {
  if (!select) return Ok{};
  std::string prefix = reader == Reader::kQuery ? "1 validation error detected: " : "";
  bool has_projection = projected.by_expression || projected.by_names;
  if (has_projection && *select != Select::kSpecificAttributes) {
    return ValidationError(prefix + "Cannot specify the " +
                           (projected.by_expression ? "ProjectionExpression" : "AttributesToGet") +
                           " when choosing to get " +
                           std::string(*select == Select::kCount ? "only the Count" : NameOf(*select)));
  }
  if (!has_projection && *select == Select::kSpecificAttributes) {
    return ValidationError(
        prefix +
        "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES");
  }
  if (!has_index && *select == Select::kAllProjectedAttributes) {
    // A Scan says "Querying" too.
    return ValidationError(prefix +
                           "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
  }
  return Ok{};
}

Result<Shape> ChooseShape(const Target& target, std::optional<Select> select,
                          const expression::Projection* projection) {
  Shape shape;
  shape.count_only = select == Select::kCount;
  if (target.index == nullptr || target.index->projection == ProjectionType::kAll) return shape;
  const IndexSchema& index = *target.index;
  std::vector<std::string> missing = Unprojected(index, projection);
  bool wants_all = select == Select::kAllAttributes;
  if (index.is_global()) {
    if (wants_all) {
      return ValidationError(
          "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported "
          "for global secondary index " +
          index.name + " because its projection type is not ALL");
    }
    if (!missing.empty()) {
      return ValidationError("One or more parameter values were invalid: Global secondary index " +
                             index.name + " does not project " + JavaText(missing));
    }
    return shape;
  }
  shape.fetch_base = wants_all || !missing.empty();
  return shape;
}

Status CheckStartValues(const std::optional<Item>& start) {
  if (!start || start->defect() == nullptr) return Ok{};
  // Bad numbers and sets are reported bare, everything else as a bad key.
  const std::string& why = start->defect()->message();
  for (std::string_view bare :
       {"contains duplicates", "number set", "numeric value", "significant digits", "magnitude"}) {
    if (why.find(bare) != std::string::npos) return ValidationError(why);
  }
  return ValidationError("The provided starting key is invalid: " + why);
}

Status CheckStartCount(const Target& target, const Item& start, Reader reader) {
  if (start.size() == KeyAttributes(target).size()) return Ok{};
  bool bare = target.index != nullptr || reader == Reader::kQuery;
  return ValidationError(
      bare ? "The provided starting key is invalid"
           : "The provided starting key is invalid: The provided key element does not match the "
             "schema");
}

Status CheckStartAttribute(const KeyAttribute& key, const Item& start, bool is_partition) {
  auto value = MapView(start).Find(key.name);
  if (!value) return ValidationError("The provided starting key is invalid");
  switch (
      CheckKeyValue(key, *value, is_partition ? limits::kPartitionKeyBytesMax : limits::kSortKeyBytesMax)) {
    case engine::KeyFault::kNone: return Ok{};
    case engine::KeyFault::kWrongType:
      return ValidationError("The provided key element does not match the schema");
    case engine::KeyFault::kTooLong:
      return ValidationError("One or more parameter values were invalid: a key is too long: " + key.name);
    case engine::KeyFault::kEmpty:
      return ValidationError(
          "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain "
          "an empty "
          "value. Key: " +
          key.name);
  }
  HF_ASSERT(false);
}

Result<std::string> StartKey(const Target& target, const Item& start) {
  const TableSchema& schema = target.schema();
  for (const KeyAttribute* key : {&schema.partition, schema.sort ? &*schema.sort : nullptr}) {
    if (key == nullptr) continue;
    Status fit = CheckStartAttribute(*key, start, key == &schema.partition);
    if (fit) continue;
    bool missing = !start.Has(key->name);
    return ValidationError(
        "The provided starting key is invalid: " +
        (missing ? "The provided key element does not match the schema" : fit.error().message()));
  }
  MapView attributes(start);
  if (target.index == nullptr) return engine::ItemKeyOf(schema, attributes);
  auto entry = engine::IndexEntryKey(schema, *target.index, attributes);
  HF_ASSERT(entry.has_value());  // every attribute was checked
  return *std::move(entry);
}

Item LastKey(const Target& target, MapView item) {
  value::FlatWriter writer;
  writer.BeginMap();
  for (const KeyAttribute* key : KeyAttributes(target)) {
    auto value = item.Find(key->name);
    HF_ASSERT(value.has_value());  // keys are always projected
    writer.Name(key->name);
    writer.Copy(*value);
  }
  writer.EndMap();
  return Item::FromFlat(writer.TakeMap());
}

namespace {

// What an item weighs towards the 1 MB of a page. DynamoDB counts its own stored form here, not the item
// size: attribute names are replaced by one byte, values carry their lengths, and a header with the sort key
// is repeated every 3 KB. Found by others at the boundary of pages; a page ends with the item that reaches
// the limit.
size_t StoredValueBytes(value::ValueView value) {
  size_t size = value::ValueSize(value);
  switch (value.type()) {
    case value::Type::kString: return size + (size < 128 ? 1 : size < 16384 ? 2 : 3);
    case value::Type::kBinary:
    case value::Type::kNumber: return size + 1;
    case value::Type::kStringSet:
    case value::Type::kNumberSet:
    case value::Type::kBinarySet: return size + value.entries().size() + 1;
    case value::Type::kNull: return 0;
    default: return size;
  }
}

size_t PageBytes(MapView item, const TableSchema& schema) {
  size_t size = 0, sort_size = 0;
  for (uint32_t i = 0; i < item.size(); ++i) {
    value::Attribute attribute = item.At(i);
    if (schema.sort && attribute.name == schema.sort->name) {
      sort_size = value::ValueSize(attribute.value);
    } else {
      size += 1 + StoredValueBytes(attribute.value);
    }
  }
  return 2 + size + (1 + (1 + size) / 3072) * (18 + sort_size);
}

// One walk over a range.
class PageReader {
 public:
  PageReader(Context& context, const Target& target, const PageSpec& spec, TableUsage* usage)
      : context_(context),
        target_(target),
        spec_(spec),
        usage_(usage),
        view_(context.engine->NewView(spec.shape.fetch_base ? engine::Engine::Reads::kMany
                                                            : engine::Engine::Reads::kOne)) {}

  Result<Page> Read() {
    if (!spec_.shape.count_only) page_.items.emplace();
    auto it = context_.engine->kv().Iterate(target_.space(), spec_.range, view_.snapshot(), context_.wait);
    Start(it.get());
    size_t scanned = 0, bytes = 0, page_bytes = 0;
    for (; it->Valid(); spec_.forward ? it->Next() : it->Prev()) {
      engine::StoredItem stored = engine::DecodeStored(it->value());
      context_.work.Spend(base::WorkMeter::kStepBytes + it->value().size());
      HF_CHECK_OK(Visit(stored));
      HF_CHECK_OK(context_.work.Check());
      ++scanned;
      bytes += stored.size;
      page_bytes += PageBytes(stored.view(), target_.schema());
      part_bytes_[PartOf(it->key())] += stored.size;
      bool is_full = page_bytes >= limits::kPageBytesMax || bytes >= limits::kPageItemBytesMax;
      if (scanned == spec_.limit || is_full) {
        if (spec_.single) break;
        page_.last_evaluated_key = LastKey(target_, stored.view());
        last_part_ = PartOf(it->key());
        break;
      }
    }
    HF_CHECK_OK(it->status());
    page_.scanned_count = static_cast<int64_t>(scanned);
    double units = spec_.spans_partitions ? UnitsByPart() : ReadUnits(bytes, spec_.consistent);
    if (target_.index != nullptr) {
      usage_->AddIndex(*target_.index, units);
      usage_->AddTable(base_units_);
    } else {
      usage_->AddTable(units);
    }
    return std::move(page_);
  }

 private:
  // An on-demand table starts with four partitions of the hash space, and a Scan pays for each that it looks
  // into, at least one unit: so it costs four units on the live service, two if it need not be consistent, to
  // scan next to nothing.
  static constexpr size_t kParts = 4;
  static size_t PartOf(ByteView key) { return key.size() > 4 ? static_cast<uint8_t>(key[4]) >> 6 : 0; }

  double UnitsByPart() const {
    size_t first = PartOf(spec_.start_after ? *spec_.start_after : spec_.range.lower);
    // The upper bound is the first key beyond: of the next table, or of the next segment.
    size_t last = spec_.range.upper.size() > 4 ? PartOf(spec_.range.upper) : kParts - 1;
    if (last_part_) last = *last_part_;
    double units = 0;
    for (size_t part = first; part <= last; ++part) units += ReadUnits(part_bytes_[part], spec_.consistent);
    return std::max(units, ReadUnits(0, spec_.consistent));
  }

  void Start(storage::Iterator* it) {
    if (!spec_.start_after) {
      spec_.forward ? it->SeekToFirst() : it->SeekToLast();
      return;
    }
    if (spec_.forward) {
      it->Seek(*spec_.start_after);
      if (it->Valid() && it->key() == *spec_.start_after) it->Next();
    } else {
      it->SeekForPrev(*spec_.start_after);
      if (it->Valid() && it->key() == *spec_.start_after) it->Prev();
    }
  }

  Status Visit(const engine::StoredItem& stored) {
    if (!spec_.shape.fetch_base) {
      Add(stored.view());
      return Ok{};
    }
    std::string base;
    HF_TRY(bool found, context_.engine->Get(engine::ItemKeyOf(target_.schema(), stored.view()), view_,
                                            context_.wait, &base));
    if (!found) return Error(ErrorCode::kCorruption, "an index entry has no item");
    engine::StoredItem item = engine::DecodeStored(base);
    context_.work.Spend(base.size());
    base_units_ += ReadUnits(item.size, spec_.consistent);
    Add(item.view());
    return Ok{};
  }

  void Add(MapView item) {
    if (spec_.filter != nullptr && !spec_.filter->Holds(item, &context_.work)) return;
    ++page_.count;
    if (!page_.items) return;
    if (spec_.projection != nullptr) {
      page_.items->push_back(spec_.projection->Apply(item, &context_.work));
    } else {
      page_.items->push_back(Item::FromFlat(std::string(item.bytes())));
    }
  }

  Context& context_;
  const Target& target_;
  const PageSpec& spec_;
  TableUsage* usage_;
  engine::View view_;
  Page page_;
  double base_units_ = 0;
  size_t part_bytes_[kParts] = {};
  std::optional<size_t> last_part_;  // where the page ended early
};

}  // namespace

Result<Page> ReadPage(Context& context, const Target& target, const PageSpec& spec, TableUsage* usage) {
  HF_CHECK_OK(AdmitRead(context, target.ref, target.index));
  return PageReader(context, target, spec, usage).Read();
}

}  // namespace holdfast::ops
