// The record types of a model, and how a language names the type of an attribute. The generators of types
// differ in words alone.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace holdfast::model::generate {

// A record: an entity, an embedded schema, or a map with fields inside one of them.
struct Shape {
  std::string name;  // TaskDependency, DeliveryStateBlocker
  std::string title;
  const std::vector<Attribute>* fields = nullptr;
  const Entity* entity = nullptr;  // null for the others
};

// Each after those that it is made of.
std::vector<Shape> Shapes(const Model& model);
std::string EntityTypeName(const Entity& entity);

struct TypeWords {
  std::string text, number, truth, bytes, any, any_map, text_set, number_set;
  std::string (*list)(const std::string& element);
  // A text that is one of `choices`; null: just a text.
  std::string (*choices)(const Attribute& attribute);
  // One of several records; null: any map.
  std::string (*one_of)(const std::vector<std::string>& types);
};

// The type of one of `shape`'s fields.
std::string TypeOf(const Model& model, const Shape& shape, const Attribute& field, const TypeWords& words);

// What a field is when another attribute has `value`: a schema, or the field of one. Values that name no
// schema are left out.
struct SchemaByValue {
  std::string value;
  const Schema* schema = nullptr;
  const Attribute* field = nullptr;  // null: the whole schema
};
std::vector<SchemaByValue> SchemasByValue(const Model& model, const std::vector<Attribute>& siblings,
                                          const Attribute& field);
std::string SchemaTypeName(const Model& model, const Schema& schema);

// "Generated from the model pm, version 3. Do not edit."
std::string Notice(const Model& model);

}  // namespace holdfast::model::generate
