#include "ops/page.h"

#include <algorithm>

#include "base/limits.h"
#include "ops/projection.h"

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
  if (projection == nullptr) return missing;
  for (const expression::Path& path : projection->tree().paths()) {
    const std::string& name = path[0].name;
    if (!index.Projects(name) && std::find(missing.begin(), missing.end(), name) == missing.end()) {
      missing.push_back(name);
    }
  }
  return missing;
}

}  // namespace

Result<Target> OpenTarget(Context& context, const std::string& table, const std::optional<std::string>& index,
                          bool consistent_read) {
  Target target;
  HF_TRY(target.ref, OpenForItems(context, table));
  if (!index) return target;
  target.index = target.ref.schema->FindIndex(*index);
  if (target.index == nullptr) {
    return ValidationError("The table does not have the specified index: " + *index);
  }
  if (target.index->is_global() && consistent_read) {
    return ValidationError("Consistent reads are not supported on global secondary indexes");
  }
  if (target.index->status == IndexStatus::kCreating) {
    return ValidationError("Cannot read from backfilling global secondary index: " + *index);
  }
  return target;
}

Status CheckSelect(std::optional<Select> select, bool has_projection, bool has_index, std::string_view what) {
  if (!select) return Ok{};
  if (has_projection && *select != Select::kSpecificAttributes) {
    return ValidationError("Cannot specify the ProjectionExpression when choosing to get " +
                           std::string(*select == Select::kCount ? "only the Count" : NameOf(*select)));
  }
  if (!has_projection && *select == Select::kSpecificAttributes) {
    std::string message =
        "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES";
    return ValidationError(what == "Querying" ? "1 validation error detected: " + message : message);
  }
  if (!has_index && *select == Select::kAllProjectedAttributes) {
    return ValidationError("ALL_PROJECTED_ATTRIBUTES can be used only when " + std::string(what) +
                           " using an IndexName");
  }
  return Ok{};
}

Result<Shape> ChooseShape(const Target& target, std::optional<Select> select,
                          const expression::Projection* projection, const expression::Condition* filter) {
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
      std::string names;
      for (const std::string& name : missing) names.append(names.empty() ? "" : ", ").append(name);
      return ValidationError("One or more parameter values were invalid: Global secondary index " +
                             index.name + " does not project [" + names + "]");
    }
    return shape;
  }
  shape.fetch_base = wants_all || !missing.empty();
  if (filter != nullptr) {
    filter->ForEachPath(
        [&](const expression::Path& path) { shape.fetch_base |= !index.Projects(path[0].name); });
  }
  return shape;
}

Result<std::string> StartKey(const Target& target, const Item& start) {
  if (const Error* defect = start.defect()) return *defect;
  Error invalid = ValidationError(
      target.index != nullptr ? "The provided starting key is invalid"
                              : "The provided starting key is invalid: The provided key element does not "
                                "match the schema");
  MapView attributes(start);
  std::vector<const KeyAttribute*> keys = KeyAttributes(target);
  if (attributes.size() != keys.size()) return invalid;
  for (const KeyAttribute* key : keys) {
    auto value = attributes.Find(key->name);
    if (!value || value->type() != key->type) return invalid;
    if (CheckKeyValue(*key, *value, limits::kPartitionKeyBytesMax) == engine::KeyFault::kEmpty) {
      return ValidationError(
          "One or more parameter values are not valid. The AttributeValue for a key attribute "
          "cannot contain an empty string value. Key: " +
          key->name);
    }
  }
  if (target.index == nullptr) return engine::ItemKeyOf(target.schema(), attributes);
  auto entry = engine::IndexEntryKey(target.schema(), *target.index, attributes);
  if (!entry) return invalid;
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
    size_t scanned = 0, bytes = 0;
    std::optional<Item> last;
    for (; it->Valid(); spec_.forward ? it->Next() : it->Prev()) {
      engine::StoredItem stored = engine::DecodeStored(it->value());
      HF_CHECK_OK(Visit(stored));
      ++scanned;
      bytes += stored.size;
      if (scanned == spec_.limit || bytes >= limits::kPageBytesMax) {
        page_.last_evaluated_key = LastKey(target_, stored.view());
        break;
      }
    }
    HF_CHECK_OK(it->status());
    page_.scanned_count = static_cast<int64_t>(scanned);
    double units = ReadUnits(bytes, spec_.consistent);
    if (target_.index != nullptr) {
      usage_->AddIndex(*target_.index, units);
      usage_->AddTable(base_units_);
    } else {
      usage_->AddTable(units);
    }
    return std::move(page_);
  }

 private:
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
    base_units_ += ReadUnits(item.size, spec_.consistent);
    Add(item.view());
    return Ok{};
  }

  void Add(MapView item) {
    if (spec_.filter != nullptr && !spec_.filter->Holds(item)) return;
    ++page_.count;
    if (!page_.items) return;
    if (spec_.projection != nullptr) {
      page_.items->push_back(spec_.projection->Apply(item));
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
};

}  // namespace

Result<Page> ReadPage(Context& context, const Target& target, const PageSpec& spec, TableUsage* usage) {
  return PageReader(context, target, spec, usage).Read();
}

}  // namespace holdfast::ops
