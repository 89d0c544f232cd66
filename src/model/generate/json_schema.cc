#include "model/generate/json_schema.h"

#include "model/generate/generate.h"

namespace holdfast::model::generate {
namespace {

Node Only(const std::string& name, Node node) {
  return Node::Map().Set("properties", Node::Map().Set(name, std::move(node)));
}

Node AnyMap() {
  return Node::Map().Set("type", "object").Set("additionalProperties", true);
}

Node Bounded(const Attribute& attribute, std::string_view min, std::string_view max, Node node) {
  if (attribute.min) node.Set(min, *attribute.min);
  if (attribute.max) node.Set(max, *attribute.max);
  return node;
}

Node Text(const Attribute& attribute) {
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

}  // namespace

Node SchemaWriter::Record(const std::vector<Attribute>& fields) const {
  Node properties = Node::Map();
  Node required = Node::List();
  Node rules = Node::List();
  for (const Attribute& field : fields) {
    auto schemas = SchemasByValue(model_, fields, field);
    bool one_of = whom_ == For::kClients && !schemas.empty();
    properties.Set(field.name, one_of ? OneOf(schemas, field, fields) : Value(field));
    if (field.required) required.Add(field.name);
    for (const SchemaByValue& by : one_of ? std::vector<SchemaByValue>() : schemas) {
      rules.Add(Node::Map()
                    .Set("if", Only(field.schema_by, Node::Map().Set("const", by.value)))
                    .Set("then", Only(field.name, Chosen(by))));
    }
  }
  Node record = Node::Map().Set("type", "object").Set("properties", std::move(properties));
  if (!required.empty()) record.Set("required", std::move(required));
  if (!rules.empty()) record.Set("allOf", std::move(rules));
  return record;
}

Node SchemaWriter::Chosen(const SchemaByValue& by) const {
  std::string target = SchemaTypeName(model_, *by.schema);
  return Reference(by.field == nullptr ? target : Cat(target, "/properties/", by.field->name));
}

Node SchemaWriter::OneOf(const std::vector<SchemaByValue>& schemas, const Attribute& field,
                         const std::vector<Attribute>& siblings) const {
  Node any = Node::List();
  for (const SchemaByValue& by : schemas) any.Add(Chosen(by));
  const Attribute* by = FindAttribute(siblings, field.schema_by);
  if (by->open_choices || schemas.size() < by->choices.size()) any.Add(AnyMap());
  return Node::Map().Set("description", Cat("As ", field.schema_by, " says.")).Set("anyOf", std::move(any));
}

Node SchemaWriter::Value(const Attribute& attribute) const {
  Node value = Typed(attribute);
  if (!attribute.description.empty()) value.Set("description", attribute.description);
  if (attribute.default_value) value.Set("default", Node(*attribute.default_value));
  if (attribute.always) value.Set("readOnly", true);
  return value;
}

Node SchemaWriter::Typed(const Attribute& attribute) const {
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
    return attribute.has_fields ? Record(attribute.fields) : AnyMap();
  }
  if (stored == "L") return List(attribute);
  return Node::Map();
}

Node SchemaWriter::List(const Attribute& attribute) const {
  Node list = Node::Map().Set("type", "array");
  if (attribute.kind == Kind::kVector) {
    return list.Set("items", Node::Map().Set("type", "number"))
        .Set("minItems", attribute.dimensions)
        .Set("maxItems", attribute.dimensions);
  }
  list.Set("items", attribute.items ? Value(*attribute.items) : Node::Map());
  return Bounded(attribute, "minItems", "maxItems", std::move(list));
}

std::string EntityJsonSchema(const Model& model) {
  SchemaWriter writer(model, "#/$defs/");
  Node definitions = Node::Map();
  Node entities = Node::List();
  for (const auto& schema : model.schemas)
    definitions.Set(SchemaTypeName(model, *schema), writer.Record(schema->fields));
  for (const auto& entity : model.entities) {
    std::string name = EntityTypeName(*entity);
    Node record = writer.Record(entity->attributes);
    if (!entity->title.empty()) record.Set("title", entity->title);
    definitions.Set(name, std::move(record));
    entities.Add(writer.Reference(name));
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
