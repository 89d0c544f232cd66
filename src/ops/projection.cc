#include "ops/projection.h"

#include "engine/item/stored_item.h"
#include "ops/table_access.h"

namespace holdfast::ops {

Result<std::optional<expression::Projection>> ParseProjection(const std::optional<std::string>& text,
                                                              expression::Scope* scope) {
  if (!text) return std::optional<expression::Projection>();
  HF_TRY(expression::Projection projection, expression::Projection::Parse(*text, scope));
  return std::optional<expression::Projection>(std::move(projection));
}

Status CheckProjectionPaths(const engine::TableSchema& schema, const expression::Projection* projection) {
  if (projection == nullptr || projection->tree().is_flat()) return Ok{};
  for (const expression::Path& path : projection->tree().paths()) {
    HF_CHECK_OK(CheckKeyPath(schema, path[0].name, path.size() > 1));
  }
  return Ok{};
}

Item TakeItem(std::string stored, const expression::Projection* projection, size_t* size,
              base::WorkMeter* work) {
  engine::StoredItem item = engine::DecodeStored(stored);
  *size = item.size;
  if (projection != nullptr) return projection->Apply(item.view(), work);
  work->Spend(stored.size());
  stored.erase(0, stored.size() - item.flat.size());
  return Item::FromFlat(std::move(stored));
}

}  // namespace holdfast::ops
