#include "model/fields.h"

#include <algorithm>

#include "holdfast/model.h"

namespace holdfast::model {

FieldPlan::FieldPlan(const Entity& entity) : entity_(entity), true_(FlatValue(true)) {
  using Shown = Field::Shown;
  fields_.reserve(entity.attributes.size() + 2 * (entity.indexes.size() + 1));
  for (const Attribute& attribute : entity.attributes) {
    Field& field = fields_.emplace_back();
    field.name = attribute.name;
    if (!attribute.stored) field.shown = Shown::kFromKey;
    if (attribute.stored && attribute.kind == Kind::kEncrypted) field.shown = Shown::kWhetherSet;
    if (attribute.stored && attribute.default_value) field.otherwise = FlatValue(*attribute.default_value);
    reads_key_ = reads_key_ || !attribute.stored;
  }
  auto add_derived = [&](const std::vector<KeyPart>& parts) {
    for (const KeyPart& part : parts) {
      if (entity.Find(part.attribute.name) == nullptr)
        fields_.push_back({part.attribute.name, Shown::kNever, {}});
    }
  };
  add_derived(entity.key);
  for (const IndexKey& index : entity.indexes) add_derived(index.parts);
  std::sort(fields_.begin(), fields_.end(), [](const Field& a, const Field& b) { return a.name < b.name; });
  fields_.erase(std::unique(fields_.begin(), fields_.end(),
                            [](const Field& a, const Field& b) { return a.name == b.name; }),
                fields_.end());
}

}  // namespace holdfast::model

namespace holdfast {

Item Record::Fields() const {
  if (entity_ == nullptr) return stored_;
  value::FlatWriter writer;
  writer.BeginMap();
  model::FieldPlan(*entity_).Visit(stored_, [&](size_t, std::string_view name, value::ValueView value) {
    writer.Name(name);
    writer.Copy(value);
  });
  writer.EndMap();
  return Item::FromFlat(writer.TakeMap());
}

}  // namespace holdfast
