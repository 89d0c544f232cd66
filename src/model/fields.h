// What callers see of the stored items of an entity, without a copy of them: Record::Fields() field by field.
//
//   FieldPlan plan(entity);                                      // once
//   plan.Visit(record.stored(), [&](size_t, std::string_view name, value::ValueView value) { … });  // for
//   each
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/value.h"
#include "model/item_builder.h"
#include "model/model.h"
#include "value/flat.h"

namespace holdfast::model {

class FieldPlan {
 public:
  // An attribute that the model knows.
  struct Field {
    enum class Shown : uint8_t {
      kAsStored,
      kWhetherSet,  // of what is encrypted
      kFromKey,     // it is stored nowhere else
      kNever,       // it is there for a key alone
    };
    std::string_view name;
    Shown shown = Shown::kAsStored;
    std::string otherwise;  // flat; what is seen where there is none. Empty: nothing
  };

  // Requires: the entity outlives the plan.
  explicit FieldPlan(const Entity& entity);

  // In order of name.
  const std::vector<Field>& fields() const { return fields_; }

  // Calls visit(position in fields(), name, value) in order of name. Of what the model does not know the
  // position is fields().size(). Values are gone when `visit` returns.
  template <class Visitor>
  void Visit(const Item& stored, const Visitor& visit) const {
    std::map<std::string, std::string> in_key;
    if (reads_key_) in_key = PartsOfKey(entity_, stored);
    auto visit_absent = [&](size_t number) {
      const Field& field = fields_[number];
      if (field.shown == Field::Shown::kFromKey) {
        auto text = in_key.find(std::string(field.name));
        if (text != in_key.end()) visit(number, field.name, value::ValueView(FlatValue(text->second)));
      } else if (!field.otherwise.empty()) {
        visit(number, field.name, value::ValueView(field.otherwise));
      }
    };
    size_t number = 0;
    value::MapView item(stored);
    for (uint32_t i = 0; i < item.size(); ++i) {
      value::Attribute entry = item.At(i);
      while (number < fields_.size() && fields_[number].name != entry.name &&
             fields_[number].name < entry.name)
        visit_absent(number++);
      if (number == fields_.size() || fields_[number].name != entry.name) {
        visit(fields_.size(), entry.name, entry.value);
        continue;
      }
      Field::Shown shown = fields_[number].shown;
      bool set = entry.value.type() != value::Type::kNull;
      if (set && shown == Field::Shown::kAsStored)
        visit(number, entry.name, entry.value);
      else if (set && shown == Field::Shown::kWhetherSet)
        visit(number, entry.name, value::ValueView(true_));
      else
        visit_absent(number);
      ++number;
    }
    while (number < fields_.size()) visit_absent(number++);
  }

 private:
  const Entity& entity_;
  const std::string true_;
  std::vector<Field> fields_;
  bool reads_key_ = false;
};

}  // namespace holdfast::model
