// The four things a write can want of an item. Each refers to its request and its meter, which must outlive
// it.
#pragma once

#include <optional>

#include "engine/catalog/schema.h"
#include "engine/item/mutation.h"
#include "expression/condition.h"
#include "expression/update.h"

namespace holdfast::ops {

using engine::Change;

class PutMutation final : public engine::ItemMutation {
 public:
  // Requires: the item is sound and within the size limit.
  PutMutation(const Item* item, const expression::Condition* condition, base::WorkMeter* work)
      : item_(item), condition_(condition), work_(work) {}
  Result<Change> Apply(const value::MapView* old) const override;

 private:
  const Item* const item_;
  const expression::Condition* const condition_;
  base::WorkMeter* const work_;
};

class DeleteMutation final : public engine::ItemMutation {
 public:
  DeleteMutation(const expression::Condition* condition, base::WorkMeter* work)
      : condition_(condition), work_(work) {}
  Result<Change> Apply(const value::MapView* old) const override;

 private:
  const expression::Condition* const condition_;
  base::WorkMeter* const work_;
};

class CheckMutation final : public engine::ItemMutation {
 public:
  CheckMutation(const expression::Condition* condition, base::WorkMeter* work)
      : condition_(condition), work_(work) {}
  Result<Change> Apply(const value::MapView* old) const override;

 private:
  const expression::Condition* const condition_;
  base::WorkMeter* const work_;
};

class UpdateMutation final : public engine::ItemMutation {
 public:
  // DynamoDB measures an UpdateItem against the item limit with a surcharge that a transaction's Update is
  // spared.
  enum class SizeRule : uint8_t { kUpdateItem, kTransaction };

  // `update` may be null: then the item is created when it is not there, and otherwise left alone.
  UpdateMutation(const engine::TableSchema* schema, const Item* key, const expression::Update* update,
                 const expression::Condition* condition, SizeRule size_rule, base::WorkMeter* work)
      : schema_(schema),
        key_(key),
        update_(update),
        condition_(condition),
        size_rule_(size_rule),
        work_(work) {}
  Result<Change> Apply(const value::MapView* old) const override;

 private:
  Status CheckSize(const Item& changed) const;
  Status CheckTouchedIndexKeys(const Item& changed) const;

  const engine::TableSchema* const schema_;
  const Item* const key_;
  const expression::Update* const update_;
  const expression::Condition* const condition_;
  const SizeRule size_rule_;
  base::WorkMeter* const work_;
};

// Before any item is seen: no clause may name a key attribute, or reach into an index key.
Status CheckUpdatePaths(const engine::TableSchema& schema, const expression::Update& update);

}  // namespace holdfast::ops
