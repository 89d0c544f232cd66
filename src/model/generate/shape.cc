#include "model/generate/shape.h"

#include <algorithm>
#include <set>

#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

// What one element of a list is called: blockers → blocker, entries → entry.
std::string Singular(const std::string& name) {
  if (name.ends_with("ies")) return name.substr(0, name.size() - 3) + "y";
  if (name.ends_with("s") && !name.ends_with("ss")) return name.substr(0, name.size() - 1);
  return name + "Item";
}

std::string InnerName(const std::string& owner, const Attribute& field) {
  return owner + PascalName(field.name);
}

bool IsRecord(const Attribute& attribute) {
  return attribute.kind == Kind::kMap && attribute.has_fields && attribute.schema.empty() &&
         attribute.schema_by.empty();
}

class Collector {
 public:
  explicit Collector(const Model& model) : model_(model) {}

  std::vector<Shape> Collect() {
    for (const auto& schema : model_.schemas) AddSchema(*schema);
    for (const auto& entity : model_.entities) {
      Shape shape{EntityTypeName(*entity), entity->title, &entity->attributes, entity.get()};
      AddFields(shape);
      shapes_.push_back(std::move(shape));
    }
    return std::move(shapes_);
  }

 private:
  void AddSchema(const Schema& schema) {
    if (!known_.insert(&schema).second) return;
    Shape shape{SchemaTypeName(model_, schema), {}, &schema.fields};
    AddFields(shape);
    shapes_.push_back(std::move(shape));
  }

  void AddFields(const Shape& shape) {
    for (const Attribute& field : *shape.fields) AddInner(field, InnerName(shape.name, field));
  }

  void AddInner(const Attribute& attribute, const std::string& name) {
    if (const Schema* schema = model_.FindSchema(attribute.schema)) AddSchema(*schema);
    if (attribute.items) AddInner(*attribute.items, Singular(name));
    if (!IsRecord(attribute)) return;
    Shape shape{name, attribute.description, &attribute.fields};
    AddFields(shape);
    shapes_.push_back(std::move(shape));
  }

  const Model& model_;
  std::set<const Schema*> known_;
  std::vector<Shape> shapes_;
};

class Namer {
 public:
  Namer(const Model& model, const Shape& shape, const TypeWords& words)
      : model_(model), shape_(shape), words_(words) {}

  std::string Name(const Attribute& attribute, const std::string& inner) const {
    std::string_view stored = StoredType(attribute.kind);
    if (stored == "S")
      return attribute.choices.empty() || words_.choices == nullptr ? words_.text : words_.choices(attribute);
    if (stored == "N") return words_.number;
    if (stored == "BOOL") return words_.truth;
    if (stored == "B") return words_.bytes;
    if (stored == "SS") return words_.text_set;
    if (stored == "NS") return words_.number_set;
    if (stored == "M") return MapName(attribute, inner);
    if (stored == "L") return words_.list(ElementName(attribute, inner));
    return words_.any;
  }

 private:
  std::string ElementName(const Attribute& list, const std::string& inner) const {
    if (list.kind == Kind::kVector) return words_.number;
    return list.items ? Name(*list.items, Singular(inner)) : words_.any;
  }

  std::string MapName(const Attribute& map, const std::string& inner) const {
    if (const Schema* schema = model_.FindSchema(map.schema)) return SchemaTypeName(model_, *schema);
    if (IsRecord(map)) return inner;
    auto schemas = SchemasByValue(model_, *shape_.fields, map);
    if (schemas.empty() || words_.one_of == nullptr) return words_.any_map;
    std::vector<std::string> types;
    for (const SchemaByValue& by : schemas) {
      std::string name = SchemaTypeName(model_, *by.schema);
      types.push_back(by.field == nullptr ? name : Name(*by.field, InnerName(name, *by.field)));
    }
    const Attribute* by = FindAttribute(*shape_.fields, map.schema_by);
    if (by->open_choices || schemas.size() < by->choices.size()) types.push_back(words_.any_map);
    return words_.one_of(types);
  }

  const Model& model_;
  const Shape& shape_;
  const TypeWords& words_;
};

}  // namespace

std::vector<Shape> Shapes(const Model& model) {
  return Collector(model).Collect();
}

std::string EntityTypeName(const Entity& entity) {
  return PascalName(entity.name);
}

std::string SchemaTypeName(const Model& model, const Schema& schema) {
  std::string name = PascalName(schema.name);
  bool taken = std::any_of(model.entities.begin(), model.entities.end(),
                           [&](const auto& entity) { return EntityTypeName(*entity) == name; });
  return taken ? name + "Schema" : name;
}

std::string TypeOf(const Model& model, const Shape& shape, const Attribute& field, const TypeWords& words) {
  return Namer(model, shape, words).Name(field, InnerName(shape.name, field));
}

std::vector<SchemaByValue> SchemasByValue(const Model& model, const std::vector<Attribute>& siblings,
                                          const Attribute& field) {
  std::vector<SchemaByValue> found;
  const Attribute* by = field.schema_by.empty() ? nullptr : FindAttribute(siblings, field.schema_by);
  if (by == nullptr) return found;
  for (const std::string& value : by->choices) {
    const Schema* schema = model.FindSchema(value);
    if (schema == nullptr) continue;
    const Attribute* inner =
        field.schema_field.empty() ? nullptr : FindAttribute(schema->fields, field.schema_field);
    if (inner != nullptr || field.schema_field.empty()) found.push_back({value, schema, inner});
  }
  return found;
}

std::string Notice(const Model& model) {
  return Cat("Generated from the model ", model.name, ", version ", std::to_string(model.version),
             ". Do not edit.");
}

}  // namespace holdfast::model::generate
