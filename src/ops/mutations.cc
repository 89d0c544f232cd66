#include "ops/mutations.h"

#include "base/limits.h"
#include "ops/table_access.h"

namespace holdfast::ops {
namespace {

using value::MapView;

Result<bool> Holds(const expression::Condition* condition, const MapView* old, base::WorkMeter* work) {
  if (condition == nullptr) return true;
  bool holds = condition->Holds(old, work);
  HF_CHECK_OK(work->Check());
  return holds;
}

Change ConditionFailed() {
  return {Change::Kind::kConditionFailed, {}};
}

}  // namespace

Result<Change> PutMutation::Apply(const MapView* old) const {
  HF_TRY(bool holds, Holds(condition_, old, work_));
  if (!holds) return ConditionFailed();
  return Change{Change::Kind::kPut, *item_};
}

Result<Change> DeleteMutation::Apply(const MapView* old) const {
  HF_TRY(bool holds, Holds(condition_, old, work_));
  if (!holds) return ConditionFailed();
  return Change{Change::Kind::kDelete, {}};
}

Result<Change> CheckMutation::Apply(const MapView* old) const {
  HF_TRY(bool holds, Holds(condition_, old, work_));
  if (!holds) return ConditionFailed();
  return Change{};
}

Result<Change> UpdateMutation::Apply(const MapView* old) const {
  HF_TRY(bool holds, Holds(condition_, old, work_));
  if (!holds) return ConditionFailed();
  if (update_ == nullptr) return old == nullptr ? Change{Change::Kind::kPut, *key_} : Change{};
  // Nothing can be taken from an item that is not there, and taking alone does not create it.
  if (old == nullptr && update_->only_removes()) return Change{};
  // The key attributes of an item to be created can be read by the expression.
  HF_TRY(Item changed, update_->Apply(old != nullptr ? *old : MapView(*key_), work_));
  HF_CHECK_OK(CheckTouchedIndexKeys(changed));
  HF_CHECK_OK(CheckSize(changed));
  return Change{Change::Kind::kPut, std::move(changed)};
}

// Found by bisecting the live service: besides the item itself, the item without its key attributes plus 3
// bytes, 19 for each action that writes a value and 2 for each that clears one must stay within the limit.
Status UpdateMutation::CheckSize(const Item& changed) const {
  size_t size = changed.SizeBytes();
  size_t measured = size;
  if (size_rule_ == SizeRule::kUpdateItem) {
    size_t actions = 3;
    for (const expression::UpdateClause& clause : update_->clauses()) {
      bool writes = clause.kind == expression::UpdateClause::Kind::kSet ||
                    clause.kind == expression::UpdateClause::Kind::kAdd;
      actions += writes ? 19 : 2;
    }
    measured = std::max(size, size - key_->SizeBytes() + actions);
  }
  if (measured > limits::kItemSizeBytesMax) {
    return expression::UpdatedItemTooLarge();
  }
  return Ok{};
}

// Only attributes that the update names: an item may hold something unfit from before the index existed.
Status UpdateMutation::CheckTouchedIndexKeys(const Item& changed) const {
  if (schema_->indexes.empty()) return Ok{};
  value::FlatWriter writer;
  writer.BeginMap();
  bool any = false;
  for (const expression::Path& path : update_->paths().paths()) {
    if (auto value = MapView(changed).Find(path[0].name)) {
      writer.Name(path[0].name);
      writer.Copy(*value);
      any = true;
    }
  }
  writer.EndMap();
  if (!any) return Ok{};
  std::string touched = writer.TakeMap();
  return CheckIndexKeys(*schema_, MapView(touched), IndexKeyCheck::kUpdate);
}

namespace {

// A value whose type is known from the expression can be refused for an index key without looking at the
// item.
Status CheckConstantIndexKeys(const engine::TableSchema& schema, const expression::Update& update) {
  for (size_t i = 0; i < update.clauses().size(); ++i) {
    const expression::Path& path = update.paths().paths()[i];
    auto type = update.ConstantType(i);
    if (path.size() > 1 || !type) continue;
    for (const engine::IndexSchema& index : schema.indexes) {
      for (const auto* keys : {&index.partition, &index.sort}) {
        for (const engine::KeyAttribute& key : *keys) {
          if (key.name == path[0].name && key.type != *type) return IndexKeyMismatch(key, *type, index.name);
        }
      }
    }
  }
  return Ok{};
}

}  // namespace

Status CheckUpdatePaths(const engine::TableSchema& schema, const expression::Update& update) {
  for (const expression::Path& path : update.paths().paths()) {
    std::string_view name = path[0].name;
    if (name == schema.partition.name || (schema.sort && name == schema.sort->name)) {
      return ValidationError("One or more parameter values were invalid: Cannot update attribute " +
                             std::string(name) + ". This attribute is part of the key");
    }
  }
  HF_CHECK_OK(CheckConstantIndexKeys(schema, update));
  Status status = Ok{};
  update.ForEachPath([&](const expression::Path& path) {
    if (status) status = CheckKeyPath(schema, path[0].name, path.size() > 1);
  });
  return status;
}

}  // namespace holdfast::ops
