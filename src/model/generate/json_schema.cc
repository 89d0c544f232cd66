#include "model/generate/generate.h"
#include "model/generate/shape.h"
#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

Node Reference(const std::string& name) {
  return Node::Map().Set("$ref", "#/$defs/" + name);
}

class SchemaWriter {
 public:
  explicit SchemaWriter(const Model& model) : model_(model) {}

  Node Record(const std::vector<Attribute>& fields) const {
    Node properties = Node::Map();
    Node required = Node::List();
    Node rules = Node::List();
    for (const Attribute& field : fields) {
      properties.Set(field.name, Value(field));
      if (field.required) required.Add(field.name);
      for (const SchemaByValue& by : SchemasByValue(model_, fields, field)) {
        std::string target = SchemaTypeName(model_, *by.schema);
        if (by.field != nullptr) target += "/properties/" + by.field->name;
        rules.Add(Node::Map()
                      .Set("if", Only(field.schema_by, Node::Map().Set("const", by.value)))
                      .Set("then", Only(field.name, Reference(target))));
      }
    }
    Node record = Node::Map().Set("type", "object").Set("properties", std::move(properties));
    if (!required.empty()) record.Set("required", std::move(required));
    if (!rules.empty()) record.Set("allOf", std::move(rules));
    return record;
  }

 private:
  static Node Only(const std::string& name, Node node) {
    return Node::Map().Set("properties", Node::Map().Set(name, std::move(node)));
  }

  Node Value(const Attribute& attribute) const {
    Node value = Typed(attribute);
    if (!attribute.description.empty()) value.Set("description", attribute.description);
    if (attribute.default_value) value.Set("default", Node(*attribute.default_value));
    if (attribute.always) value.Set("readOnly", true);
    return value;
  }

  Node Typed(const Attribute& attribute) const {
    std::string_view stored = StoredType(attribute.kind);
    if (stored == "S") return Text(attribute);
    if (stored == "N") {
      return Bounded(attribute, "minimum", "maximum",
                     Node::Map().Set("type", attribute.kind == Kind::kEpoch ? "integer" : "number"));
    }
    if (stored == "BOOL") return Node::Map().Set("type", "boolean");
    if (stored == "B") return Node::Map().Set("type", "string").Set("contentEncoding", "base64");
    if (stored == "SS" || stored == "NS") {
      return Node::Map()
          .Set("type", "array")
          .Set("items", Node::Map().Set("type", stored == "SS" ? "string" : "number"))
          .Set("uniqueItems", true);
    }
    if (stored == "M") {
      if (const Schema* schema = model_.FindSchema(attribute.schema))
        return Reference(SchemaTypeName(model_, *schema));
      return attribute.has_fields ? Record(attribute.fields) : Node::Map().Set("type", "object");
    }
    if (stored == "L") return List(attribute);
    return Node::Map();
  }

  static Node Text(const Attribute& attribute) {
    Node text = Node::Map().Set("type", "string");
    // What an open list does not name is a text all the same.
    if (!attribute.choices.empty())
      text.Set(attribute.open_choices ? "examples" : "enum", Node::List(attribute.choices));
    if (attribute.kind == Kind::kInstant) text.Set("format", "date-time");
    if (attribute.kind == Kind::kDate) text.Set("format", "date");
    if (attribute.kind == Kind::kUuid) text.Set("format", "uuid");
    if (!attribute.pattern.empty()) text.Set("pattern", Cat("^(?:", attribute.pattern, ")$"));
    return Bounded(attribute, "minLength", "maxLength", std::move(text));
  }

  Node List(const Attribute& attribute) const {
    Node list = Node::Map().Set("type", "array");
    if (attribute.kind == Kind::kVector) {
      return list.Set("items", Node::Map().Set("type", "number"))
          .Set("minItems", attribute.dimensions)
          .Set("maxItems", attribute.dimensions);
    }
    if (attribute.items) list.Set("items", Value(*attribute.items));
    return Bounded(attribute, "minItems", "maxItems", std::move(list));
  }

  static Node Bounded(const Attribute& attribute, std::string_view min, std::string_view max, Node node) {
    if (attribute.min) node.Set(min, *attribute.min);
    if (attribute.max) node.Set(max, *attribute.max);
    return node;
  }

  const Model& model_;
};

}  // namespace

std::string EntityJsonSchema(const Model& model) {
  SchemaWriter writer(model);
  Node definitions = Node::Map();
  Node entities = Node::List();
  for (const auto& schema : model.schemas)
    definitions.Set(SchemaTypeName(model, *schema), writer.Record(schema->fields));
  for (const auto& entity : model.entities) {
    std::string name = EntityTypeName(*entity);
    Node record = writer.Record(entity->attributes);
    if (!entity->title.empty()) record.Set("title", entity->title);
    definitions.Set(name, std::move(record));
    entities.Add(Reference(name));
  }
  return Node::Map()
             .Set("$schema", "https://json-schema.org/draft/2020-12/schema")
             .Set("title", model.title.empty() ? model.name : model.title)
             .Set("$comment", Notice(model))
             .Set("anyOf", std::move(entities))
             .Set("$defs", std::move(definitions))
             .Spell(Node::Style::kJson) +
         "\n";
}

}  // namespace holdfast::model::generate
